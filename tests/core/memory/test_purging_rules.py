"""What was learned from a purged outcome goes with it, unless something else was learned from too; then it stays, and is named."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from alma import ALMA, MemoryNotFoundError
from facade import ManualClock, NewPlace, OpenStore
from learned import evidence
from purged import SECRET, surfaces, traces, vector_of

ERROR = "Quokka: the cage is open"
NUMBERS = count()


def evidence_of(alma: ALMA) -> list[str]:
    return [stored.key for stored in alma._room.project.rows() if stored.table == "evidence"]


def rules_of(alma: ALMA) -> list[str]:
    return [memory.id for kind in ("heuristic", "anti_pattern") for memory in alma.list_memories(kind)]


def learn(alma: ALMA, count: int, outcome: str = "success", strategy: str = SECRET, **more: Any) -> list[str]:
    return [alma.learn("helena", "Feed the animals", outcome, strategy, **more).id for _ in range(count)]


def left_by(alma: ALMA, ids: list[str]) -> set[str]:
    receipt = alma.purge(ids).receipt
    assert receipt is not None
    return set(receipt.left)


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_with_all_its_outcomes_a_strategy_is_forgotten_to_the_last_byte(
    open_store: OpenStore, tmp_path: Path, clock: ManualClock, outcome: str
) -> None:
    alma = open_store()
    ids = []
    for _ in range(4):
        ids += learn(alma, 1, outcome, error_message=ERROR)
        clock.advance(days=1)
    rules = rules_of(alma)
    assert len(rules) == 1
    assert len(evidence_of(alma)) == 1

    report = alma.purge(ids)
    assert (surfaces(report)["evidence"], surfaces(report)["memory rows"]) == (1, 5)
    assert report.receipt is not None
    assert report.receipt.left == ()
    assert evidence_of(alma) == rules_of(alma) == []
    alma.compact()
    assert traces(tmp_path / "store", *(rule.encode() for rule in rules)) == []
    with pytest.raises(MemoryNotFoundError, match="it was purged"):
        alma.history(rules[0])
    assert alma.verify().problems == ()
    assert alma.undo(0).removed == ()


def test_while_one_outcome_is_left_counts_and_rule_stay_and_are_named(alma: ALMA) -> None:
    ids = learn(alma, 4)
    (rule,) = rules_of(alma)
    before = alma.get(rule)

    left = left_by(alma, ids[:3])
    assert {f"evidence {key}" for key in evidence_of(alma)} | {f"memory {rule}"} <= left
    assert alma.get(rule) == before
    assert left_by(alma, ids[3:]) == set()
    assert evidence_of(alma) == rules_of(alma) == []
    assert alma.verify().problems == ()


def test_the_evidence_on_another_strategy_for_the_task_stays_and_goes_with_its_last_outcome(alma: ALMA) -> None:
    secret, other = learn(alma, 3), learn(alma, 3, strategy="Call the keeper")
    assert len(evidence_of(alma)) == 2

    (key,) = (name.removeprefix("evidence ") for name in left_by(alma, secret) if name.startswith("evidence"))
    assert evidence_of(alma) == [key]
    assert [alma.get(rule).text for rule in rules_of(alma)] == ["Feed the animals: Call the keeper"]
    alma.purge(other)
    assert evidence_of(alma) == []
    assert alma.verify().problems == ()


def test_outcomes_without_a_strategy_keep_their_evidence(alma: ALMA) -> None:
    secret = learn(alma, 1)
    plain = alma.learn("helena", "Feed the animals", "success").id
    alma.purge(secret)
    assert len(evidence_of(alma)) == 1
    alma.purge([plain])
    assert evidence_of(alma) == []


@pytest.mark.not_on("postgres", reason="reads the store's files; a server's files are its own")
def test_what_was_undone_is_erased_from_the_journal_with_what_was_learned_from_it(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    ids = learn(alma, 4)
    alma.undo(0)
    assert traces(tmp_path / "store")

    assert alma.purge(ids).memory_ids == tuple(ids)
    alma.compact()
    assert traces(tmp_path / "store") == []
    assert alma.verify().problems == ()


def test_what_an_undo_may_bring_back_keeps_the_evidence_that_it_needs(alma: ALMA) -> None:
    first, second = learn(alma, 2)
    before = alma.content_hash()
    alma.forget(memory_ids=[second])
    alma.undo(2)
    alma.undo(0)
    assert alma.content_hash() != before

    alma.purge([first])
    alma.undo(4)  # back to before everything was undone
    assert [memory.id for memory in alma.list_memories()] == [second]
    assert len(evidence_of(alma)) == 1
    assert alma.verify().problems == ()
    third = learn(alma, 1)
    assert left_by(alma, [second, *third]) == set()
    assert evidence_of(alma) == []


def test_after_a_purge_everyone_counts_from_what_is_left(open_store: OpenStore) -> None:
    alma, other = open_store(), open_store()
    ids = learn(other, 2) + learn(alma, 2)
    other.purge(ids)

    learn(alma, 2)
    assert rules_of(alma) == []
    learn(alma, 1)
    (rule,) = rules_of(alma)
    assert alma.get(rule).success_count == 3  # type: ignore[union-attr] # a heuristic
    assert alma.verify().problems == ()


def test_purging_a_rule_leaves_its_evidence_and_says_so(alma: ALMA) -> None:
    learn(alma, 3)
    (rule,) = rules_of(alma)
    assert len(evidence_of(alma)) == 1

    assert {f"evidence {key}" for key in evidence_of(alma)} & left_by(alma, [rule])
    learn(alma, 1)
    assert len(evidence_of(alma)) == 1
    assert alma.verify().problems == ()


def test_one_agents_evidence_is_not_touched_by_anothers_purge(alma: ALMA) -> None:
    mine = learn(alma, 3)
    alma.learn_many({"agent": "victor", "task": "Feed the animals", "outcome": True, "strategy_used": SECRET} for _ in range(3))
    alma.purge(mine)
    assert {alma.get(rule).agent for rule in rules_of(alma)} == {"victor"}
    assert len(evidence_of(alma)) == 1


def test_the_vector_of_a_strategy_goes_when_nothing_is_compared_by_it_any_more(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    (mine,) = learn(alma, 1)
    theirs = alma.learn("victor", "Feed the animals", "success", SECRET).id
    vector = vector_of(alma, SECRET)

    alma.purge([mine])
    assert vector_of(alma, SECRET) == vector
    alma.purge([theirs])
    alma.compact()
    assert traces(tmp_path / "store", vector) == []


def deploy(alma: ALMA, numbers: range, outcome: str = "success", strategy: str = "blue-green") -> list[str]:
    return [
        alma.learn("dev", f"Deploy service {number}", outcome, strategy, task_type="Deploying", error_message=ERROR).id
        for number in numbers
    ]


def test_a_rule_whose_task_is_purged_is_formed_again_from_what_is_left(alma: ALMA) -> None:
    ids = deploy(alma, range(6))
    (rule,) = rules_of(alma)
    named = next(memory_id for memory_id in ids if alma.get(memory_id).task_description in alma.get(rule).text)

    report = alma.purge([named])
    assert rule not in rules_of(alma)
    (formed,) = (alma.get(each) for each in rules_of(alma))
    assert (formed.success_count, formed.occurrence_count, formed.metadata["task_type"]) == (5, 5, "Deploying")
    assert alma.get(ids[-1]).task_description in formed.text
    assert report.receipt is not None
    assert formed.id in str(report.receipt.left)
    assert alma.verify().problems == ()
    deploy(alma, range(6, 7))
    assert rules_of(alma) == [formed.id]


def test_a_warning_that_names_a_purged_strategy_as_better_is_formed_again_without_it(alma: ALMA) -> None:
    better = deploy(alma, range(4))
    deploy(alma, range(4, 8), "failure", "all at once")
    (warned,) = alma.list_memories("anti_pattern")
    assert warned.better_alternative == "blue-green"

    alma.purge(better)
    (formed,) = alma.list_memories("anti_pattern")
    assert (formed.id == warned.id, formed.pattern, formed.better_alternative) == (False, "all at once", None)
    assert rules_of(alma) == [formed.id]
    assert alma.verify().problems == ()


def test_rules_that_the_caller_purged_or_archived_are_not_formed_again(alma: ALMA) -> None:
    ids = deploy(alma, range(5))
    (rule,) = rules_of(alma)
    alma.forget(memory_ids=[rule])
    alma.purge(ids[2:3])
    assert rules_of(alma) == []
    other = alma.for_project("other")
    ids = deploy(other, range(5))
    other.purge([*ids[2:3], *rules_of(other)])
    assert rules_of(other) == []


def test_a_rule_that_what_is_left_does_not_support_stays_away(alma: ALMA) -> None:
    alma.purge(deploy(alma, range(3))[2:])
    assert rules_of(alma) == []
    assert alma.verify().problems == ()


WAYS = ("Call the keeper", "Feed the quokka by hand", "Throw it over the fence")
acts = st.one_of(
    *[st.tuples(st.just("learn"), st.integers(0, 2), st.sampled_from(["success", "failure", "unverified"]))] * 3,
    st.tuples(st.just("purge"), st.integers(0, 30), st.integers(1, 3)),
    st.tuples(st.just("undo"), st.integers(0, 30), st.none()),
    st.tuples(st.just("forget"), st.integers(0, 30), st.none()),
)


@pytest.fixture(scope="module")
def zoo(new_place: NewPlace) -> Iterator[ALMA]:
    with new_place().open(project_id="zoo", embedding_dim=16) as alma:
        yield alma


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(acts, min_size=3, max_size=14))
@example([*[("learn", 0, "success")] * 3, ("learn", 1, "success"), ("undo", 2, None), ("purge", 0, 3)])
def test_whatever_is_learned_undone_and_purged_nothing_hangs_in_the_air(zoo: ALMA, done: list[tuple[str, int, Any]]) -> None:
    """No rule without evidence, no evidence without an outcome that an undo could bring back, and at the end nothing of nobody."""
    alma = zoo.for_project(f"project {next(NUMBERS)}")
    learned: list[str] = []
    for what, number, more in done:
        if what == "learn":
            learned.append(alma.learn("ann", "Feed the animals", more, WAYS[number], error_message="it bit").id)
        elif what == "purge" and learned:
            alma.purge([learned[(number + n) % len(learned)] for n in range(more)])
        elif what == "undo":
            alma.undo(number % (alma.get_stats().journal_records + 1))
        elif what == "forget" and learned:
            alma.forget(memory_ids=[learned[number % len(learned)]])
        links = [link for link in links_of(alma) if link is not None]
        assert alma._room.project.learned.uncounted(links) is None
        assert set(links) <= {seen.id for seen in evidence(alma)}
    if learned:
        alma.purge(learned)
    assert evidence_of(alma) == links_of(alma) == []
    alma.undo(0)
    assert evidence_of(alma) == links_of(alma) == []
    assert alma.verify().problems == ()


def links_of(alma: ALMA) -> list[str | None]:
    """The evidence that each memory names, archived ones too."""
    return [stored.row["evidence"] for stored in alma._room.project.rows() if stored.table == "memory" and stored.row]


@pytest.mark.parametrize("by_purging", [True, False])
def test_after_its_vector_went_a_strategy_gets_it_again_with_its_next_outcome(alma: ALMA, by_purging: bool) -> None:
    ids = learn(alma, 1)
    vector = vector_of(alma, SECRET)
    if by_purging:
        alma.purge(ids)
    else:
        alma.undo(0)
    alma.compact()
    with pytest.raises(KeyError):
        vector_of(alma, SECRET)

    learn(alma, 1)
    assert vector_of(alma, SECRET) == vector


def test_a_strategy_whose_outcome_was_undone_and_brought_back_has_its_vector_from_the_next_one_on(alma: ALMA) -> None:
    learn(alma, 1)
    vector = vector_of(alma, SECRET)
    alma.undo(0)
    alma.compact()
    alma.undo(1)

    learn(alma, 1)
    assert vector_of(alma, SECRET) == vector


def test_a_rule_that_is_formed_again_does_not_quote_what_was_purged(open_store: OpenStore) -> None:
    """The evidence of the second task stays, and keeps the error of its purged outcome: a rule made of it would bring the error back."""
    alma = open_store()
    failed = {"agent": "v", "outcome": "failure", "strategy_used": "rolling update", "task_type": "deployment"}
    tasks = [f"Deploy mail {SECRET}", f"Deploy mail {SECRET}", "Deploy auth", "Deploy auth", "Deploy web"]
    ids = [
        alma.learn(task=task, error_message=f"Denied by {SECRET}" if place == 2 else None, **failed).id
        for place, task in enumerate(tasks)
    ]
    assert len(rules_of(alma)) == 1

    alma.purge(ids[:3])

    assert [alma.get(rule) for rule in rules_of(alma) if SECRET in str(alma.get(rule))] == []
