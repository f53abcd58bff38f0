"""The task in whatever an agent or a chain is given."""

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

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


class Ticket(TypedDict):
    ticket: Any
    lang: str


@dataclass
class TicketObject:
    ticket: Any
    lang: str


class TicketModel(BaseModel):
    ticket: Any
    lang: str


@pytest.mark.parametrize(
    ("ticket", "task"),
    [
        ("Deploy it", "Deploy it"),
        ("  Deploy it\n", "Deploy it"),
        (HumanMessage("Deploy it"), "Deploy it"),
        ([("user", "Hello"), ("ai", "Yes?"), ("user", "Deploy it")], "Deploy it"),
        ({"title": "Deploy it", "number": 7}, "Deploy it"),
        (4711, "4711"),
    ],
    ids=str,
)
@pytest.mark.parametrize("schema", [Ticket, TicketObject, TicketModel])
def test_the_task_of_a_graph_is_under_a_key(alma: ALMA, schema: Any, ticket: Any, task: str) -> None:
    graph = StateGraph(schema)
    graph.add_node("work", lambda state: {"lang": "en"})
    graph.add_edge(START, "work")
    graph.add_edge("work", END)
    handler = ALMACallbackHandler(alma, agent="dev", task_from="ticket")
    graph.compile().invoke(schema(ticket=ticket, lang="de"), {"callbacks": [handler]})
    assert only_run(alma).task == task


def test_an_agent_reads_its_task_under_a_key_of_its_state(alma: ALMA) -> None:
    class State(AgentState[Any]):
        ticket: str

    middleware = ALMAMiddleware(alma, agent="dev", task_from="ticket")
    agent = create_agent(scripted("Done."), [], middleware=[middleware], state_schema=State)
    agent.invoke({"messages": [("user", "Go on")], "ticket": "Deploy it"})
    assert only_run(alma).task == "Deploy it"


@pytest.mark.parametrize("given", [{"other": "Deploy it"}, {"ticket": None}, {"ticket": " "}, {"ticket": True}, "Deploy it"])
def test_where_the_key_holds_no_text_the_run_is_not_recorded(alma: ALMA, given: Any, caplog: pytest.LogCaptureFixture) -> None:
    handler = ALMACallbackHandler(alma, agent="dev", task_from="ticket")
    chain = RunnableLambda(lambda given: "Done.") | RunnableLambda(lambda said: said)
    chain.invoke(given, {"callbacks": [handler]})
    assert not alma.recent_episodes()
    assert "task_from=" in caplog.text
