"""Rules and a file: their records come along, what follows from outcomes is never in it, and what no learning leaves is refused."""

import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ValidationError
from facade import ManualClock, OpenStore, exported, refused
from learned import anti_patterns, counts, heuristics, told
from lines import Line, lines_of, write_lines


def learn(alma: ALMA, clock: ManualClock, number: int, outcome: str, strategy: str = "by hand", agent: str = "dev") -> None:
    for _ in range(number):
        clock.advance(hours=1)
        alma.learn(agent, "Deploy", outcome, strategy, task_type="deploying", error_message="it broke")


@pytest.fixture
def giver(open_store: OpenStore, clock: ManualClock) -> ALMA:
    """A project in which a heuristic and an anti-pattern follow, and the anti-pattern was archived."""
    alma = open_store("giver", project_id="giver")
    learn(alma, clock, 6, "success")
    learn(alma, clock, 6, "failure", "by guessing")
    (avoided,) = anti_patterns(alma)
    alma.forget(memory_ids=[avoided.id])
    return alma


@pytest.fixture
def file(giver: ALMA, tmp_path: Path) -> Path:
    giver.export(tmp_path / "x.jsonl")
    return tmp_path / "x.jsonl"


def record(lines: list[Line]) -> Line:
    return next(line for line in lines if line.get("type") == "record" and line["kind"] == "rule")


def changed(**fields: Any) -> Callable[[list[Line]], Any]:
    return lambda lines: record(lines)["body"].update(fields)


HOSTILE: dict[str, Callable[[list[Line]], Any]] = {
    "no owner": changed(owner=""),
    "neither side": changed(side="proven"),
    "anchors that are no ids": changed(anchors=[1, 2]),
    "a wording that is none": changed(way=7),
    "a time that is none": changed(archived_at="yesterday"),
    "use below nothing": changed(use={"used": -3}),
    "use of another name": changed(use={"praised": 3}),
}


@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_a_record_of_a_rule_that_no_learning_leaves_is_refused_and_nothing_is_stored(
    alma: ALMA, file: Path, spoil: Callable[[list[Line]], Any]
) -> None:
    lines = lines_of(file)
    spoil(lines)
    with refused(alma, ValidationError, "the record of rule"):
        alma.import_from(write_lines(file, lines))


def test_what_follows_from_outcomes_is_not_in_the_file_and_follows_again(alma: ALMA, giver: ALMA, file: Path) -> None:
    assert {line["kind"] for line in lines_of(file) if line.get("type") == "memory"} == {"outcome"}
    alma.import_from(file)
    assert told(alma) == told(giver)
    assert [rule.id for rule in heuristics(alma)] == [rule.id for rule in heuristics(giver)]


def test_a_rule_that_was_archived_there_does_not_come_back_here(alma: ALMA, file: Path, clock: ManualClock) -> None:
    alma.import_from(file)
    assert anti_patterns(alma) == []
    learn(alma, clock, 3, "failure", "by guessing")
    assert anti_patterns(alma) == []


def test_where_both_have_outcomes_they_count_together_and_rules_follow(alma: ALMA, file: Path, clock: ManualClock) -> None:
    learn(alma, clock, 6, "failure")
    (own,) = anti_patterns(alma)
    assert own.pattern == "by hand"
    report = alma.import_from(file, on_conflict="skip")
    assert (report.skipped.memories, report.stored.memories) == (0, 12)
    assert counts(alma) == {"by hand": (6, 12), "by guessing": (0, 6)}
    assert heuristics(alma) == anti_patterns(alma) == []
    assert alma.verify().ok
    learn(alma, clock, 3, "success")
    assert counts(alma)["by hand"] == (9, 15)
    assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(alma)] == [(9, 15)]


def test_outcomes_of_a_file_are_counted_and_settled_like_others(
    alma: ALMA, open_store: OpenStore, clock: ManualClock, tmp_path: Path
) -> None:
    giver = open_store("giver", project_id="giver")
    with giver.episode("dev", "Deploy", task_type="deploying", episode_id="theirs") as episode:
        episode.fail(strategy="by hand")
    giver.export(tmp_path / "x.jsonl")
    learn(alma, clock, 3, "success")
    alma.import_from(tmp_path / "x.jsonl")
    assert counts(alma) == {"by hand": (3, 4)}
    alma.settle("theirs", "success")
    assert counts(alma) == {"by hand": (4, 4)}
    assert [row.verdict for row in alma.strategies("Deploy", "dev")] == ["seems to work"]


def test_what_happened_before_1970_comes_along_too(open_store: OpenStore, clock: ManualClock, tmp_path: Path) -> None:
    giver, taker = open_store("giver", project_id="giver"), open_store("taker", project_id="giver")
    long_ago = datetime(1961, 4, 12, tzinfo=UTC)
    giver.learn("dev", "Launch", "failure", "by hand", error_message="the hatch was open", timestamp=long_ago)
    giver.export(tmp_path / "x.jsonl")
    taker.import_from(tmp_path / "x.jsonl")
    assert taker.content_hash() == giver.content_hash()


def test_a_rule_on_tasks_of_users_alone_beside_an_outcome_of_the_agent_follows_from_the_file_too(
    alma: ALMA, open_store: OpenStore
) -> None:
    for way, task_type, user in (
        ("blue-green", "Deploying", "u1"),
        ("rolling update", "Deploying", None),
        ("blue-green", "Deploying", "u2"),
        ("blue-green", "Deploying", "u2"),
    ):
        alma.learn("ann", "Deploy the shop", "success", way, task_type=task_type, user_id=user)
    assert len(alma.list_memories("heuristic", agent="ann")) == 1
    copy = open_store("copy")
    copy.import_from(io.BytesIO(exported(alma)))
    assert copy.content_hash() == alma.content_hash()
    assert copy.verify().ok
    tried = [(row.strategy, row.trials) for row in copy.strategies("Deploy the shop", "ann", task_type="Deploying").rows]
    assert tried == [("blue-green", 3), ("rolling update", 1)]
