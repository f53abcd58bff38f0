"""Agent and task given by their places, in the wrong order: refused, and nothing is stored. What is named is taken as it is."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from alma import ALMA, AsyncALMA, ValidationError
from facade import OpenStore, held, refused

AGENTS = ["helena", "backend-dev", "qa_lead", "Victor", "claude-3", "Senior Research Analyst", "エージェント"]
SENTENCES = ["Deploy auth service", "Test the login form validation", "fix bug #12", "Summarise the report of 2025-03-01"]
WORDS = ["deploy", "Refactor", "test-login", "部署服务", "summarise"]
TASKS = [*SENTENCES, *WORDS]

CALLS: dict[str, tuple[str, Callable[[ALMA, str, str], object]]] = {
    "learn": ("task", lambda alma, agent, task: alma.learn(agent, task, "success")),
    "episode": ("task", lambda alma, agent, task: alma.episode(agent, task).abandon()),
    "check": ("action", lambda alma, agent, task: alma.check(agent, task)),
    "retrieve": ("task", lambda alma, agent, task: alma.retrieve(task, agent)),
    "strategies": ("task", lambda alma, agent, task: alma.strategies(task, agent)),
    "assess": ("context", lambda alma, agent, task: alma.assess("blue-green", task, agent)),
    "retrieve_scoped": ("query", lambda alma, agent, task: alma.retrieve_scoped(task, "agent_only", agent)),
    "get_proactive_suggestions": ("current_context", lambda alma, agent, task: alma.get_proactive_suggestions(task, agent)),
    "explain_retrieval": ("query", lambda alma, agent, task: alma.explain_retrieval(task, "m1", agent)),
}
"""Each method that takes an agent and a text which may be taken for one: the text's name, and a call that gives both by their places."""


def _named(alma: ALMA, method: str, agent: str, task: str) -> object:
    rest = {
        "learn": {"outcome": "success"},
        "explain_retrieval": {"memory_id": "m1"},
        "assess": {"strategy": "blue-green"},
        "retrieve_scoped": {"scope": "agent_only"},
    }
    found = getattr(alma, method)(**{"agent": agent, CALLS[method][0]: task, **rest.get(method, {})})
    if method == "episode":
        found.abandon()
    return found


def test_every_method_that_takes_an_agent_and_such_a_text_is_among_these() -> None:
    texts = {"task", "query", "action", "context", "current_context"}
    found = {
        name
        for name, method in inspect.getmembers(ALMA, inspect.isfunction)
        if not name.startswith("_")
        for parameters in [inspect.signature(method).parameters]
        if "agent" in parameters and texts & {name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD}
    }
    assert found == set(CALLS)


@pytest.mark.parametrize("method", CALLS)
def test_a_swapped_call_is_refused_once_the_agent_has_a_memory(alma: ALMA, method: str) -> None:
    alma.learn_many({"agent": agent, "task": "Deploy the service", "outcome": True} for agent in AGENTS)
    for agent, task in product(AGENTS, TASKS):
        with refused(alma, ValidationError, f"agent and {CALLS[method][0]} look swapped"):
            CALLS[method][1](alma, task, agent)
    with refused(alma, ValidationError, "look swapped"):
        CALLS[method][1](alma, "deploy", " HELENA ")


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    "agents",
    [
        {"helena": {"can_learn": []}},
        {"victor": {"share_with": ["helena"]}},
        {"victor": {"inherit_from": ["helena"]}},
    ],
)
def test_a_swapped_call_is_refused_once_the_configuration_names_the_agent(
    open_store: OpenStore, method: str, agents: dict[str, Any]
) -> None:
    alma = open_store(agents=agents)
    for task in TASKS:
        with refused(alma, ValidationError, "'helena' is an agent of project 'shop'"):
            CALLS[method][1](alma, task, "helena")


