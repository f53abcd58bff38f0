"""Kinds that users register: known to every process, checked, found, weighed by their own weights."""

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from alma import (
    ALMA,
    ConflictError,
    CustomMemory,
    CustomMemoryType,
    MemoryNotFoundError,
    Passage,
    ScopeViolationError,
    ValidationError,
)
from facade import START, ManualClock, OpenStore, held, refused
from meetings import FIELDS, MEETING, notes
from other_process import OtherProcess

OPEN = "from alma import ALMA\nalma = ALMA.open({folder!r}, project_id='shop')\n"
REGISTERING = "from meetings import FIELDS, MEETING, notes\nfrom alma import CustomMemoryType\n"


def test_however_many_processes_grow_a_kind_at_once_all_their_fields_are_kept(open_store: OpenStore) -> None:
    other = open_store()
    waiting = [f"seen_by_{number}" for number in range(6)]

    def busy_clock() -> datetime:
        """Whoever looks at it loses a moment, in which another open registers."""
        if waiting:
            other.register_memory_type(grown(**{waiting.pop(): str | None}))
        return START

    alma, mine = open_store(clock=busy_clock), []
    while waiting:
        mine.append(f"mine_{len(waiting)}")
        alma.register_memory_type(grown(**{mine[-1]: str | None}))
    theirs = [f"seen_by_{number}" for number in range(6)]
    assert mine
    assert set(other.memory_types()["meeting_note"].fields) >= {*mine, *theirs}


@pytest.fixture
def shop(alma: ALMA) -> ALMA:
    """A store in which meetings are registered."""
    alma.register_memory_type(MEETING)
    return alma


def grown(**fields: Any) -> CustomMemoryType:
    return CustomMemoryType("meeting_note", {**FIELDS, **fields}, ["summary", "action_items"], {"recency": 1})


def test_such_a_memory_is_stored_found_and_read_as_it_was_given(shop: ALMA, clock: ManualClock) -> None:
    made = shop.add("meeting_note", agent="dev", metadata={"source": "calendar"}, **notes())

    memories = shop.retrieve("Which database for the invoices?", agent="dev")
    (found,) = memories.custom["meeting_note"]
    assert found == made == shop.get(made.id)
    assert (found.agent, found.project_id, found.created_at, found.metadata) == ("dev", "shop", clock.now, {"source": "calendar"})
    assert found.date == MEETING.checked(notes())["date"]
    assert memories.recalled[0].tag == "C1"
    assert shop.get_stats().by_kind == {"meeting_note": 1}
    assert shop.verify().ok


def test_the_words_of_its_other_fields_find_it(shop: ALMA) -> None:
    shop.add("meeting_note", agent="dev", **notes(title="Zanzibar"))
    assert shop.retrieve("Zanzibar", agent="dev").total_items == 1


@pytest.mark.slow
def test_another_process_finds_it_without_registering(shop: ALMA, tmp_path: Path) -> None:
    made = shop.add("meeting_note", agent="dev", **notes())

    with OtherProcess(OPEN.format(folder=str(tmp_path / "store"))) as other:
        other.ask("(memories := alma.retrieve('database for the invoices', agent='dev')).total_items")
        assert other.ask("memories.custom['meeting_note'][0].id") == repr(made.id)
        assert other.ask("memories.custom['meeting_note'][0].date.isoformat()") == "'2026-02-03T09:30:00+00:00'"
        assert other.ask("memories.recalled[0].factors.weights['recency']") == "0.5"
        assert other.ask("memories.from_json(memories.to_json()) == memories") == "True"
        assert other.ask(f"alma.export({str(tmp_path / 'shop.jsonl')!r}).counts.memories") == "1"
        assert "no field" in other.ask("alma.add('meeting_note', agent='dev', colour='red')")
        other.ask("alma.close()")
    assert made.id in (tmp_path / "shop.jsonl").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_another_process_registers_and_grows_is_known_here_at_once(alma: ALMA, tmp_path: Path) -> None:
    setup = f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[2] / 'support')!r})\n" + REGISTERING
    with OtherProcess(setup + OPEN.format(folder=str(tmp_path / "store"))) as other:
        other.ask("alma.register_memory_type(MEETING)")
        made = alma.add("meeting_note", agent="dev", **notes())
        other.ask(
            "alma.register_memory_type(CustomMemoryType('meeting_note', {**FIELDS, 'mood': str | None}, ['summary', 'action_items']))"
        )
        other.ask("alma.add('meeting_note', agent='dev', mood='glad', **notes())")
        memories = alma.retrieve("invoices", agent="dev").custom["meeting_note"]
        other.ask("alma.close()")

    assert {memory.mood for memory in memories} == {None, "glad"}
    assert alma.get(made.id) in memories


