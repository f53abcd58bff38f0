"""What was learned from a purged outcome goes with it, and so do its words in records of rules."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.types.stored import Change
from alma.types.strategies import RULE
from facade import ManualClock, NewPlace, OpenStore, exported_lines
from purged import SECRET, traces, vector_of

ERROR = "Quokka: the cage is open"
NUMBERS = count()


def rules_of(alma: ALMA) -> list[str]:
    return [memory.id for kind in ("heuristic", "anti_pattern") for memory in alma.list_memories(kind)]


def records_of(alma: ALMA) -> dict[str, dict[str, Any]]:
    return {line["key"]: line["body"] for line in exported_lines(alma, "record") if line["kind"] == RULE}


def journal_of(alma: ALMA) -> list[Change]:
    """Returns all changes that the journal keeps."""
    return [change for entry in alma.storage.project(alma.project_id).entries() for change in entry.changes]


def learn(alma: ALMA, number: int, outcome: str = "success", strategy: str = SECRET, **more: Any) -> list[str]:
    return [alma.learn("helena", "Feed the animals", outcome, strategy, **more).id for _ in range(number)]


def rate(alma: ALMA) -> str:
    """Praises the only rule, so that it has a record, and returns its id."""
    (rule,) = rules_of(alma)
    alma.record_feedback(rule, signal="thumbs_up", agent="helena")
    return rule


@pytest.mark.not_on("postgres", reason="reads the store's files; a server's files are its own")
@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_with_all_its_outcomes_a_strategy_is_forgotten_to_the_last_byte(
    open_store: OpenStore, tmp_path: Path, clock: ManualClock, outcome: str
) -> None:
    alma = open_store()
    ids = []
    for _ in range(4):
        ids += learn(alma, 1, outcome, error_message=ERROR)
        clock.advance(days=1)
    rate(alma)
    assert len(records_of(alma)) == 1

    report = alma.purge(ids)
    assert report.receipt is not None
    assert report.receipt.left == ()
    assert (rules_of(alma), records_of(alma)) == ([], {})
    alma.compact()
    assert traces(tmp_path / "store") == []
    assert alma.verify().problems == ()
    assert alma.undo(0).removed == ()


def test_a_record_rests_on_the_outcomes_that_are_left(alma: ALMA) -> None:
    ids = learn(alma, 5)
    rule = rate(alma)
    alma.purge(ids[:2])
    (body,) = records_of(alma).values()
    assert set(body["anchors"]) == set(ids[2:])
    assert body["use"] == {"thumbs_up": 1}
    assert rules_of(alma) == [rule]
    assert alma.verify().problems == ()


def test_the_words_of_another_owner_do_not_keep_those_of_a_purged_one(alma: ALMA) -> None:
    ids = learn(alma, 3)
    other = learn(alma, 1, strategy="Call the keeper")
    rate(alma)
    alma.learn("victor", "Feed the animals", "success", SECRET)
    alma.purge(ids[:3])
    assert SECRET not in str(records_of(alma))
    assert other[0] in [memory.id for memory in alma.list_memories("outcome")]
    assert SECRET not in str([change for change in journal_of(alma) if change.table == "record"])
    assert alma.verify().problems == ()


def test_an_undo_brings_back_no_anchor_that_was_purged(alma: ALMA) -> None:
    ids = learn(alma, 5)
    rate(alma)
    head = alma.stats().journal_records
    alma.purge(ids[:1])
    alma.undo(head)
    (body,) = records_of(alma).values()
    assert set(body["anchors"]) == set(ids[1:])
    assert body["use"] == {"thumbs_up": 1}
    assert alma.verify().problems == ()


def test_a_second_purge_finds_what_the_first_one_kept(alma: ALMA) -> None:
    ids = learn(alma, 5)
    rate(alma)
    for each in ids:
        alma.purge([each])
        assert alma.verify().problems == ()
    assert records_of(alma) == {}
    assert SECRET not in str(journal_of(alma))


@pytest.mark.not_on("postgres", reason="reads the store's files; a server's files are its own")
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


@pytest.mark.not_on("postgres", reason="reads the store's files; a server's files are its own")
def test_what_was_undone_is_erased_from_the_journal(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    ids = learn(alma, 4)
    rate(alma)
    alma.undo(0)
    assert traces(tmp_path / "store")

    assert alma.purge(ids).memory_ids == tuple(ids)
    alma.compact()
    assert traces(tmp_path / "store") == []
    assert alma.verify().problems == ()


WAYS = ("Call the keeper", "Feed the quokka by hand", "Throw it over the fence")
acts = st.one_of(
    *[st.tuples(st.just("learn"), st.integers(0, 2), st.sampled_from(["success", "failure", "unverified"]))] * 3,
    st.tuples(st.just("purge"), st.integers(0, 30), st.integers(1, 3)),
    st.tuples(st.just("undo"), st.integers(0, 30), st.none()),
    st.tuples(st.just("forget"), st.integers(0, 30), st.none()),
    st.tuples(st.just("rate"), st.integers(0, 30), st.none()),
)


@pytest.fixture(scope="module")
def zoo(new_place: NewPlace) -> Iterator[ALMA]:
    with new_place().open(project_id="zoo", embedding_dim=16) as alma:
        yield alma


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(acts, min_size=3, max_size=14))
def test_whatever_is_learned_undone_and_purged_no_record_names_what_is_purged_and_the_rest_counts(
    zoo: ALMA, done: list[tuple[str, int, Any]]
) -> None:
    alma = zoo.for_project(f"project {next(NUMBERS)}")
    learned: list[str] = []
    purged: set[str] = set()
    for what, number, more in done:
        if what == "learn":
            learned.append(alma.learn("ann", "Feed the animals", more, WAYS[number], error_message="it bit").id)
        elif what == "purge" and learned:
            chosen = {learned[(number + n) % len(learned)] for n in range(more)}
            alma.purge(sorted(chosen))
            purged |= chosen
        elif what == "undo":
            alma.undo(number % (alma.get_stats().journal_records + 1))
        elif what == "forget" and learned:
            alma.forget(memory_ids=[learned[number % len(learned)]])
        elif what == "rate" and (rules := rules_of(alma)):
            alma.record_feedback(rules[number % len(rules)], signal="thumbs_up", agent="ann")
        assert not purged & {anchor for body in records_of(alma).values() for anchor in body["anchors"]}
        assert {row.strategy: (row.successes, row.trials) for row in alma.strategies(agent="ann") if row.trials} == counted(alma)
    if learned:
        alma.purge(learned)
    assert (rules_of(alma), records_of(alma)) == ([], {})
    alma.undo(0)
    assert (rules_of(alma), records_of(alma)) == ([], {})
    assert alma.verify().problems == ()


def test_while_outcomes_are_left_the_rule_counts_them(alma: ALMA) -> None:
    ids = learn(alma, 5)
    (rule,) = rules_of(alma)

    alma.purge(ids[3:4])
    assert rules_of(alma) == [rule]
    assert alma.get(rule).success_count == 4
    alma.purge(ids[4:])
    assert alma.get(rule).success_count == 3
    alma.purge(ids[2:3])
    assert rules_of(alma) == []
    assert alma.verify().problems == ()


def test_another_strategy_for_the_task_stays_and_goes_with_its_last_outcome(alma: ALMA) -> None:
    secret, other = learn(alma, 3), learn(alma, 3, strategy="Call the keeper")

    alma.purge(secret)
    assert [alma.get(rule).text for rule in rules_of(alma)] == ["Feed the animals: Call the keeper"]
    alma.purge(other)
    assert rules_of(alma) == []
    assert alma.verify().problems == ()


def test_after_a_purge_everyone_counts_from_what_is_left(open_store: OpenStore) -> None:
    alma, other = open_store(), open_store()
    ids = learn(other, 2) + learn(alma, 2)
    assert len(rules_of(other)) == len(rules_of(alma)) == 1
    other.purge(ids)

    learn(alma, 2)
    assert rules_of(alma) == []
    learn(alma, 1)
    (rule,) = rules_of(alma)
    assert alma.get(rule).success_count == 3  # type: ignore[union-attr] # a heuristic
    assert alma.verify().problems == ()


def test_purging_a_rule_leaves_its_outcomes_and_it_stays_away(alma: ALMA) -> None:
    learn(alma, 3)
    alma.purge(rules_of(alma))
    assert rules_of(alma) == []

    learn(alma, 3)
    assert rules_of(alma) == []
    assert [(row.successes, row.trials) for row in alma.strategies(agent="helena")] == [(6, 6)]
    assert alma.verify().problems == ()


def test_what_one_agent_learned_is_not_touched_by_anothers_purge(alma: ALMA) -> None:
    mine = learn(alma, 3)
    alma.learn_many({"agent": "victor", "task": "Feed the animals", "outcome": True, "strategy_used": SECRET} for _ in range(3))
    alma.purge(mine)
    assert [alma.get(rule).agent for rule in rules_of(alma)] == ["victor"]


def deploy(alma: ALMA, numbers: range, outcome: str = "success", strategy: str = "blue-green") -> list[str]:
    return [
        alma.learn("dev", f"Deploy service {number}", outcome, strategy, task_type="Deploying", error_message=ERROR).id
        for number in numbers
    ]


def test_a_rule_of_which_a_task_is_purged_speaks_of_the_others(alma: ALMA) -> None:
    ids = deploy(alma, range(6))
    (rule,) = rules_of(alma)
    named = next(memory_id for memory_id in ids if alma.get(memory_id).task_description in alma.get(rule).text)
    task = alma.get(named).task_description

    alma.purge([named])
    (left,) = (alma.get(each) for each in rules_of(alma))
    assert (left.success_count, left.occurrence_count) == (5, 5)
    assert task not in left.text
    assert alma.verify().problems == ()


def test_a_warning_does_not_name_a_purged_strategy_as_better(alma: ALMA) -> None:
    better = deploy(alma, range(4))
    deploy(alma, range(4, 8), "failure", "all at once")
    (warned,) = alma.list_memories("anti_pattern")
    assert warned.better_alternative == "blue-green"

    alma.purge(better)
    (left,) = alma.list_memories("anti_pattern")
    assert (left.id == warned.id, left.pattern, left.better_alternative) == (True, "all at once", None)
    assert alma.verify().problems == ()


@pytest.mark.parametrize("which", [slice(0, 1), slice(2, 3), slice(0, 3)])
def test_rules_that_a_caller_purged_or_archived_do_not_come_back(alma: ALMA, which: slice) -> None:
    ids = deploy(alma, range(7))
    alma.forget(memory_ids=rules_of(alma))
    alma.purge(ids[which])
    assert rules_of(alma) == []
    other = alma.for_project("other")
    ids = deploy(other, range(7))
    other.purge([*ids[which], *rules_of(other)])
    assert rules_of(other) == []


def counted(alma: ALMA) -> dict[str, tuple[int, int]]:
    """Whole successes and trials of each way, counted from the stored outcomes, archived ones too."""
    found: dict[str, tuple[int, int]] = {}
    for body in (line["body"] for line in exported_lines(alma, "memory")):
        if body["outcome"] != "unverified":
            successes, trials = found.get(body["strategy_used"], (0, 0))
            found[body["strategy_used"]] = successes + (body["outcome"] == "success"), trials + 1
    return found


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


def test_a_rule_does_not_quote_what_was_purged(open_store: OpenStore) -> None:
    alma = open_store()
    failed = {"agent": "v", "outcome": "failure", "strategy_used": "rolling update", "task_type": "deployment"}
    tasks = [f"Deploy mail {SECRET}", f"Deploy mail {SECRET}", "Deploy auth", "Deploy auth", "Deploy web"]
    ids = [
        alma.learn(task=task, error_message=f"Denied by {SECRET}" if place == 2 else None, **failed).id
        for place, task in enumerate(tasks)
    ]
    assert len(rules_of(alma)) == 1

    alma.purge(ids[:3])

    (left,) = (alma.get(rule) for rule in rules_of(alma))
    assert SECRET not in str(left)
    assert SECRET not in alma.retrieve("Deploy auth", "v", task_type="deployment").to_prompt()
