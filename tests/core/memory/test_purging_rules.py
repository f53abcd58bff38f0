"""What was learned from a purged outcome goes with it, and so do its words in records of rules."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.types.rules import RULE
from facade import ManualClock, NewPlace, OpenStore
from purged import SECRET, traces, vector_of

ERROR = "Quokka: the cage is open"
NUMBERS = count()


def rules_of(alma: ALMA) -> list[str]:
    return [memory.id for kind in ("heuristic", "anti_pattern") for memory in alma.list_memories(kind)]


def records_of(alma: ALMA) -> dict[str, dict[str, Any]]:
    return {key: body for key, _, body in alma._room.project.records(RULE)}


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
    said = [change for entry in alma._room.project.entries() for change in entry.changes if change.table == "record"]
    assert SECRET not in str(said)
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
    assert SECRET not in str([entry.changes for entry in alma._room.project.entries()])


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
def test_whatever_is_learned_undone_and_purged_no_record_names_what_is_purged(
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
            alma.undo(number % (alma._room.project.head() + 1))
        elif what == "forget" and learned:
            alma.forget(memory_ids=[learned[number % len(learned)]])
        elif what == "rate" and (rules := rules_of(alma)):
            alma.record_feedback(rules[number % len(rules)], signal="thumbs_up", agent="ann")
        assert not purged & {anchor for body in records_of(alma).values() for anchor in body["anchors"]}
    if learned:
        alma.purge(learned)
    assert (rules_of(alma), records_of(alma)) == ([], {})
    alma.undo(0)
    assert (rules_of(alma), records_of(alma)) == ([], {})
    assert alma.verify().problems == ()