def test_registering_the_same_again_writes_nothing(shop: ALMA) -> None:
    before = held(shop)

    assert shop.register_memory_type(MEETING) == MEETING
    assert held(shop) == before


def test_a_kind_may_grow_and_an_older_definition_takes_nothing_away(shop: ALMA) -> None:
    old = shop.add("meeting_note", agent="dev", **notes())

    assert shop.register_memory_type(grown(mood=str | None)).fields["mood"] == str | None
    before = held(shop)
    assert shop.register_memory_type(MEETING).fields["mood"] == str | None
    assert held(shop) == before
    assert shop.memory_types()["meeting_note"].scoring_weights == {"recency": 1.0}
    assert shop.get(old.id).mood is None
    assert shop.verify().ok


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        (grown(mood=str), "'mood' .str. only in the new definition"),
        (grown(title=int), "'title' as str, not int"),
        (CustomMemoryType("meeting_note", FIELDS, ["title"]), "embedding_fields"),
    ],
)
def test_a_definition_that_does_not_fit_is_a_conflict(shop: ALMA, changed: CustomMemoryType, match: str) -> None:
    with refused(shop, ConflictError, match):
        shop.register_memory_type(changed)


@pytest.mark.parametrize("given", [None, "meeting_note", {"name": "x"}, CustomMemoryType])
def test_only_a_definition_can_be_registered(shop: ALMA, given: Any) -> None:
    with refused(shop, ValidationError, "a CustomMemoryType is needed"):
        shop.register_memory_type(given)


def test_a_project_has_kinds_of_its_own(shop: ALMA) -> None:
    other = shop.for_project("elsewhere")

    assert other.memory_types() == {}
    with pytest.raises(ValidationError, match="no kind 'meeting_note' in project 'elsewhere'"):
        other.add("meeting_note", agent="dev", **notes())


@pytest.mark.parametrize(
    ("kind", "changes", "error", "match"),
    [
        ("meting_note", {}, ValidationError, "did you mean 'meeting_note'"),
        ("", {}, ValidationError, "kind is empty"),
        (None, {}, ValidationError, "kind must be a text"),
        ("meeting_note", {"colour": "red"}, ValidationError, "no field 'colour'"),
        ("meeting_note", {"date": "soon"}, ValidationError, r"meeting_note\.date"),
        ("meeting_note", {"agent": ""}, ScopeViolationError, "agent is missing"),
        ("meeting_note", {"agent": None}, ScopeViolationError, "agent is missing"),
        ("meeting_note", {"metadata": {"x": float("nan")}}, ValidationError, "metadata"),
    ],
)
def test_what_is_wrong_with_a_memory_is_told_and_nothing_stored(
    shop: ALMA, kind: Any, changes: dict[str, Any], error: type[Exception], match: str
) -> None:
    with refused(shop, error, match):
        shop.add(kind, **{"agent": "dev", **notes(), **changes})


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("outcome", {"task": "Deploy", "outcome": "success", "strategy_used": "by hand"}, "Deploy"),
        ("heuristic", {"condition": "Deploying", "strategy": "Blue-green"}, "Deploying: Blue-green"),
        ("anti_pattern", {"pattern": "sleep()", "why_bad": "flaky"}, "sleep()"),
        ("domain_knowledge", {"domain": "auth", "fact": "JWT"}, "JWT"),
    ],
)
def test_a_built_in_kind_is_added_with_the_arguments_of_its_own_method(
    shop: ALMA, kind: str, fields: dict[str, Any], text: str
) -> None:
    made = shop.add(kind, agent="dev", metadata={"x": 1}, **fields)

    assert (made.kind, made.text, made.agent, made.metadata) == (kind, text, "dev", {"x": 1})
    with refused(shop, ValidationError, f"{kind} has no field 'colour'"):
        shop.add(kind, agent="dev", **fields, colour="red")
    missing = next(iter(fields))
    with refused(shop, ValidationError, missing):
        shop.add(kind, agent="dev", **{name: value for name, value in fields.items() if name != missing})


def test_a_preference_is_added_for_its_user(shop: ALMA) -> None:
    made = shop.add("user_preference", user_id="u", category="tone", preference="Short")
    assert shop.retrieve("anything", agent="dev", user_id="u").preferences == [made]


def test_such_memories_can_be_added_many_at_once(shop: ALMA) -> None:
    fields = MEETING.checked(notes())
    ids = shop.add_many(
        CustomMemory(kind="meeting_note", agent="dev", definition=MEETING, fields={**fields, "title": f"{number}"})
        for number in range(3)
    )
    assert [shop.get(memory_id).title for memory_id in ids] == ["0", "1", "2"]


def test_one_that_does_not_fit_what_is_registered_is_refused_among_many(shop: ALMA) -> None:
    loose = CustomMemoryType("meeting_note", {"summary": str, "date": str}, ["summary"])
    memory = CustomMemory(kind="meeting_note", agent="dev", definition=loose, fields={"summary": "x", "date": "soon"})
    with refused(shop, ValidationError, r"item 0: meeting_note\."):
        shop.add_many([memory])


