"""What ALMA hears: the runs that use it, to their ends, and nothing of any other; and what it leaves in them."""

import asyncio
import logging
import uuid
from typing import Any, TypedDict

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import ToolErrorMiddleware, before_model
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers import context as tracers
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from alma import ALMA, MemoryNotFoundError, ValidationError
from alma.integration import RunReport, RunView
from alma_langchain import ALMACallbackHandler, ALMAMiddleware
from alma_langchain.langsmith import settle_from_feedback
from scripted import QUESTION, TASK, call, deploy, invoke, only_run, prompt_text, runs, scripted, steps

colours = pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])
THREAD: Any = {"configurable": {"thread_id": "1"}}


class Unbound:
    """As a request outside of a request, a detached row, a closed stub."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("working outside of a request")


class Counting(BaseCallbackHandler):
    def __init__(self) -> None:
        self.told = 0

    def on_chain_end(self, *given: Any, **named: Any) -> None:
        self.told += 1


# Isolation.


def test_middleware_registers_nothing_with_langchain_and_chains_without_it_are_not_touched(alma: ALMA) -> None:
    before = list(tracers._configure_hooks)
    invoke(
        create_agent(scripted(call("deploy", way="canary"), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")])
    )
    assert tracers._configure_hooks == before
    assert RunnableLambda(lambda given: "fine").invoke({"request": Unbound()}) == "fine"


def test_a_handler_takes_inputs_that_cannot_be_looked_at(alma: ALMA) -> None:
    handler = ALMACallbackHandler(alma, agent="dev")
    chain = RunnableLambda(lambda given: "fine")
    assert chain.invoke({"request": Unbound(), "input": TASK}, {"callbacks": [handler]}) == "fine"
    assert runs(alma) == [("dev", "unverified")]


@colours
def test_handlers_of_one_run_hear_nothing_of_the_next(alma: ALMA, is_async: bool) -> None:
    agent = create_agent(scripted("Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")])
    mine = Counting()
    invoke(agent, is_async=is_async, config={"callbacks": [mine]})
    told = mine.told
    invoke(agent, is_async=is_async)
    assert mine.told == told > 0
    assert runs(alma) == [("dev", "unverified")] * 2


def test_what_langgraph_keeps_private_is_where_it_is_looked_for(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    learning = ALMAMiddleware(alma, agent="dev")

    @before_model
    def break_off(state: Any, runtime: Any) -> None:
        if len(state["messages"]) > 1:
            raise LookupError("other middleware")

    agent = create_agent(scripted(call("deploy", way="canary"), "Done."), [deploy], middleware=[learning, break_off])
    with pytest.raises(LookupError):
        invoke(agent)
    assert only_run(alma).error == "LookupError: other middleware"
    assert "cannot be heard" not in caplog.text


def test_without_it_runs_are_recorded_and_a_warning_says_what_is_missing(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("alma_langchain.graphs._CALL", "gone")
    agent = create_agent(scripted("Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")])
    for _ in range(2):
        invoke(agent)
    assert runs(alma) == [("dev", "unverified")] * 2
    assert len([text for text in caplog.messages if "cannot be heard" in text]) == 1


def test_what_cannot_be_recorded_is_warned_of_once_with_the_keys_and_the_option(
    alma: ALMA, caplog: pytest.LogCaptureFixture
) -> None:
    class Asked(TypedDict):
        topic: str
        lang: str

    drawn = StateGraph(Asked)
    drawn.add_node("work", lambda state: {"lang": "en"})
    drawn.add_edge(START, "work")
    drawn.add_edge("work", END)
    with caplog.at_level(logging.WARNING, "alma"):
        for _ in range(2):
            handler = ALMACallbackHandler(alma, agent="dev")
            for _ in range(2):
                drawn.compile().invoke({"topic": "deploys", "lang": "de"}, {"callbacks": [handler]})
    assert len(caplog.messages) == 2
    assert all("keys topic, lang" in text and "task_from=" in text for text in caplog.messages)


# Ids, and verdicts that come later.


def test_of_requests_at_once_each_answer_names_its_own_episode(alma: ALMA) -> None:
    reports: list[RunReport] = []
    agent = create_agent(scripted("Done."), [], middleware=[ALMAMiddleware(alma, agent="dev", on_run=reports.append)])

    async def request(number: int) -> tuple[str, str]:
        run_id = uuid.uuid4()
        result = await agent.ainvoke(
            {"messages": [("user", f"job {number}")]}, {"run_id": run_id, "metadata": {"thread_id": "7"}}
        )
        episode = alma.get_episode(result["messages"][-1].response_metadata["alma"]["episode_id"])
        assert (episode.run_id, episode.thread_id) == (str(run_id), "7")
        return f"job {number}", episode.task

    async def all_at_once() -> list[tuple[str, str]]:
        return await asyncio.gather(*map(request, range(32)))

    assert all(asked == recorded for asked, recorded in asyncio.run(all_at_once()))
    assert {report.task for report in reports} == {f"job {number}" for number in range(32)}


@colours
def test_agents_inside_an_agent_are_settled_by_the_id_of_the_outermost_run(alma: ALMA, is_async: bool) -> None:
    inner = create_agent(
        scripted(call("deploy", way="canary"), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="worker")]
    )

    @tool
    async def adelegate(task: str) -> str:
        """Has another agent do it."""
        return str((await inner.ainvoke({"messages": [("user", task)]}))["messages"][-1].text)

    @tool
    def delegate(task: str) -> str:
        """Has another agent do it."""
        return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].text)

    used = adelegate if is_async else delegate
    boss = ALMAMiddleware(alma, agent="boss")
    outer = create_agent(scripted(call(used.name, task="Roll it out"), "Done."), [used], middleware=[boss])
    run_id = uuid.uuid4()
    invoke(outer, is_async=is_async, config={"run_id": run_id})
    alma.settle(run_id=str(run_id), outcome="failure", source="person")
    assert sorted(runs(alma)) == [("boss", "failure"), ("worker", "failure")]


FEEDBACK: list[tuple[dict[str, Any], str, str]] = [
    ({"score": 1, "feedback_source": {"type": "app"}}, "success", "person"),
    ({"score": True, "feedback_source": {"type": "api"}}, "success", "evaluator"),
    ({"score": 0.49, "feedback_source": None}, "failure", "evaluator"),
]


@pytest.mark.parametrize(("said", "outcome", "source"), FEEDBACK)
def test_feedback_from_langsmith_settles_the_run_of_its_trace(alma: ALMA, said: Any, outcome: str, source: str) -> None:
    trace = uuid.uuid4()
    agent = create_agent(
        scripted(call("deploy", way="canary"), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")]
    )
    invoke(agent, config={"run_id": trace})
    (record,) = settle_from_feedback(alma, {"run_id": uuid.uuid4(), "trace_id": trace, "key": "k", "comment": "why", **said})
    assert (record.outcome, record.verdict_source, record.reason or record.feedback) == (outcome, source, "why")


def test_feedback_that_says_nothing_or_is_of_another_run_is_an_error(alma: ALMA) -> None:
    trace = uuid.uuid4()
    invoke(create_agent(scripted("Done."), [], middleware=[ALMAMiddleware(alma, agent="dev")]), config={"run_id": trace})
    with pytest.raises(ValidationError, match="no score"):
        settle_from_feedback(alma, {"trace_id": trace, "key": "k", "score": None})
    with pytest.raises(MemoryNotFoundError, match="no episode of the run"):
        settle_from_feedback(alma, {"trace_id": uuid.uuid4(), "score": 1})


# What is left in the thread.


def test_no_stream_of_the_graph_and_no_checkpoint_shows_the_notes(alma: ALMA) -> None:
    alma.add_user_preference("ann", "health", f"{TASK}: Ann is diabetic")
    model = scripted(call("deploy", way="canary"), "Done.")
    middleware = [ALMAMiddleware(alma, agent="dev", user_id="ann")]
    agent = create_agent(model, [deploy], middleware=middleware, checkpointer=InMemorySaver())
    for mode in ("values", "updates", "debug", "messages", "checkpoints", "tasks"):
        modes: Any = mode
        assert "diabetic" not in str(list(agent.stream(QUESTION, THREAD, stream_mode=modes)))

    async def events() -> list[Any]:
        return [event async for event in agent.astream_events(QUESTION, THREAD, version="v2")]

    told = [event for event in asyncio.run(events()) if "diabetic" in str(event)]
    assert {event["event"] for event in told} <= {"on_chat_model_start", "on_chat_model_end"}  # what the model was asked
    assert "diabetic" not in str(list(agent.get_state_history(THREAD)))
    assert "diabetic" in prompt_text(model.prompts[0])


CITING = "As [H1] says, [H9] done."


@colours
@pytest.mark.parametrize("said", [CITING, AIMessage([{"type": "text", "text": CITING}, "!"])], ids=["text", "blocks"])
@pytest.mark.parametrize("strip_tags", [False, True])
def test_tags_are_left_out_of_the_answer_where_that_is_wanted(alma: ALMA, strip_tags: bool, said: Any, is_async: bool) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    agent = create_agent(scripted(said), [], middleware=[ALMAMiddleware(alma, agent="dev", strip_tags=strip_tags)])
    answer = invoke(agent, is_async=is_async)["messages"][-1].text
    assert ("[H1]" in answer, "[H9]" in answer) == (not strip_tags, True)
    assert [shown.used for shown in only_run(alma).shown] == [True]


def test_a_state_of_the_user_may_have_a_key_of_any_name(alma: ALMA) -> None:
    class Mine(AgentState[Any]):
        alma_runs: list[str]

    agent = create_agent(scripted("Done."), [], middleware=[ALMAMiddleware(alma, agent="dev")], state_schema=Mine)
    result = agent.invoke({**QUESTION, "alma_runs": ["mine"]})
    assert result["alma_runs"] == ["mine"]
    assert runs(alma) == [("dev", "unverified")]


@colours
def test_a_run_that_a_new_question_overtakes_is_abandoned(alma: ALMA, is_async: bool) -> None:
    @tool
    def ask() -> str:
        """Asks a person."""
        return str(interrupt("Now?"))

    model = scripted(call("deploy", way="canary"), lambda messages: call("ask") if "Wait" not in str(messages) else "Done.")
    learning = ALMAMiddleware(alma, agent="dev")
    agent = create_agent(model, [deploy, ask], middleware=[learning], checkpointer=InMemorySaver())
    invoke(agent, is_async=is_async, config=THREAD)
    assert runs(alma) == [("dev", "open")]
    invoke(agent, {"messages": [("user", "Wait")]}, is_async=is_async, config=THREAD)
    assert runs(alma) == [("dev", "abandoned"), ("dev", "unverified")]
    assert not learning.errors


def test_a_run_is_shown_the_same_notes_after_it_waited_though_more_was_learned(alma: ALMA) -> None:
    @tool
    def ask() -> str:
        """Asks a person."""
        return str(interrupt("Now?"))

    alma.add_heuristic("dev", TASK, "by night")
    model = scripted(call("ask"), "As [H1] says.")
    agents = [
        create_agent(model, [ask], middleware=[ALMAMiddleware(alma, agent="dev")], checkpointer=saver)
        for saver in [InMemorySaver()]
        for _ in range(2)
    ]
    agents[0].invoke(QUESTION, THREAD)
    alma.add_heuristic("dev", TASK, "blue-green")
    agents[1].invoke(Command(resume="yes"), THREAD)
    assert "blue-green" not in prompt_text(model.prompts[1])
    assert "[H1] Deploy auth service: by night" in prompt_text(model.prompts[1])
    assert [shown.used for shown in only_run(alma).shown] == [True]


# What evaluators and others see.


class Report(BaseModel):
    pods: int


@tool(return_direct=True)
def count() -> str:
    """Counts."""
    return "three pods"


@colours
def test_structured_answers_and_those_of_tools_are_answers(alma: ALMA, is_async: bool) -> None:
    seen: list[RunView] = []
    learning = ALMAMiddleware(alma, agent="dev", evaluator=seen.append)
    report = create_agent(scripted(call("Report", pods=3)), [deploy], middleware=[learning], response_format=ToolStrategy(Report))
    invoke(report, is_async=is_async)
    invoke(create_agent(scripted(call("count")), [count], middleware=[learning]), is_async=is_async)
    assert [run.answer for run in seen] == ['{"pods":3}', "three pods"]


def test_the_task_is_what_the_model_is_asked_and_the_agent_may_be_what_the_run_calls_so(alma: ALMA) -> None:
    @before_model
    def hide(state: Any, runtime: Any) -> dict[str, Any]:
        last = state["messages"][0]
        return {"messages": [last.model_copy(update={"content": "Write to ***"})]}

    learning = ALMAMiddleware(alma, agent=lambda run: run.find("role"))
    agent = create_agent(scripted("Done."), [], middleware=[learning, hide])
    agent.invoke({"messages": [("user", "Write to ann@corp.com")]}, {"metadata": {"role": "writer"}})
    assert (only_run(alma).agent, only_run(alma).task) == ("writer", "Write to ***")
    agent.invoke({"messages": [("user", "Write to ann@corp.com")]})
    assert len(runs(alma)) == 1  # an agent without a name is an error of ALMA, and the agent goes on
    assert learning.errors


@colours
def test_a_tool_that_reports_an_error_without_raising_failed(alma: ALMA, is_async: bool) -> None:
    @tool
    def look(way: str) -> str:
        """Looks."""
        return "Error: 503 service unavailable"

    tidy = ToolErrorMiddleware(on_error=lambda error, request: str(error))
    agent = create_agent(scripted(call("look", way="x"), "Done."), [look], middleware=[ALMAMiddleware(alma, agent="dev"), tidy])
    invoke(agent, is_async=is_async)
    invoke(
        create_agent(scripted(call("look", way="x"), "Done."), [look]),
        config={"callbacks": [ALMACallbackHandler(alma, agent="dev")]},
    )
    assert [ok for _, ok, _ in steps(alma)] == [False, False]
