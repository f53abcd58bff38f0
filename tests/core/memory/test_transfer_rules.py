"""Records of rules from a file: what ALMA would not have stored is refused, and what a caller archived stays archived on both sides."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ValidationError
from alma.types.strategies import RULE
from facade import ManualClock, OpenStore, exported, refused
from learned import anti_patterns, counts, heuristics
from lines import Line, lines_of, write_lines


def learn(alma: ALMA, clock: ManualClock, number: int, outcome: str, strategy: str = "by hand", agent: str = "dev") -> None:
    for _ in range(number):
        clock.advance(hours=1)
        alma.learn(agent, "Deploy", outcome, strategy, task_type="deploying", error_message="it broke")


@pytest.fixture
def file(open_store: OpenStore, clock: ManualClock, tmp_path: Path) -> Path:
    """The export of a project in which a heuristic and an anti-pattern were learned, and the heuristic was archived."""
    alma = open_store("giver", project_id="giver")
    learn(alma, clock, 6, "success")
    learn(alma, clock, 6, "failure", "by guessing")
    (rule,), (_,) = heuristics(alma), anti_patterns(alma)
    alma.forget(memory_ids=[rule.id])
    alma.export(tmp_path / "x.jsonl")
    return tmp_path / "x.jsonl"


def record(lines: list[Line]) -> Any:
    return next(line["body"] for line in lines if line.get("type") == "record" and line["kind"] == RULE)


HOSTILE: dict[str, Callable[[Any], object]] = {
    "of no owner": lambda body: body.pop("owner"),
    "of neither side": lambda body: body.update(side="sideways"),
    "anchors that are no ids": lambda body: body.update(anchors=[1]),
    "no anchors at all": lambda body: body.update(anchors="abc"),
    "a wording that is none": lambda body: body.update(way=["by hand"]),
    "a time that is none": lambda body: body.update(archived_at="yesterday"),
    "a count that is none": lambda body: body.update(use={"used": -1}),
    "a count of something else": lambda body: body.update(use={"loved": 1}),
    "a text that cannot be stored": lambda body: body.update(way="a\x00b"),
}


@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_a_record_that_alma_would_not_have_stored_is_refused(alma: ALMA, file: Path, spoil: Callable[[Any], object]) -> None:
    lines = lines_of(file)
    spoil(record(lines))
    with refused(alma, ValidationError, "rule|record"):
        alma.import_from(write_lines(file, lines))


def test_what_was_archived_there_is_archived_here(alma: ALMA, file: Path, clock: ManualClock) -> None:
    learn(alma, clock, 6, "success")
    assert len(heuristics(alma)) == 1
    alma.import_from(file, on_conflict="merge")
    learn(alma, clock, 3, "success")
    assert heuristics(alma) == []
    assert counts(alma) == {"by hand": (15, 15), "by guessing": (0, 6)}
    assert alma.verify().problems == ()


def test_a_purge_on_either_side_takes_the_words_out_of_the_merged_record(
    alma: ALMA, open_store: OpenStore, clock: ManualClock
) -> None:
    learn(alma, clock, 3, "success", "call Mustermann")
    (rule,) = heuristics(alma)
    alma.record_feedback(rule.id, signal="thumbs_up", agent="dev")
    clone = open_store("clone")
    clone.import_from(io.BytesIO(exported(alma)))
    assert "Mustermann" in str(record([json.loads(line) for line in exported(clone).splitlines()]))
    alma.purge([memory.id for memory in alma.list_memories("outcome")])
    clone.import_from(io.BytesIO(exported(alma)), on_conflict="merge")
    assert clone.verify().problems == ()
    assert b"Mustermann" not in exported(clone)
    assert heuristics(clone) == []


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


def test_what_happened_before_1970_comes_along_too(open_store: OpenStore, clock: ManualClock, tmp_path: Path) -> None:
    giver, taker = open_store("giver", project_id="giver"), open_store("taker", project_id="giver")
    long_ago = datetime(1961, 4, 12, tzinfo=UTC)
    giver.learn("dev", "Launch", "failure", "by hand", error_message="the hatch was open", timestamp=long_ago)
    giver.export(tmp_path / "x.jsonl")
    taker.import_from(tmp_path / "x.jsonl")
    assert taker.content_hash() == giver.content_hash()


def test_where_both_have_outcomes_they_count_together_and_rules_follow(alma: ALMA, file: Path, clock: ManualClock) -> None:
    learn(alma, clock, 6, "failure")
    (own,) = anti_patterns(alma)
    assert own.pattern == "by hand"
    assert {line["kind"] for line in lines_of(file) if line.get("type") == "memory"} == {"outcome"}
    report = alma.import_from(file, on_conflict="skip")
    assert (report.skipped.memories, report.stored.memories) == (0, 12)
    assert counts(alma) == {"by hand": (6, 12), "by guessing": (0, 6)}
    assert {rule.pattern: rule.occurrence_count for rule in anti_patterns(alma)} == {"by guessing": 6}
    assert alma.verify().ok
    learn(alma, clock, 3, "success")
    assert counts(alma)["by hand"] == (9, 15)
    assert heuristics(alma) == []  # it was archived there


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
