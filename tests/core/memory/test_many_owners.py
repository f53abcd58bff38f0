"""One call that learns for many owners leaves what a call for each of them leaves: outcomes, counts and rules, in the order given."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA
from facade import ManualClock, OpenStore

pytestmark = [pytest.mark.slow, pytest.mark.not_on("file", "postgres", reason="opens stores of its own")]

Item = dict[str, Any]
AGENTS = [f"agent {number}" for number in range(6)]
USERS = [None, None, "ann", "bob"]
OWN = {"id": "", "heuristic_id": None, "anti_pattern_id": None, "outcome_ids": ()}
"""What rows have of their own in each store."""

OUTCOME = {
    "agent": st.sampled_from(AGENTS),
    "task": st.sampled_from(["Deploy the service", "deploy the service!", "Write the tests", "Feed the cat"]),
    "task_type": st.sampled_from([None, "chores"]),
    "strategy_used": st.sampled_from([None, "By hand", "by hand!", "Use a script", "Ask Ann"]),
    "outcome": st.sampled_from(["success", "success", "failure", "partial", "unverified"]),
    "error_message": st.sampled_from([None, "connection refused", "out of memory"]),
}
ITEMS = st.fixed_dictionaries(OUTCOME)
OF_USERS = st.fixed_dictionaries({**OUTCOME, "user_id": st.sampled_from(USERS)})


@contextmanager
def store(folder: Any, known: Sequence[Item]) -> Iterator[ALMA]:
    """A store that knows some outcomes already, opened anew."""
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", clock=ManualClock()) as alma:
        for item in known:
            alma.learn(**item)
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", clock=ManualClock()) as alma:
        yield alma
        assert alma.verify().ok


def left(alma: ALMA) -> dict[str, Any]:
    """What a project holds, without ids and times."""
    rules = [
        (one.kind, one.agent, one.user_id, one.text, one.confidence, one.successes, one.trials, one.metadata)
        for kind in ("heuristic", "anti_pattern")
        for one in alma.list_memories(kind, limit=500)
    ]
    told = [(one.agent, one.task_description, one.outcome) for one in alma.list_memories("outcome", limit=500)]
    seen = [
        row.model_copy(update=OWN)
        for agent in AGENTS
        for user in USERS[1:]
        for row in alma.strategies(agent=agent, user_id=user, limit=500)
    ]
    return {"rules": sorted(rules, key=str), "outcomes": sorted(told), "ways": seen}


def assert_alike(
    make: pytest.TempPathFactory, known: Sequence[Item], items: Sequence[Item], one_by_one: Callable[[ALMA], object]
) -> None:
    with store(make.mktemp("store"), known) as alma:
        before = alma.stats().journal_records
        stored = alma.learn_many(items)
        assert [(one.agent, one.user_id, one.task_description) for one in stored] == [
            (item["agent"], item.get("user_id"), item["task"]) for item in items
        ]
        assert alma.stats().journal_records == before + 1
        at_once = left(alma)
    with store(make.mktemp("store"), known) as alma:
        one_by_one(alma)
        assert left(alma) == at_once


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(st.lists(OF_USERS, max_size=40), st.lists(OF_USERS, min_size=2, max_size=6, unique_by=lambda item: item["agent"]))
def test_one_outcome_of_each_owner(tmp_path_factory: pytest.TempPathFactory, known: list[Item], items: list[Item]) -> None:
    assert_alike(tmp_path_factory, known, items, lambda alma: [alma.learn(**item) for item in items])


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(st.lists(ITEMS, max_size=40), st.lists(ITEMS, min_size=2, max_size=40))
def test_several_outcomes_of_each_agent(tmp_path_factory: pytest.TempPathFactory, known: list[Item], items: list[Item]) -> None:
    by_agent = groupby(sorted(items, key=lambda item: item["agent"]), key=lambda item: item["agent"])
    calls = [list(of_agent) for _, of_agent in by_agent]
    assert_alike(tmp_path_factory, known, items, lambda alma: [alma.learn_many(call) for call in calls])


@pytest.mark.parametrize("embedder", ["hash", "minilm"])
def test_a_batch_counts_and_advises_as_calls_one_by_one_do(open_store: OpenStore, embedder: str) -> None:
    store = open_store(embedding_provider=embedder)
    one, many = store.for_project("one"), store.for_project("many")
    items = [
        {
            "agent": "dev",
            "task": f"Deploy the {('auth', 'mail', 'cart')[number % 3]} service {number}",
            "outcome": number % 4 != 3,
            "strategy_used": ("blue-green", "canary")[number // 3 % 2],
            "task_type": None if number % 3 else "deploy",
        }
        for number in range(18)
    ]

    for item in items:
        one.learn(**item)
    many.learn_many(items)

    for asked in ({}, {"task_type": "deploy"}, {"task": "Deploy the mail service anew"}, {"task": items[4]["task"]}):
        tables = [alma.strategies(agent="dev", **asked) for alma in (one, many)]
        ours, theirs = ([row.model_copy(update=OWN) for row in table] for table in tables)
        assert ours == theirs
        assert ours or "task" in asked
