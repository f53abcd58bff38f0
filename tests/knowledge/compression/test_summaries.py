"""Summaries of memories are views: they are valid as long as their sources are as they were, and go with them at every level."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alma import ALMA, ConfigurationError, ValidationError
from alma.compression import CompressionStrategy, read_summaries
from alma.testing import FixedClock
from alma_cli.app import app
from facade import StoredIn

Talk = Callable[..., str]
FILLER = "We talked for a while and the weather was nice. Everybody had coffee afterwards and said nice things about the lunch. "


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def alma(tmp_path: Path, clock: FixedClock, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", clock=clock, **stored_in(tmp_path)) as alma:
        yield alma


@pytest.fixture
def talk(alma: ALMA, clock: FixedClock) -> Talk:
    """Records a conversation ten days after the last one, and returns its id."""

    def record(said: str, **given: str) -> str:
        clock.advance(days=10)
        session = f"s{clock().timestamp()}"
        return alma.add_conversation([("Helena", f"{FILLER}{said} {FILLER}")], "dev", session, **given).id

    return record


@pytest.fixture
def talks(talk: Talk, clock: FixedClock) -> list[str]:
    ids = [talk(f"Item {number} costs {number + 3} EUR and must not be sold.") for number in range(4)]
    clock.advance(days=60)
    return ids


def keep(alma: ALMA, strategy: str = "hierarchical", **given: object) -> None:
    assert alma.compress(strategy=strategy, dry_run=False, **given).journal_seq is not None


def texts(alma: ALMA, **given: str) -> str:
    return "\n".join(each.text for each in read_summaries(alma, "dev", **given))


def test_a_dry_run_says_what_it_would_keep_and_writes_nothing(alma: ALMA, talks: list[str]) -> None:
    report = alma.compress()

    assert (len(report.summaries), report.journal_seq) == (4, None)
    assert report.tokens_after <= report.tokens_before / 3
    assert read_summaries(alma, "dev") == []


def test_every_level_keeps_what_binds_and_the_source_stays(alma: ALMA, talks: list[str]) -> None:
    before = alma.get(talks[0])
    keep(alma)

    levels = [each.level for each in read_summaries(alma, "dev")]
    assert {level: levels.count(level) for level in levels} == {"memory": 4, "week": 4, "domain": 1}
    (domain,) = read_summaries(alma, "dev", level="domain")
    assert all(f"Item {number} costs {number + 3} EUR and must not be sold." in domain.text for number in range(4))
    assert set(domain.sources) == set(talks)
    assert alma.get(talks[0]) == before
    assert talks[0] in alma.retrieve("What does item 0 cost?", "dev", top_k=10).ids


def test_a_second_call_rebuilds_nothing_and_a_new_memory_only_what_it_changes(
    alma: ALMA, talks: list[str], talk: Talk, clock: FixedClock
) -> None:
    keep(alma)
    assert alma.compress(strategy="hierarchical", dry_run=False).journal_seq is None
    talk("Item 9 costs 12 EUR and must not be sold.")
    clock.advance(days=60)

    report = alma.compress(strategy="hierarchical")

    assert sorted(each.level for each in report.summaries) == ["domain", "memory", "week"]
    assert report.unchanged == 8


def test_a_changed_source_makes_its_summaries_invalid(alma: ALMA, clock: FixedClock) -> None:
    fact = alma.add_domain_knowledge("dev", "prices", f"Item 0 costs 3 EUR. {FILLER}{FILLER}", source="inferred")
    clock.advance(days=60)
    keep(alma)
    assert "3 EUR" in texts(alma)

    alma.edit(fact, fact=f"Item 0 costs 5 EUR. {FILLER}{FILLER}")
    assert read_summaries(alma, "dev") == []
    clock.advance(days=60)
    keep(alma)
    assert "5 EUR" in texts(alma)
    assert "3 EUR" not in texts(alma)


def test_undo_takes_the_summaries_back(alma: ALMA, talks: list[str]) -> None:
    report = alma.compress(strategy="hierarchical", dry_run=False)
    assert report.journal_seq is not None

    alma.undo(report.journal_seq - 1)

    assert read_summaries(alma, "dev") == []
    assert alma.verify().problems == ()


def test_a_purged_memory_is_gone_from_every_level_and_from_the_file(alma: ALMA, talks: list[str]) -> None:
    keep(alma)
    assert "Item 2" in texts(alma)

    alma.purge([talks[2]])

    assert "Item 2" not in texts(alma)
    assert not read_summaries(alma, "dev", memory_id=talks[2])
    keep(alma)
    assert "Item 2" not in texts(alma)
    assert "Item 1" in texts(alma, level="domain")
    assert alma.verify().problems == ()


def test_a_forgotten_memory_is_in_no_valid_summary_until_it_is_brought_back(alma: ALMA, talks: list[str]) -> None:
    keep(alma)
    report = alma.forget("dev", memory_ids=[talks[1]])

    assert "Item 1" not in texts(alma)
    assert report.seq is not None
    alma.undo(report.seq - 1)
    assert "Item 1" in texts(alma, level="domain")


def test_a_user_that_is_forgotten_is_gone_from_every_level(alma: ALMA, talk: Talk, clock: FixedClock) -> None:
    talk("Item 1 costs 4 EUR and must not be sold.")
    talk("Maria lives in Rome and must not be called.", user_id="maria")
    clock.advance(days=60)
    keep(alma)

    assert "Maria" not in texts(alma)
    assert "Maria" in texts(alma, user_id="maria")
    assert "Maria" not in texts(alma, user_id="otto")
    alma.forget_user("maria")
    assert "Maria" not in texts(alma, user_id="maria")
    assert "Item 1" in texts(alma)


def test_another_agent_sees_no_summary(alma: ALMA, talks: list[str]) -> None:
    keep(alma)
    assert read_summaries(alma, "other") == []
    assert alma.compress(strategy="summarize", agent="other").summaries == ()


def test_what_must_stay_as_it_is_is_left_and_counted(alma: ALMA, clock: FixedClock) -> None:
    alma.add_user_preference("maria", "style", FILLER * 3)
    alma.add_heuristic("dev", "deploys", FILLER * 3)
    alma.add_domain_knowledge("dev", "prices", FILLER * 3)
    alma.add_domain_knowledge("dev", "prices", "Short.", source="inferred")
    clock.advance(days=60)

    report = alma.compress()

    assert (report.summaries, report.skipped) == ((), {"of high confidence": 1, "preferences and rules": 1, "short": 1})
    assert len(alma.compress(preserve_high_confidence=False).summaries) == 1
    assert alma.compress(older_than_days=90, preserve_high_confidence=False).skipped == {"newer": 3}


def test_truncating_lists_what_binds_in_the_part_that_is_cut(alma: ALMA, talks: list[str]) -> None:
    keep(alma, "truncate")

    (summary,) = read_summaries(alma, "dev", memory_id=talks[0])
    assert (summary.method, summary.text.startswith("Helena: We talked")) == ("truncated", True)
    assert "3 EUR, must, not)" in summary.text


def test_a_model_that_lies_leaves_the_extractive_summary_and_is_reported(alma: ALMA, talks: list[str]) -> None:
    report = alma.compress(strategy="summarize", llm=lambda prompt: json.dumps({"summary": "Item 7 costs 99 EUR."}))

    assert {each.method for each in report.summaries} == {"extractive"}
    assert len(report.errors) == 4
    assert not any("99" in each.text for each in report.summaries)


@pytest.mark.parametrize("given", [{"strategy": "squeeze"}, {"older_than_days": -1}, {"older_than_days": True}], ids=str)
def test_what_cannot_be_meant_is_an_error(alma: ALMA, given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        alma.compress(**given)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(
        f"alma:\n  project_id: shop\n  storage_dir: {tmp_path}/store\n  embedding_provider: hash\n"
        "  compression: {enabled: true, strategy: truncate, age_threshold_days: 0, preserve_high_confidence: false}\n"
    )
    with ALMA.from_config(file) as alma:
        alma.add_conversation([("Helena", f"{FILLER}{FILLER}It costs 3 EUR.")], "dev", "s", at=datetime(2026, 1, 5, tzinfo=UTC))
    return file


def test_the_configuration_says_what_a_call_does_not(config: Path) -> None:
    with ALMA.from_config(config) as alma:
        assert alma.compress().strategy is CompressionStrategy.TRUNCATE
        assert len(alma.compress().summaries) == 1
    config.write_text(config.read_text().replace("enabled: true", "enabled: false"))
    with ALMA.from_config(config) as alma:
        assert alma.compress().summaries == ()
        assert len(alma.compress(strategy="summarize").summaries) == 1


def test_a_wrong_setting_names_its_key(config: Path) -> None:
    config.write_text(config.read_text().replace("strategy: truncate", "strategy: squeeze"))
    with pytest.raises(ConfigurationError, match=r"compression\.strategy"):
        ALMA.from_config(config)


def test_the_command_shows_first_and_keeps_with_apply(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> str:
        ended = CliRunner().invoke(app, ["compress", "--config", str(config), *arguments])
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    assert "--apply keeps them" in run()
    assert "takes that back" in run("--apply")
    assert json.loads(run("--json"))["unchanged"] == 1


@pytest.mark.parametrize("is_undone", [True, False])
def test_no_word_of_a_purged_memory_is_left_of_former_summaries(tmp_path: Path, clock: FixedClock, *, is_undone: bool) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", clock=clock) as alma:
        _, purged = (
            alma.add_domain_knowledge("dev", "ops", f"{FILLER}Item {name} costs {cost} EUR. {FILLER}", source="noted_by_agent").id
            for name, cost in (("alpha", 3), ("zanzibar", 4))
        )
        clock.advance(days=60)
        report = alma.compress(strategy="hierarchical", dry_run=False)
        assert all("zanzibar" in each.text for each in report.summaries if each.level != "memory")
        if is_undone:
            assert report.journal_seq is not None
            alma.undo(report.journal_seq - 1)
        else:
            alma.forget("dev", memory_ids=[purged])
            keep(alma)  # the week and the domain have no word of it any more, but had

        alma.purge([purged])
        alma.compact()
    files = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert (b"zanzibar" in files, b"alpha" in files) == (False, True)


def test_of_two_callers_at_once_one_keeps_the_summaries(alma: ALMA, talks: list[str]) -> None:
    def compress_too(prompt: str) -> str:
        alma.compress(dry_run=False)
        return ""

    report = alma.compress(dry_run=False, llm=compress_too)

    assert report.journal_seq is None
    assert len(read_summaries(alma, "dev")) == len(talks)
    assert alma.verify().problems == ()
