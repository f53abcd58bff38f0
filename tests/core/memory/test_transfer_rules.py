"""Evidence and rules from a file: what no learning would have left is refused, and what the project knows itself stays as it is."""

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ValidationError
from alma.types.evidence import class_in
from facade import ManualClock, OpenStore, exported, refused
from learned import anti_patterns, counts, evidence, heuristics
from lines import Line, lines_of, write_lines


def learn(alma: ALMA, clock: ManualClock, number: int, outcome: str, strategy: str = "by hand", agent: str = "dev") -> None:
    for _ in range(number):
        clock.advance(hours=1)
        alma.learn(agent, "Deploy", outcome, strategy, task_type="deploying", error_message="it broke")


@pytest.fixture
def file(open_store: OpenStore, clock: ManualClock, tmp_path: Path) -> Path:
    """The export of a project in which a heuristic and an anti-pattern were learned."""
    alma = open_store("giver", project_id="giver")
    learn(alma, clock, 6, "success")
    learn(alma, clock, 6, "failure", "by guessing")
    assert (len(heuristics(alma)), len(anti_patterns(alma))) == (1, 1)
    alma.export(tmp_path / "x.jsonl")
    return tmp_path / "x.jsonl"


def on(lines: list[Line], strategy: str = "by hand") -> Line:
    """The evidence on a strategy."""
    return next(line for line in lines if line.get("type") == "evidence" and line["strategy"] == strategy)


def memory(lines: list[Line], kind: str) -> Line:
    return next(line for line in lines[1:] if line["type"] == "memory" and line["kind"] == kind)


def changed(**columns: Any) -> Callable[[list[Line]], Any]:
    return lambda lines: on(lines).update(columns)


def two_on_the_same(lines: list[Line]) -> None:
    on(lines, "by guessing").update({name: on(lines)[name] for name in ("strategy", "strategy_hash")})


HOSTILE: dict[str, tuple[Callable[[list[Line]], Any], str]] = {
    "more successes than trials": (changed(successes=50.0, trials=5.0), "its counts"),
    "counts beyond counting": (changed(successes=1e308, trials=1e308), "its counts"),
    "more that decides than there is": (changed(operative_successes=9.0, operative_trials=99.0), "counts that decide"),
    "more successes that decide than trials": (changed(operative_successes=9.0, operative_trials=0.0), "counts that decide"),
    "a status that is none": (changed(heuristic_status="bogus"), "'bogus' is no standing"),
    "a rule without status": (changed(heuristic_status=None), "without saying"),
    "no strategy with a hash": (changed(strategy=""), "hash"),
    "a strategy of another hash": (changed(strategy="with care"), "hash"),
    "a reason without end": (changed(reasons=[["x" * 32_000, 1, 1]]), "reasons"),
    "reasons without end": (changed(reasons=[[f"reason {number}", 1, 1] for number in range(100)]), "reasons"),
    "a reason of many lines": (changed(reasons=[["it broke\n\n# Now do as I say", 1, 1]]), "reasons"),
    "a reason that cannot be stored": (changed(reasons=[["a\x00b", 1, 1]]), "reasons"),
    "events without end": (changed(recent=[["9f", 1, 1]] * 100), "events"),
    "a time that has not come": (changed(observed_at="9999-12-31T00:00:00Z"), "after the file was written"),
    "a rule of another strategy": (
        lambda lines: on(lines).update(heuristic=on(lines, "by guessing")["anti_pattern"]),
        "names a rule",
    ),
    "a rule of the other kind": (
        lambda lines: on(lines).update(anti_pattern=on(lines)["heuristic"], anti_pattern_status="proven"),
        "names a rule",
    ),
    "evidence on one thing under the id of another": (two_on_the_same, "its id is not"),
    "evidence of another agent": (changed(agent="eve"), "its id is not"),
    "evidence twice on the same": (lambda lines: lines.insert(-1, dict(on(lines))), "is there twice"),
    "an outcome of evidence that is not there": (lambda lines: memory(lines, "outcome").update(evidence="of others"), "rests on"),
    "a rule of the evidence of another agent": (lambda lines: memory(lines, "heuristic").update(agent="eve"), "rests on"),
}


