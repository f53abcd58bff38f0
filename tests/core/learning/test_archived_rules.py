"""A rule that a person archived or purged never comes back, under its id or another, whatever is learned, purged, exported or merged later."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.types import AntiPattern, Heuristic, Outcome
from facade import ManualClock, NewPlace, OpenStore
from learned import anti_patterns, heuristics

TASK = "Deploy the auth service"
WAYS = {"blue-green": ("blue-green", "Blue green!"), "by ftp": ("by ftp", "By FTP"), "canary": ("canary", "the canary")}
NUMBERS = count()

Gone = tuple[str, str, str]
"""Agent, kind of rule and way of a rule that was archived."""


def told(shop: ALMA, clock: ManualClock, outcome: bool, times: int) -> None:
    for _ in range(times):
        clock.advance(hours=1)
        shop.learn(agent="dev", task="Deploy it", task_type="deploy", outcome=outcome, strategy_used="canary")


def test_a_rule_goes_with_its_failures_and_comes_back_with_its_successes(open_store: OpenStore, clock: ManualClock) -> None:
    shop = open_store()
    told(shop, clock, True, 5)
    (rule,) = heuristics(shop)
    told(shop, clock, False, 6)
    gone = heuristics(shop)
    told(shop, clock, True, 12)
    assert (gone, [one.id for one in heuristics(shop)]) == ([], [rule.id])


@pytest.mark.parametrize("how", ["forget", "purge"])
def test_a_heuristic_that_a_person_removed_stays_away_through_failures_and_successes(
    open_store: OpenStore, clock: ManualClock, how: str
) -> None:
    shop = open_store()
    told(shop, clock, True, 5)
    (rule,) = heuristics(shop)
    shop.forget(memory_ids=[rule.id]) if how == "forget" else shop.purge([rule.id])
    told(shop, clock, False, 6)
    told(shop, clock, True, 30)
    assert heuristics(shop) == []
    assert shop.retrieve("Deploy it", "dev").heuristics == []
    assert [(row.rule, row.successes, row.trials) for row in shop.strategies("Deploy it", "dev")] == [("tried", 35, 41)]
    assert shop.verify().ok


def test_undoing_the_archiving_of_a_rule_brings_it_back(alma: ALMA, clock: ManualClock) -> None:
    told(alma, clock, True, 5)
    (rule,) = heuristics(alma)
    head = alma.get_stats().journal_records
    alma.forget(memory_ids=[rule.id])
    assert heuristics(alma) == []

    alma.undo(head)

    assert heuristics(alma) == [rule]


def test_a_rule_that_rested_on_one_user_stays_away_when_another_user_does_the_same(alma: ALMA) -> None:
    for _ in range(4):
        alma.learn("dev", TASK, "success", "canary", user_id="ann")
    (rule,) = heuristics(alma)
    alma.forget(memory_ids=[rule.id])

    alma.learn("dev", TASK, "success", "canary", user_id="bob")

    assert heuristics(alma) == []
    assert alma.retrieve(TASK, "dev", user_id="bob").heuristics == []


def name_of(way: str) -> str:
    return next(name for name, words in WAYS.items() if way in words)


def rules(alma: ALMA) -> dict[Gone, str]:
    """The rules that are listed, by agent, kind and way, with their ids."""
    found = [*heuristics(alma), *anti_patterns(alma)]
    return {(one.agent or "", one.kind, name_of(_words(one))): one.id for one in found}


def _words(rule: Heuristic | AntiPattern) -> str:
    return rule.strategy if isinstance(rule, Heuristic) else rule.pattern


@dataclass
class _Project:
    """A project that things are done to, and the rules that were archived in it."""

    store: ALMA
    clock: ManualClock
    gone: dict[Gone, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.alma = self.empty()

    def empty(self) -> ALMA:
        return self.store.for_project(f"archived {next(NUMBERS)}")

    def learn(self, agent: str, way: str, outcome: str, times: int, user: str | None = None) -> None:
        error = "it broke" if outcome == "failure" else None
        for _ in range(times):
            self.clock.advance(minutes=7)
            self.alma.learn(agent, TASK, outcome, way, error_message=error, user_id=user)

    def archive(self, number: int) -> None:
        found = sorted(rules(self.alma).items())
        if found:
            place, rule_id = found[number % len(found)]
            self.alma.forget(memory_ids=[rule_id])
            self.gone[place] = rule_id

    def purge(self, number: int, times: int) -> None:
        """Purges some outcomes, the oldest ones, on which rules rest, as often as others."""
        for turn in range(times):
            found = self.alma.list_memories("outcome", newest_first=False, limit=1_000)
            if found:
                self.alma.purge([found[(number * turn) % len(found)].id])

        self.gone = {place: rule_id for place, rule_id in self.gone.items() if self.is_known(place)}

    def is_known(self, place: Gone) -> bool:
        """Whether anything is left of a way. Where all is purged, nothing may be kept to know it by."""
        agent, _, name = place
        found = self.alma.list_memories("outcome", agent, limit=1_000)
        return any(isinstance(one, Outcome) and name_of(one.strategy_used) == name for one in found)

    def forget(self, number: int) -> None:
        found = self.alma.list_memories("outcome", limit=1_000)
        if found:
            self.alma.forget(memory_ids=[found[number % len(found)].id])

    def move(self) -> None:
        file = io.BytesIO()
        self.alma.export(file)
        file.seek(0)
        self.alma = self.empty()
        self.alma.import_from(file)

    def merge(self, agent: str, way: str, outcome: str) -> None:
        """Merges what a clone learned meanwhile."""
        here, file, back = self.alma, io.BytesIO(), io.BytesIO()
        here.export(file)
        file.seek(0)
        self.alma = self.empty()
        self.alma.import_from(file)
        self.learn(agent, way, outcome, 4)
        self.alma.export(back)
        back.seek(0)
        here.import_from(back, on_conflict="skip")
        self.alma = here

    def check(self) -> None:
        found = rules(self.alma)
        assert not {*found} & {*self.gone}
        assert not {*found.values()} & {*self.gone.values()}
        for agent, user in (("dev", None), ("dev", "ann"), ("ops", None), ("ops", "bob")):
            seen = self.alma.retrieve(TASK, agent, top_k=50, user_id=user)
            shown = {(one.agent, one.kind, name_of(_words(one))) for one in (*seen.heuristics, *seen.anti_patterns)}
            assert not shown & {*self.gone}


@pytest.fixture(scope="module")
def store(new_place: NewPlace) -> Iterator[tuple[ALMA, ManualClock]]:
    """A store in which each example takes projects of its own; whole after all of them."""
    clock = ManualClock()
    with new_place().open(project_id="first", embedding_dim=16, clock=clock) as alma:
        yield alma, clock
        assert alma.verify().ok


numbers, ways = st.integers(0, 40), st.sampled_from([words for one in WAYS.values() for words in one])
agents, outcomes = st.sampled_from(["dev", "dev", "ops"]), st.sampled_from(["success", "success", "failure", "partial"])
users = st.sampled_from([None, None, "ann", "bob"])
learning = st.tuples(st.just("learn"), agents, ways, outcomes, st.integers(1, 4), users)
steps = st.one_of(
    learning,
    learning,
    learning,
    st.tuples(st.just("archive"), numbers),
    st.tuples(st.just("purge"), numbers, st.integers(1, 6)),
    st.tuples(st.just("forget"), numbers),
    st.tuples(st.just("move")),
    st.tuples(st.just("merge"), agents, ways, outcomes),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # one takes seconds
@given(done=st.lists(steps, min_size=10, max_size=60), user=users)
def test_what_was_archived_comes_back_under_no_id(
    store: tuple[ALMA, ManualClock], done: list[tuple[Any, ...]], user: str | None
) -> None:
    project = _Project(*store)
    project.learn("dev", "blue-green", "success", 4, user)
    project.archive(0)
    for what, *details in done:
        getattr(project, what)(*details)
        project.check()
