"""The task in whatever an agent or a chain is given."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from alma import ALMA
from alma_langchain import ALMACallbackHandler, ALMAMiddleware
from alma_langchain.reading import last_human_text
from scripted import only_run, scripted

BLOCKS = [
    {"type": "text", "text": "Deploy "},
    {"type": "image_url", "image_url": {"url": "data:x"}},
    {"type": "text", "text": "it"},
]


@pytest.mark.parametrize(
    "given",
    [
        "Deploy it",
        HumanMessage("Deploy it"),
        {"messages": "Deploy it"},
        {"messages": HumanMessage("Deploy it")},
        {"messages": {"role": "user", "content": "Deploy it"}},
        {"messages": ("user", "Deploy it")},
        {"messages": ["Deploy it"]},
        {"messages": [HumanMessage("Deploy it"), AIMessage("How?")]},
        {"messages": [{"role": "user", "content": BLOCKS}]},
        {"messages": [{"type": "human", "content": BLOCKS}]},
        {"messages": [("human", BLOCKS)]},
        {"messages": [HumanMessage(BLOCKS)]},
        {"input": "Deploy it", "tone": "kind"},
        {"anything": "Deploy it"},
    ],
    ids=str,
)
def test_a_task_is_read_however_it_is_written(given: Any) -> None:
    assert last_human_text(given) == "Deploy it"


@pytest.mark.parametrize(
    "given",
    [None, 7, "", {}, {"messages": []}, {"messages": AIMessage("Hi")}, {"messages": [("ai", "Hi")]}, {"a": "x", "b": "y"}],
)
def test_where_nobody_asks_there_is_no_task(given: Any) -> None:
    assert last_human_text(given) is None


@pytest.mark.parametrize("messages", ["Deploy it", HumanMessage("Deploy it")], ids=["a text", "a message"])
def test_an_agent_is_followed_by_a_handler_that_sees_the_input_as_it_was_given(alma: ALMA, messages: Any) -> None:
    agent = create_agent(scripted("Done."), [], middleware=[ALMAMiddleware(alma, agent="other")])
    agent.invoke({"messages": messages}, {"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert [run.task for run in alma.recent_episodes() if run.agent == "dev"] == ["Deploy it"]


def test_a_question_in_blocks_is_a_task_of_its_text(alma: ALMA) -> None:
    handler = ALMACallbackHandler(alma, agent="dev")
    scripted("Done.").pipe(lambda said: said).invoke([HumanMessage(BLOCKS)], {"callbacks": [handler]})
    assert only_run(alma).task == "Deploy it"
