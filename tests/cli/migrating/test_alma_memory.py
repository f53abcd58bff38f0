"""Importing a database that alma-memory 0.11.0 wrote: nothing is lost silently, nothing comes twice, and the file stays as it is."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma.errors import ScopeViolationError, StorageError, ValidationError
from alma.types import Outcome, Verdict
from alma.types.kinds import VerdictSource
from alma.types.memories import AntiPattern, Heuristic
from facade import ManualClock, OpenStore, held, refused
from old_memory import OLD_MEMORY, change, changes, copied, emptied, insert, of_kind, outcome, reasons

LATER = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    """A time after all that the database tells of."""
    return ManualClock(LATER)


@pytest.fixture
def shop(open_store: OpenStore) -> ALMA:
    return open_store(project_id="web-shop")


def outcomes(alma: ALMA, **only: Any) -> list[Outcome]:
    return [memory for memory in alma.list_memories("outcome", limit=1000, **only) if isinstance(memory, Outcome)]


def by_old_id(alma: ALMA) -> dict[str, Any]:
    """All memories that were imported, by the ids that they had."""
    found = alma.list_memories(limit=1000)
    return {memory.metadata["alma_memory"]["id"]: memory for memory in found if "alma_memory" in memory.metadata}


def test_each_row_of_the_real_database_is_accounted_for(shop: ALMA) -> None:
    report = shop.import_alma_memory(OLD_MEMORY)

    assert {kind.kind: (kind.read, kind.stored) for kind in report.kinds} == {
        "outcome": (25, 21),
        "heuristic": (6, 1),
        "anti_pattern": (3, 1),
        "domain_knowledge": (4, 3),
        "user_preference": (3, 3),
    }
    for kind in report.kinds:
        assert kind.read == kind.stored + kind.present + sum(remark.rows for remark in kind.skipped)
    assert report.stored == 29
    assert report.not_read == {"dashboards": 1}
    assert shop.verify().ok


def test_the_values_of_an_outcome_come_along(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)

    found = by_old_id(shop)["out_old2"]
    assert (found.agent, found.task_type, found.outcome) == ("helena", "database_validation", Verdict.FAILURE)
    assert found.task_description == "Check the order table after import 2"
    assert found.strategy_used == "Compared row counts before and after"
    assert found.error_message == "AssertionError: 12 rows are missing"
    assert found.timestamp == found.created_at == datetime(2026, 3, 4, 9, tzinfo=UTC)
    assert found.metadata == {
        "ticket": "SHOP-2",
        "tags": ["import", "nightly"],
        "alma_memory": {"id": "out_old2", "project": "web-shop"},
    }


def test_a_second_run_stores_nothing_and_says_so(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)
    before = held(shop)

    again = shop.import_alma_memory(OLD_MEMORY)

    assert held(shop) == before
    assert (again.stored, sum(kind.present for kind in again.kinds)) == (0, 29)


def test_what_was_forgotten_since_does_not_come_back(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)
    shop.forget(memory_ids=[by_old_id(shop)["dk_old"].id])

    again = shop.import_alma_memory(OLD_MEMORY)

    assert (again.stored, of_kind(again, "domain_knowledge").present) == (0, 3)
    assert "dk_old" not in by_old_id(shop)


def test_what_was_purged_since_left_no_trace_and_comes_back(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)
    shop.purge(memory_ids=[by_old_id(shop)["dk_old"].id])

    assert shop.import_alma_memory(OLD_MEMORY).stored == 1


@pytest.mark.slow
def test_two_imports_at_once_store_each_row_once(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    for number in range(700):
        outcome(path, f"o{number}", task_description=f"Count the invoices of day {number}")

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(shop.import_alma_memory, [path, path])

    assert first.stored + second.stored == 700
    assert first.stored + of_kind(first, "outcome").present == 700
    assert shop.get_stats().by_kind["outcome"] == 700


@pytest.mark.slow
def test_an_import_that_was_interrupted_goes_on_where_it_stopped(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    for number in range(501):
        outcome(path, f"o{number}", task_description=f"Count the invoices of day {number}")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shop.import_alma_memory(path, progress=stop)
    again = shop.import_alma_memory(path)

    assert (of_kind(again, "outcome").present, again.stored) == (500, 1)
    assert len(outcomes(shop)) == 501


def test_a_dry_run_stores_nothing_and_says_what_would_come(shop: ALMA) -> None:
    before = held(shop)

    dry = shop.import_alma_memory(OLD_MEMORY, dry_run=True)

    assert held(shop) == before
    assert dry.dry_run
    assert dry.kinds == shop.import_alma_memory(OLD_MEMORY).kinds


def test_the_file_is_not_changed_and_nothing_is_left_beside_it(shop: ALMA, tmp_path: Path) -> None:
    path = copied(tmp_path)
    before = hashlib.sha256(path.read_bytes()).hexdigest(), sorted(tmp_path.iterdir())

    shop.import_alma_memory(path)

    assert (hashlib.sha256(path.read_bytes()).hexdigest(), sorted(tmp_path.iterdir())) == before


def test_progress_counts_the_rows(shop: ALMA) -> None:
    told: list[tuple[int, int]] = []

    shop.import_alma_memory(OLD_MEMORY, progress=lambda done, total: told.append((done, total)))

    assert told == [(25, 41), (31, 41), (34, 41), (38, 41), (41, 41)]


def test_rules_are_formed_anew_from_the_outcomes(shop: ALMA) -> None:
    report = shop.import_alma_memory(OLD_MEMORY)

    formed = [memory for memory in shop.list_memories("heuristic") if "alma_memory" not in memory.metadata]
    (tested,) = (rule for rule in formed if isinstance(rule, Heuristic) and rule.strategy.startswith("Tested empty fields"))
    assert report.rules == {"heuristic": 3, "anti_pattern": 1}
    assert (tested.agent, tested.success_count, tested.occurrence_count) == ("helena", 5, 5)
    patterns = {memory.pattern for memory in shop.list_memories("anti_pattern") if isinstance(memory, AntiPattern)}
    assert patterns == {"Waited with sleep(5) for the answer", "Using sleep() for async waits"}


def test_a_rule_that_alma_memory_formed_is_skipped_with_the_reason(shop: ALMA, tmp_path: Path) -> None:
    path = copied(tmp_path)
    change(path, "DELETE FROM outcomes WHERE agent = 'victor'")

    report = shop.import_alma_memory(path)

    told = {remark.reason: remark.rows for remark in of_kind(report, "heuristic").skipped}
    assert told == {
        "alma-memory formed it: rules are formed anew from the outcomes": 3,
        "alma-memory formed it, and no outcome of that strategy is left in the file": 2,
    }


def test_a_stated_rule_stays_as_stated_and_claims_no_record(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)

    heuristic, pattern = by_old_id(shop)["heur_stated"], by_old_id(shop)["anti_stated"]
    assert isinstance(heuristic, Heuristic)
    assert (heuristic.condition, heuristic.strategy) == ("forms with more than ten fields", "Test each section on its own")
    assert (heuristic.confidence, heuristic.occurrence_count) == (0.9, 0)
    assert heuristic.metadata["author"] == "maria"
    assert heuristic.metadata["alma_memory"]["success_count"] == 11
    assert isinstance(pattern, AntiPattern)
    assert (pattern.why_bad, pattern.better_alternative) == (
        "Causes flaky tests, wastes time",
        "Use explicit waits with conditions",
    )


def test_outcomes_from_elsewhere_form_no_proven_rule(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    for number in range(60):
        task = {"task_type": "counting", "task_description": f"Count the {number}. pile", "strategy_used": "Twice"}
        outcome(path, f"o{number}", timestamp=f"2026-03-{1 + number % 28:02}T{number % 24:02}:00:00+00:00", **task)
        task |= {"strategy_used": "By guessing", "success": 0}
        outcome(path, f"p{number}", timestamp=f"2026-03-{1 + number % 28:02}T{number % 24:02}:30:00+00:00", **task)

    shop.import_alma_memory(path)
    shop.for_project("trusting").import_alma_memory(path, verdict_source="caller")

    found = [
        shop.for_project(name).retrieve("Count the 7. pile", agent="helena", task_type="counting").heuristics
        for name in ("web-shop", "trusting")
    ]
    assert [rule.metadata["status"] for (rule,) in found] == ["likely", "proven"]
    assert {memory.verdict_source for memory in outcomes(shop)} == {VerdictSource.IMPORTED}


def test_agents_and_users_stay_who_they_were(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)

    stats = shop.get_stats().by_agent
    assert {name: kinds.get("outcome", 0) for name, kinds in stats.items()} == {
        "helena": 15,
        "victor": 5,
        "zoë": 1,
        "user:maria": 0,
        "user:josé": 0,
    }
    fields = shop.retrieve("Prüfe das Formular", agent="victor", user_id="maria")
    assert all(memory.agent == "victor" for memory in fields.outcomes)
    assert {preference.preference for preference in fields.preferences} == {
        "Short bullet points, no screenshots",
        "Use strict mode",
    }


def test_only_one_project_of_the_file_is_read(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY, project="blog")

    assert {memory.task_description for memory in outcomes(shop)} == {"Write the release notes", "Move the blog to a new host"}


def test_several_projects_none_of_this_name_have_to_be_chosen_from(alma: ALMA) -> None:
    with refused(alma, ValidationError, r"several projects.*'blog' \(3 rows\), 'web-shop' \(38 rows\)"):
        alma.import_alma_memory(OLD_MEMORY)
    with refused(alma, ValidationError, r"no project 'shop'.*'blog'"):
        alma.import_alma_memory(OLD_MEMORY, project="shop")


def test_the_only_project_of_a_file_is_read_whatever_its_name(alma: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    outcome(path, project_id="elsewhere")

    report = alma.import_alma_memory(path)

    assert (report.source_project, report.project, report.stored) == ("elsewhere", "shop", 1)


def test_what_an_agent_may_not_learn_is_skipped_and_the_rest_comes(open_store: OpenStore) -> None:
    rules = {"helena": {"cannot_learn": ["form_testing"]}, "victor": {"can_learn": ["operations"]}}
    alma = open_store(project_id="web-shop", agents=rules)

    report = alma.import_alma_memory(OLD_MEMORY)

    with pytest.raises(ScopeViolationError):
        alma.learn("helena", "Test a form", "success", task_type="form_testing")
    assert {memory.task_type for memory in outcomes(alma, agent="helena")} == {"database_validation", None}
    assert any("may not learn 'form_testing'" in reason for reason in reasons(report).values())
    assert any("may only learn operations" in reason for reason in reasons(report, "domain_knowledge").values())


def test_the_type_that_stands_for_no_type_is_none(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)

    assert {memory.task_type for memory in outcomes(shop, agent="victor")} == {None}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"agent": " "}, "agent is missing"),
        ({"agent": "a\nb"}, "cannot be printed"),
        ({"task_description": ""}, "task_description is empty"),
        ({"task_description": "nul \0"}, "NUL character"),
        ({"task_description": "x" * 200_001}, "200,001 characters"),
        ({"task_description": b"\x00\x01"}, "must be a text"),
        ({"success": "maybe"}, "success is neither 0 nor 1"),
        ({"success": 2}, "success is neither 0 nor 1"),
        ({"strategy_used": "half \0"}, "strategy_used cannot be stored"),
    ],
)
def test_a_row_that_is_no_outcome_is_skipped_and_the_rest_comes(
    shop: ALMA, tmp_path: Path, fields: dict[str, object], reason: str
) -> None:
    path = emptied(tmp_path)
    outcome(path, "bad", **fields)
    outcome(path, "good", task_description="Count the refunds")

    report = shop.import_alma_memory(path)

    assert reason in reasons(report)["bad"]
    assert [memory.task_description for memory in outcomes(shop)] == ["Count the refunds"]


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"metadata": "{not JSON"}, "metadata left out: it is no JSON object"),
        ({"metadata": "[1]"}, "metadata left out: it is no JSON object"),
        ({"metadata": '{"n": NaN}'}, "metadata left out: it cannot be stored"),
        ({"metadata": "[" * 100_000}, "metadata left out: it is no JSON object"),
        ({"duration_ms": -5}, "duration_ms left out"),
        ({"duration_ms": "long"}, "duration_ms left out"),
        ({"task_type": "x" * 300}, "task_type left out"),
        ({"timestamp": None}, "timestamp cannot be read"),
        ({"timestamp": 1_700_000_000}, "timestamp cannot be read"),
        ({"timestamp": "9999-12-31T23:00:00-05:00"}, "timestamp cannot be read"),
        ({"timestamp": "2030-01-01T00:00:00+00:00"}, "timestamp is in the future"),
    ],
)
def test_what_an_outcome_can_do_without_is_left_out_and_said(
    shop: ALMA, tmp_path: Path, fields: dict[str, object], remark: str
) -> None:
    path = emptied(tmp_path)
    outcome(path, "odd", **fields)

    report = shop.import_alma_memory(path)

    (stored,) = outcomes(shop)
    assert report.stored == 1
    assert remark in changes(report)["odd"]
    assert stored.timestamp <= LATER
    assert shop.verify().ok


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-04-01T08:00:00", datetime(2026, 4, 1, 8, tzinfo=UTC)),
        ("2026-04-01T08:00:00Z", datetime(2026, 4, 1, 8, tzinfo=UTC)),
        ("2026-04-01 08:00:00+02:00", datetime(2026, 4, 1, 6, tzinfo=UTC)),
        ("1960-04-01T08:00:00+00:00", datetime(1960, 4, 1, 8, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_in_its_zone_or_else_in_utc(shop: ALMA, tmp_path: Path, text: str, moment: datetime) -> None:
    path = emptied(tmp_path)
    outcome(path, timestamp=text)

    shop.import_alma_memory(path)

    assert outcomes(shop)[0].timestamp == moment


def test_text_that_is_not_utf_8_is_skipped_and_the_rest_comes(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    outcome(path, "bad")
    outcome(path, "good", task_description="Count the refunds")
    change(path, "UPDATE outcomes SET task_description = CAST(x'ff41' AS TEXT) WHERE id = 'bad'")

    report = shop.import_alma_memory(path)

    assert "surrogate" in reasons(report)["bad"]
    assert report.stored == 1


def test_an_outcome_that_nobody_judged_is_unverified(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    outcome(path, success=None)

    shop.import_alma_memory(path)

    assert outcomes(shop)[0].outcome is Verdict.UNVERIFIED


def test_rows_without_an_id_are_told_apart_and_stored_once(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    outcome(path, None, task_description="Count the invoices")
    outcome(path, None, task_description="Count the refunds")

    first, second = shop.import_alma_memory(path), shop.import_alma_memory(path)

    assert (first.stored, second.stored, len(outcomes(shop))) == (2, 0, 2)


def test_a_row_whose_words_changed_since_is_left_as_it_was_and_said(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    outcome(path, "o1")
    shop.import_alma_memory(path)
    change(path, "UPDATE outcomes SET task_description = 'Count the refunds'")

    report = shop.import_alma_memory(path)

    assert reasons(report)["o1"] == "it was imported before, with other words"
    assert [memory.task_description for memory in outcomes(shop)] == ["Count the invoices"]


def test_equal_ids_in_two_tables_are_two_memories(shop: ALMA, tmp_path: Path) -> None:
    path = emptied(tmp_path)
    outcome(path, "1")
    insert(path, "domain_knowledge", id="1", agent="helena", project_id="web-shop", domain="d", fact="Invoices are numbered")

    assert shop.import_alma_memory(path).stored == 2


def test_further_columns_are_kept_in_the_metadata(shop: ALMA) -> None:
    shop.import_alma_memory(OLD_MEMORY)

    assert by_old_id(shop)["out_old0"].metadata["alma_memory"]["reviewed_by"] == "maria"


def test_missing_tables_and_columns_are_no_hindrance(shop: ALMA, tmp_path: Path) -> None:
    path = copied(tmp_path)
    change(path, "DROP TABLE heuristics", "ALTER TABLE outcomes DROP COLUMN user_feedback", "DROP TABLE preferences")

    report = shop.import_alma_memory(path)

    assert [kind.kind for kind in report.kinds] == ["outcome", "anti_pattern", "domain_knowledge"]
    assert of_kind(report, "outcome").stored == 21


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "it is empty"), (b'{"id": 1}', "it holds JSON"), (b"PK\x03\x04", "begins with b'PK")],
)
def test_a_file_that_is_no_database_is_refused(shop: ALMA, tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "old.db"
    path.write_bytes(content)

    with refused(shop, ValidationError, told):
        shop.import_alma_memory(path)


def test_a_database_of_another_program_is_refused_with_its_tables(shop: ALMA, tmp_path: Path) -> None:
    path = tmp_path / "songs.db"
    change(path, "CREATE TABLE songs (title)", "CREATE TABLE outcomes (title)")

    with refused(shop, ValidationError, "no database of alma-memory: its tables are outcomes, songs"):
        shop.import_alma_memory(path)


@pytest.mark.not_on("file", "postgres", reason="takes SQLite's file for one of alma-memory")
def test_a_store_of_alma_itself_is_refused_with_advice(shop: ALMA, open_store: OpenStore, tmp_path: Path) -> None:
    open_store("own").close()

    with refused(shop, ValidationError, "alma export"):
        shop.import_alma_memory(tmp_path / "own" / "alma.db")
    with refused(shop, ValidationError, "open in this process"):
        shop.import_alma_memory(tmp_path / "store" / "alma.db")


def test_a_folder_or_no_file_is_refused(shop: ALMA, tmp_path: Path) -> None:
    with refused(shop, ValidationError, "is a folder"):
        shop.import_alma_memory(tmp_path)
    with refused(shop, StorageError, "No such file"):
        shop.import_alma_memory(tmp_path / "nowhere.db")


def test_a_database_given_as_an_export_is_refused_with_advice(shop: ALMA) -> None:
    with refused(shop, ValidationError, "--from alma-memory"):
        shop.import_from(OLD_MEMORY)


def test_an_import_can_be_undone(shop: ALMA) -> None:
    empty = shop.content_hash()
    shop.import_alma_memory(OLD_MEMORY)

    shop.undo(0)

    assert shop.content_hash() == empty