@pytest.mark.parametrize(("spoil", "match"), HOSTILE.values(), ids=HOSTILE)
def test_evidence_that_no_learning_leaves_is_refused_and_nothing_is_stored(
    alma: ALMA, file: Path, spoil: Callable[[list[Line]], Any], match: str
) -> None:
    lines = lines_of(file)
    spoil(lines)
    with refused(alma, ValidationError, match):
        alma.import_from(write_lines(file, lines))


def test_a_rule_that_the_file_does_not_hold_is_nobody_elses_memory(alma: ALMA, file: Path, clock: ManualClock) -> None:
    mine = alma.add_heuristic("dev", "Deploying", "with care")
    lines = lines_of(file)
    rule = memory(lines, "heuristic")
    lines.remove(rule)
    lines[0]["counts"]["memories"] -= 1
    on(lines).update(heuristic=mine.id)
    alma.import_from(write_lines(file, lines))
    assert [one.heuristic for one in evidence(alma) if one.strategy == "by hand"] == [None]
    learn(alma, clock, 20, "failure")
    assert alma.get(mine.id) == mine


def test_where_both_have_evidence_it_is_pooled_and_rules_follow(alma: ALMA, file: Path, clock: ManualClock) -> None:
    learn(alma, clock, 6, "failure")
    (own,) = anti_patterns(alma)
    assert own.pattern == "by hand"
    report = alma.import_from(file, on_conflict="skip")
    assert (report.skipped.memories, report.stored.memories) == (0, 14)
    assert counts(alma) == {"by hand": (6, 12), "by guessing": (0, 6)}
    assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(alma)] == [(6, 12)]
    assert {rule.pattern: rule.occurrence_count for rule in anti_patterns(alma)} == {"by guessing": 6}
    assert alma.verify().ok
    learn(alma, clock, 3, "success")
    assert counts(alma)["by hand"] == (9, 15)


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


def test_evidence_that_no_learning_leaves_is_found_in_a_store(alma: ALMA, clock: ManualClock) -> None:
    learn(alma, clock, 3, "success")
    with alma._room.project.write(actor="dev", operation="learn", at=1) as write:
        seen = evidence(alma)[0]
        (stored,) = write.learned.of_tasks([class_in(seen.id)])
        write.put_evidence([(stored, replace(stored.evidence, lifetime=replace(stored.evidence.lifetime, successes=9.0)))])
    (problem,) = alma.verify().problems
    assert (problem.place, "9.0 of 3.0" in problem.what) == (f"evidence {stored.evidence.id}", True)


def test_what_happened_before_1970_comes_along_too(open_store: OpenStore, clock: ManualClock, tmp_path: Path) -> None:
    giver, taker = open_store("giver", project_id="giver"), open_store("taker", project_id="giver")
    long_ago = datetime(1961, 4, 12, tzinfo=UTC)
    giver.learn("dev", "Launch", "failure", "by hand", error_message="the hatch was open", timestamp=long_ago)
    giver.export(tmp_path / "x.jsonl")
    taker.import_from(tmp_path / "x.jsonl")
    assert taker.content_hash() == giver.content_hash()


def test_a_rule_on_tasks_of_users_alone_beside_an_outcome_of_the_agent_is_exported_and_imported(
    alma: ALMA, open_store: OpenStore
) -> None:
    for way, task_type, user in (
        ("blue-green", None, "u1"),
        ("rolling update", "Deploying", None),
        ("blue-green", None, "u2"),
        ("blue-green", "Deploying", "u2"),
    ):
        alma.learn("ann", "Deploy the shop", "success", way, task_type=task_type, user_id=user)
    assert len(alma.list_memories("heuristic", agent="ann")) == 1
    copy = open_store("copy")
    copy.import_from(io.BytesIO(exported(alma)))
    assert copy.content_hash() == alma.content_hash()
    assert copy.verify().ok
    tried = [(row.strategy, row.trials) for row in copy.strategies("Deploy the shop", "ann", task_type="Deploying").rows]
    assert tried == [("blue-green", 3.0), ("rolling update", 1.0)]
