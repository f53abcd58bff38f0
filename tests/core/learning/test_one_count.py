"""One count: for one way and one task, every surface states the same whole numbers."""

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.types import AntiPattern, Heuristic
from alma.types.strategies import StrategyRecord
from facade import ManualClock, NewPlace

TASKS = ("Deploy the auth service", "Deploy the billing service", "Refund a broken parcel", "deploy the auth service!")
WAYS = ("blue-green", "Blue green!", "rolling update", "call the carrier", "canary release")
VERDICTS = ("success", "success", "failure", "failure", "partial", "unverified")
NUMBERS = count()
RECORD = re.compile(r"(worked|failed) (\d+) of (\d+)(?: times?)?")


class Told(NamedTuple):
    """An attempt, or a step of one."""

    agent: str
    task: str
    way: str
    verdict: str
    task_type: str | None
    user: str | None
    is_step: bool


TOLD = st.builds(
    Told,
    st.sampled_from(["dev", "dev", "ops"]),
    st.sampled_from(TASKS),
    st.sampled_from(WAYS),
    st.sampled_from(VERDICTS),
    st.sampled_from([None, None, "ops"]),
    st.sampled_from([None, None, "ann"]),
    st.sampled_from([False, False, False, True]),
)


@pytest.fixture(scope="module")
def store(new_place: NewPlace) -> Iterator[tuple[ALMA, ManualClock]]:
    """A store in which each example takes a project of its own."""
    clock = ManualClock()
    agents = {"ops": {"share_with": ["dev"]}}
    with new_place().open(project_id="first", agents=agents, clock=clock) as alma:
        yield alma, clock


def learn(alma: ALMA, told: Told) -> None:
    """Records an attempt, or a step that failed or worked in an attempt that nobody judged."""
    error = "it broke" if told.verdict == "failure" else None
    if not told.is_step:
        given = {"task_type": told.task_type, "user_id": told.user, "error_message": error}
        alma.learn(told.agent, told.task, told.verdict, told.way, **given)
        return
    with alma.episode(told.agent, told.task, user_id=told.user, task_type=told.task_type) as episode:
        episode.step(told.way, ok=told.verdict != "failure", error=error)
        episode.end("unverified")


def stated(line: str) -> tuple[int, int] | None:
    """The successes and the trials that a line states, if it says nothing of parts; else `None`."""
    found = RECORD.search(line)
    if found is None or "in part" in line:
        return None
    what, number, of = found.group(1), int(found.group(2)), int(found.group(3))
    return (number, of) if what == "worked" else (of - number, of)


def whole(record: StrategyRecord) -> tuple[int, int, int, int]:
    return record.successes, record.partials, record.trials, record.tasks


def of_rule(rule: Heuristic | AntiPattern) -> tuple[int, int, int, int]:
    """The whole counts of a rule. An anti-pattern counts its failures."""
    partials = rule.metadata["partials"]
    trials = rule.occurrence_count
    if isinstance(rule, AntiPattern):
        trials += rule.success_count + partials
    return rule.success_count, partials, trials, rule.metadata["tasks"]


def check_numbers(alma: ALMA, task: str, agent: str, user: str | None, task_type: str | None) -> None:
    """Compares all surfaces for one question."""
    asked = {"user_id": user, "task_type": task_type}
    rows = alma.strategies(task, agent, include_steps=True, limit=100, **asked).rows
    attempts = [row for row in rows if not row.is_of_steps]
    found = alma.retrieve(task, agent, top_k=50, **asked)
    by_id = {row.id: row for row in rows}
    assert bool(found.strategies) == any(row.trials for row in rows if not row.is_of_steps or row.rule != "tried")
    lines = {line[1:].partition("]")[0]: line for line in found.to_prompt(100_000).splitlines() if line.startswith("[")}
    for shown in found.strategies:
        assert whole(shown) == whole(by_id[shown.id])
        assert shown.outcome_ids == by_id[shown.id].outcome_ids
        assert stated(lines[shown.tag or ""]) in (None, (shown.successes, shown.trials))
    for rule in (*found.heuristics, *found.anti_patterns):
        assert of_rule(rule) == whole(by_id[rule.id])
        if agent == "ops" and user is None:  # who reads what is its own alone reads of a rule what is listed of it
            listed = alma.get(rule.id)
            assert isinstance(listed, Heuristic | AntiPattern)
            assert of_rule(listed) == of_rule(rule)
    for row in attempts:
        known = alma.assess(row.strategy, task, agent, **asked)
        assert (known.successes, known.trials) == (row.successes, row.trials)
        assert (known.verdict == "unknown") == (not row.trials and not row.unverified)
        assert [whole(one) for one in known.records] == [whole(row)]
        assert stated(row.summary) in (None, (row.successes, row.trials))
    for row in rows:
        warned = [one for one in alma.check(agent, row.strategy, task=task, **asked).warnings if one.record is not None]
        same = [one for one in warned if one.record and one.record.is_of_steps == row.is_of_steps]
        assert bool(same) == (row.rule == "fails")
        for one in same:
            assert one.record is not None
            assert whole(one.record) == of_rule(one.anti_pattern) == whole(row)
            assert stated(one.summary) in (None, (row.successes, row.trials))


def check_rules(alma: ALMA, agent: str) -> None:
    """Compares the rules that are listed, got one by one, in the overview of all tasks and in the wake-up text."""
    rules = [*alma.list_memories("heuristic", agent, limit=1_000), *alma.list_memories("anti_pattern", agent, limit=1_000)]
    awake = alma.wakeup(agent, None, 100_000)
    for rule in rules:
        assert isinstance(rule, Heuristic | AntiPattern)
        assert alma.get(rule.id) == rule
        assert len(alma.outcomes_behind(rule.id, limit=1_000)) >= of_rule(rule)[2]
        if (
            rule.user_id is None and agent == "ops"
        ):  # what is listed is an agent's own; `dev` wakes up with what `ops` shares, too
            line = next(line for line in awake.splitlines() if rule.text.splitlines()[0] in line or _words(rule) in line)
            assert stated(line) in (None, (rule.success_count, of_rule(rule)[2]))


def _words(rule: Heuristic | AntiPattern) -> str:
    return rule.strategy if isinstance(rule, Heuristic) else rule.pattern


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(history=st.lists(TOLD, min_size=2, max_size=30), task=st.sampled_from(TASKS), task_type=st.sampled_from([None, "ops"]))
def test_every_surface_states_the_same_whole_numbers(
    store: tuple[ALMA, ManualClock], history: list[Told], task: str, task_type: str | None
) -> None:
    alma, clock = store[0].for_project(f"world {next(NUMBERS)}"), store[1]
    for one in history:
        learn(alma, one)
        clock.advance(minutes=7)
    for agent in ("dev", "ops"):
        for user in (None, "ann"):
            check_numbers(alma, task, agent, user, task_type)
        check_rules(alma, agent)
