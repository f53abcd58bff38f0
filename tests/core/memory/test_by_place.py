"""Agent and task are passed by name, or by place in the published order, and no call guesses which is which."""

import logging
from collections.abc import Callable
from itertools import product

import pytest

from alma import ALMA, ScopeViolationError, ValidationError
from facade import refused

AGENTS = ["helena", "qa_lead", "claude-3", "Senior Data Researcher", "エージェント"]
TASKS = ["Deploy auth service", "fix bug #12", "deploy", "helena", "部署服务"]

CALLS: dict[str, Callable[[ALMA, str, str], object]] = {
    "learn": lambda alma, agent, task: alma.learn(agent, task, "success", "blue-green"),
    "episode": lambda alma, agent, task: alma.episode(agent, task).abandon(),
    "check": lambda alma, agent, task: alma.check(agent, task),
    "retrieve": lambda alma, agent, task: alma.retrieve(task, agent),
    "strategies": lambda alma, agent, task: alma.strategies(task, agent),
    "assess": lambda alma, agent, task: alma.assess("blue-green", task, agent),
    "retrieve_scoped": lambda alma, agent, task: alma.retrieve_scoped(task, "agent_only", agent),
    "get_proactive_suggestions": lambda alma, agent, task: alma.get_proactive_suggestions(task, agent),
    "explain_retrieval": lambda alma, agent, task: alma.explain_retrieval(task, "m1", agent),
}
"""Methods that take an agent and a text which may look like an agent, each called by place in the published order."""


@pytest.mark.parametrize("method", CALLS)
def test_a_call_by_place_is_taken_as_it_is_whatever_the_names_look_like(alma: ALMA, method: str) -> None:
    alma.learn(agent="helena", task="Deploy the service", outcome="success")
    for agent, task in product(AGENTS, TASKS):
        found = CALLS[method](alma, agent, task)
        assert getattr(found, "agent", agent) == agent


def test_an_agent_in_several_words_learns_and_reads_by_place(alma: ALMA) -> None:
    learned = alma.learn("Senior Data Researcher", "summarise", "success")
    assert (learned.agent, learned.task_description) == ("Senior Data Researcher", "summarise")
    assert alma.retrieve("summarise", "Senior Data Researcher").ids == [learned.id]


@pytest.mark.parametrize("agent", [None, "", " "])
def test_an_agent_that_is_missing_is_named(alma: ALMA, agent: str) -> None:
    left_out = {"explain_retrieval"} | ({"retrieve_scoped"} if agent is None else set())  # that takes the only agent
    for method in set(CALLS) - left_out:
        with refused(alma, ScopeViolationError, "agent is missing"):
            CALLS[method](alma, agent, "Deploy")
    with refused(alma, ScopeViolationError, "agent is missing"):
        alma.retrieve("Deploy")


def test_a_task_that_is_missing_is_named(alma: ALMA) -> None:
    with refused(alma, ValidationError, "task is empty"):
        alma.learn("helena", " ", "success")
    with refused(alma, ValidationError, "task must be a text, not None"):
        alma.retrieve(agent="helena")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'outcome'"):
        alma.learn("helena", "Deploy")  # type: ignore[call-arg]


def test_a_question_in_the_name_of_its_task_has_a_hint(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    alma.learn("deploy", "helena", "success")  # swapped by mistake
    with caplog.at_level(logging.WARNING, logger="alma"):
        hint = alma.retrieve(task="deploy", agent="helena").hint
    assert hint == "no memories of 'helena', but of 'deploy', the task; were agent and task swapped, here or in learn()?"
    assert [record.getMessage() for record in caplog.records] == [hint]