@pytest.mark.parametrize("method", CALLS)
def test_a_task_in_several_words_is_not_taken_for_a_new_agent_of_a_task_in_one(alma: ALMA, method: str) -> None:
    for task in SENTENCES:
        with refused(alma, ValidationError, "is no known agent, and reads like a"):
            CALLS[method][1](alma, task, "helena")


@pytest.mark.parametrize("method", CALLS)
def test_a_call_in_the_right_order_is_taken_from_a_known_agent(open_store: OpenStore, method: str) -> None:
    alma = open_store(agents={agent: {} for agent in AGENTS})
    for agent, task in product(AGENTS, TASKS):
        found = CALLS[method][1](alma, agent, task)
        assert getattr(found, "agent", agent) == agent


@pytest.mark.parametrize("method", CALLS)
def test_a_call_in_the_right_order_is_taken_from_a_new_agent(alma: ALMA, method: str) -> None:
    for agent, task in [*product(AGENTS, SENTENCES), ("helena", "deploy")]:
        found = CALLS[method][1](alma.for_project(f"{agent}: {task}"), agent, task)
        assert getattr(found, "agent", agent) == agent


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    ("agent", "task"), [("Deploy auth service", "helena"), ("helena", "Deploy auth service"), ("x", "helena")]
)
def test_a_call_that_names_its_arguments_is_taken_as_it_is(alma: ALMA, method: str, agent: str, task: str) -> None:
    alma.learn(agent="helena", task="Deploy the service", outcome="success")
    found = _named(alma, method, agent, task)
    assert getattr(found, "agent", agent) == agent


@pytest.mark.parametrize("task", WORDS)
def test_a_swapped_beginning_that_nothing_could_tell_is_found_out_by_the_first_call_in_the_right_order(
    alma: ALMA, task: str, caplog: pytest.LogCaptureFixture
) -> None:
    alma.learn(task, "helena", "success")  # a new project, and words that may be either
    for method in CALLS:
        with refused(alma, ValidationError, "look swapped"):
            CALLS[method][1](alma, "helena", task)

    with caplog.at_level(logging.WARNING, logger="alma"):
        hint = alma.retrieve(task=task, agent="helena").hint
    assert hint == f"no memories of 'helena', but of {task!r}, the task; were agent and task swapped, here or in learn()?"
    assert [record.getMessage() for record in caplog.records] == [hint]


@pytest.mark.parametrize("task", WORDS)
def test_where_neither_is_known_a_reader_has_the_same_memories_to_choose_from_in_either_order(
    open_store: OpenStore, task: str
) -> None:
    alma = open_store(agents={"lead": {"share_with": ["*"]}})
    alma.learn(agent="lead", task=f"{task} as helena does", outcome="success")
    swapped, right = alma.retrieve("helena", task), alma.retrieve(task, "helena")
    assert swapped.ids == right.ids


def test_the_error_says_how_to_call_and_repeats_no_long_text(alma: ALMA) -> None:
    alma.learn(agent="helena", task="Deploy", outcome="success")
    with pytest.raises(ValidationError) as caught:
        alma.retrieve("helena", "Deploy the auth service")
    assert "call retrieve(task='Deploy the auth service', agent='helena')" in str(caught.value)
    with pytest.raises(ValidationError) as caught:
        alma.retrieve("helena", "Deploy " * 20_000)
    assert len(str(caught.value)) < 500


def test_a_swap_is_refused_over_asyncio_too(alma: ALMA) -> None:
    alma.learn(agent="helena", task="Deploy", outcome="success")
    before = held(alma)

    async def swap() -> None:
        mirror = AsyncALMA(alma)
        try:
            with pytest.raises(ValidationError, match="look swapped"):
                await mirror.learn("Deploy the auth service", "helena", "success")
            with pytest.raises(ValidationError, match="look swapped"):
                await mirror.retrieve("helena", "Deploy the auth service")
            with pytest.raises(ValidationError, match="look swapped"):
                await mirror.episode("Deploy the auth service", "helena")
        finally:
            mirror._workers.dismiss()

    asyncio.run(swap())
    assert held(alma) == before