def test_its_own_weights_hold_for_it_alone_unless_a_call_gives_others(shop: ALMA) -> None:
    shop.add("meeting_note", agent="dev", **notes())
    shop.add_heuristic("dev", "Choosing a database", "PostgreSQL for the invoices")
    query = "database for the invoices"

    def weights(**given: Any) -> dict[str, dict[str, float]]:
        return {item.memory.kind: item.factors.weights for item in shop.retrieve(query, agent="dev", **given).recalled}

    own = {"similarity": 0.5, "recency": 0.5, "success": 0.0, "confidence": 0.0}
    assert weights()["meeting_note"] == own
    assert weights()["heuristic"] == pytest.approx({"similarity": 0.4, "recency": 0.3, "success": 0.2, "confidence": 0.1})
    assert weights(profile="recall")["meeting_note"]["similarity"] == 1.0
    assert weights(weights={"recency": 1})["meeting_note"]["recency"] == 1.0
    for item in shop.retrieve(query, agent="dev", explain=True).recalled:
        parts = {name: getattr(item.factors, name) for name in item.factors.weights}
        assert item.score == pytest.approx(
            item.factors.usefulness * sum(item.factors.weights[name] * parts[name] for name in parts), abs=1e-9
        )


def test_it_is_shared_and_kept_apart_by_the_rules_of_its_owner(open_store: OpenStore) -> None:
    alma = open_store(agents={"dev": {"share_with": ["lead"]}})
    alma.register_memory_type(MEETING)
    made = alma.add("meeting_note", agent="dev", **notes())

    (shared,) = alma.retrieve("invoices", agent="lead").custom["meeting_note"]
    assert (shared.id, shared.metadata["shared_from"]) == (made.id, "dev")
    assert alma.retrieve("invoices", agent="stranger").total_items == 0


def test_usage_and_forgetting_reach_it(shop: ALMA) -> None:
    made = shop.add("meeting_note", agent="dev", **notes())

    assert shop.record_usage([made.id], [made.id], agent="dev").used == (made.id,)
    shop.forget(memory_ids=[made.id])
    assert shop.retrieve("invoices", agent="dev").total_items == 0
    with pytest.raises(MemoryNotFoundError):
        shop.get(made.id)


@pytest.mark.not_on("file", "postgres", reason="damages SQLite's file")
def test_a_memory_stays_readable_when_its_definition_is_lost(shop: ALMA, tmp_path: Path) -> None:
    made = shop.add("meeting_note", agent="dev", **notes())
    with closing(sqlite3.connect(tmp_path / "store" / "alma.db", isolation_level=None)) as connection:
        assert connection.execute("DELETE FROM record WHERE kind = 'memory_type'").rowcount == 1

    found = shop.retrieve("invoices", agent="dev").custom["meeting_note"][0]
    assert (found.id, found.title, found.date) == (made.id, "Billing kickoff", "2026-02-03T09:30:00+00:00")
    assert [problem.place for problem in shop.verify().problems] == ["record memory_type/meeting_note"]


def test_undoing_takes_the_kind_and_its_memories_away_and_undoing_that_brings_them_back(alma: ALMA) -> None:
    alma.register_memory_type(MEETING)
    made = alma.add("meeting_note", agent="dev", **notes())
    alma.undo(to=0)

    assert (alma.memory_types(), alma.list_memories()) == ({}, [])
    alma.undo(to=2)
    assert (alma.memory_types(), alma.list_memories()) == ({"meeting_note": MEETING}, [made])


def test_equal_notes_are_folded_and_different_ones_are_not(shop: ALMA) -> None:
    for title in ("One", "One", "Two"):
        shop.add("meeting_note", agent="dev", **notes(title=title))
    assert sorted(item.copies for item in shop.retrieve("invoices", agent="dev").recalled) == [1, 2]


def test_an_unknown_kind_is_told_in_whole_sentences(alma: ALMA) -> None:
    with refused(alma, ValidationError, r"in project 'shop'\. There are heuristic"):
        alma.list_memories(kind="zzz")
    with refused(alma, ValidationError, r"did you mean 'outcome'\? There are heuristic"):
        alma.list_memories(kind="outcomes")


def test_a_time_that_utc_cannot_tell_is_told(shop: ALMA) -> None:
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    with refused(shop, ValidationError, "meeting_note.date: .*cannot be expressed in UTC"):
        shop.add("meeting_note", agent="dev", **notes(date=early))
    with refused(shop, ValidationError, "since: .*cannot be expressed in UTC"):
        shop.list_memories(since=early)
    with pytest.raises(ValueError, match="cannot be expressed in UTC"):
        Passage(text="Hello", time=early)
