"""Clones of a memory that each learned something are merged by their exports: in any order, into any of them, and as often as one likes."""

import io
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA
from facade import ManualClock, NewPlace, Place, content, exported
from learned import counts, heuristics

TASKS = ("Deploy the shop", "Deploy the blog", "Translate the manual", "deploy the shop!")
WAYS = ("blue-green", "rolling update", "by hand", "Blue-green")
VERDICTS = ("success", "failure", "partial", "unverified")


class Learned(NamedTuple):
    """Something that a memory learns."""

    agent: str
    task: str
    task_type: str | None
    way: str
    verdict: str
    user: str | None


EVENTS = st.builds(
    Learned,
    st.sampled_from(["ann", "bob"]),
    st.sampled_from(TASKS),
    st.sampled_from([None, "Deploying"]),
    st.sampled_from(WAYS),
    st.sampled_from(VERDICTS),
    st.sampled_from([None, None, "u1", "u2"]),
)
HISTORIES = st.lists(EVENTS, max_size=14)


class Clones:
    """Projects of one store, each as empty as a store of its own."""

    def __init__(self, place: Place) -> None:
        self.clock, self.numbers = ManualClock(), itertools.count()
        self.store = place.open(embedding_dim=16, clock=self.clock)

    def empty(self) -> ALMA:
        return self.store.for_project(f"clone {next(self.numbers)}")

    def learned(self, alma: ALMA, history: Sequence[Learned]) -> None:
        for one in history:
            self.clock.advance(minutes=7)
            alma.learn(
                one.agent,
                one.task,
                one.verdict,
                one.way,
                task_type=one.task_type,
                user_id=one.user,
                error_message=f"{one.way} broke",
            )
        if history:
            alma.add_domain_knowledge("ann", "shop", f"{history[0].task} takes {len(history)} minutes")
            alma.add_user_preference("u1", "style", f"{len(history)} lines at most")

    def clone(self, file: bytes, history: Sequence[Learned]) -> ALMA:
        """A clone that learned this on its own."""
        alma = self.merged([file])
        self.learned(alma, history)
        return alma

    def merged(self, files: Sequence[bytes]) -> ALMA:
        alma = self.empty()
        for file in files:
            alma.import_from(io.BytesIO(file), on_conflict="skip")
        return alma


def check(clones: Clones, shared: Sequence[Learned], own: Sequence[Sequence[Learned]]) -> None:
    """Merges clones in each order into an empty memory and into each of them, also twice, and compares what each holds."""
    base = clones.empty()
    clones.learned(base, shared)
    file = exported(base)
    made = [clones.clone(file, history) for history in own]
    files = [exported(clone) for clone in made]
    first = clones.merged(files)
    wanted = content(first)
    for order in itertools.permutations(files):
        assert content(clones.merged(order)) == wanted
    for alma in (first, *made):
        for each in files:
            alma.import_from(io.BytesIO(each), on_conflict="skip")
        assert content(alma) == wanted
    assert len({alma.content_hash() for alma in (first, *made)}) == 1
    assert clones.store.verify().ok  # of all projects


@pytest.fixture
def clones(new_place: NewPlace) -> Iterator[Clones]:
    made = Clones(new_place())
    with made.store:
        yield made


def outcome(verdict: str, way: str = "by hand", task: str = TASKS[0]) -> Learned:
    return Learned("ann", task, None, way, verdict, None)


@pytest.mark.parametrize(
    ("shared", "own"),
    [
        ([], [[outcome("success")] * 4, [outcome("success")] * 5]),
        ([], [[outcome("success")] * 4, [outcome("failure")] * 9]),
        ([outcome("success")] * 3, [[outcome("failure")] * 6, [outcome("success")]]),
        ([outcome("failure")], [[outcome("failure")], [outcome("failure")] * 2, [outcome("success", "rolling update")] * 4]),
    ],
    ids=["two rules of one way", "opposite rules", "a rule that falls", "a rule of three"],
)
def test_clones_that_formed_rules_are_merged_to_the_same(
    clones: Clones, shared: Sequence[Learned], own: Sequence[Sequence[Learned]]
) -> None:
    check(clones, shared, own)


def test_what_clones_have_in_common_counts_once(clones: Clones) -> None:
    base = clones.empty()
    clones.learned(base, [outcome("success")] * 3)
    own = [outcome("success")] * 4, [outcome("failure")]
    merged = clones.merged([exported(clones.clone(exported(base), history)) for history in own])
    assert counts(merged, "ann") == {"by hand": (7, 8)}
    assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(merged)] == [(7, 8)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 3])
@settings(deadline=None, max_examples=8)
@given(data=st.data())
def test_clones_are_merged_to_the_same_in_any_order(new_place: NewPlace, number: int, data: st.DataObject) -> None:
    shared, own = data.draw(HISTORIES), data.draw(st.lists(HISTORIES, min_size=number, max_size=number))
    clones = Clones(new_place())  # of its own: `verify` reads the whole store
    with clones.store:
        check(clones, shared, own)
