"""Handlers on graphs and chains that have no middleware, and a handler driven by hand."""

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from alma import ALMA
from alma_langchain import ALMACallbackHandler, ALMAMiddleware, ALMARetriever, AsyncALMACallbackHandler, FinishedRun
from scripted import QUESTION, TASK, call, deploy, invoke, only_run, runs, scripted, steps

colours = pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])


def graph(*replies: Any) -> Any:
    """A graph as people draw it by hand: a model, its tools, and back."""
    model = scripted(*replies)

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    drawn = StateGraph(MessagesState)
    drawn.add_node("think", think)
    drawn.add_node("tools", ToolNode([deploy]))
    drawn.add_edge(START, "think")
    drawn.add_conditional_edges("think", tools_condition, {"tools": "tools", END: END})
    drawn.add_edge("tools", "think")
    return drawn.compile()


def handler_for(alma: ALMA, is_async: bool, **given: Any) -> Any:
    return (AsyncALMACallbackHandler if is_async else ALMACallbackHandler)(alma, agent="dev", **given)


@colours
def test_a_graph_drawn_by_hand_learns_by_a_handler(alma: ALMA, is_async: bool) -> None:
    def judge(run: FinishedRun) -> bool:
        return run.answer == "Done."

    handler = handler_for(alma, is_async, evaluator=judge)
    invoke(graph(call("deploy", way="blue-green"), "Done."), is_async=is_async, config={"callbacks": [handler]})
    with pytest.raises(RuntimeError, match="ImagePullBackOff"):
        invoke(graph(call("deploy", way="rolling")), is_async=is_async, config={"callbacks": [handler]})
    assert runs(alma) == [("dev", "success"), ("dev", "failure")]
    assert steps(alma) == [
        ('deploy(way="blue-green")', True, None),
        ('deploy(way="rolling")', False, "RuntimeError: ImagePullBackOff"),
    ]
    assert handler.last_run.failures == 1


def test_a_handler_bound_to_a_graph_follows_it_inside_another(alma: ALMA) -> None:
    inner = graph(call("deploy", way="blue-green"), "Done.").with_config(callbacks=[ALMACallbackHandler(alma, agent="dev")])

    def work(state: MessagesState) -> Any:
        return inner.invoke(state)

    outer = StateGraph(MessagesState)
    outer.add_node("work", work)
    outer.add_edge(START, "work")
    invoke(outer.compile())
    assert runs(alma) == [("dev", "unverified")]
    assert steps(alma) == [('deploy(way="blue-green")', True, None)]


def test_an_agent_with_middleware_inside_a_graph_with_a_handler_is_recorded_once(alma: ALMA) -> None:
    worker = create_agent(
        scripted(call("deploy", way="blue-green"), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")]
    )
    outer = StateGraph(MessagesState)
    outer.add_node("work", worker)
    outer.add_edge(START, "work")
    invoke(outer.compile(), config={"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert runs(alma) == [("dev", "unverified")]
    assert steps(alma) == [('deploy(way="blue-green")', True, None)]


def test_a_command_to_a_graph_further_out_ends_the_run_of_the_inner_one_without_a_failure(alma: ALMA) -> None:
    from langchain_core.tools import tool

    @tool
    def hand_over() -> Command[Any]:
        """Hands over to a colleague."""
        return Command(goto="colleague", graph=Command.PARENT, update={"messages": []})

    worker = create_agent(scripted(call("hand_over")), [hand_over], middleware=[ALMAMiddleware(alma, agent="dev")])
    outer = StateGraph(MessagesState)
    outer.add_node("work", worker, destinations=("colleague",))
    outer.add_node("colleague", lambda state: {"messages": []})
    outer.add_edge(START, "work")
    invoke(outer.compile())
    assert runs(alma) == [("dev", "unverified")]
    assert steps(alma) == []  # to hand over is no work


@colours
def test_a_chain_that_looks_things_up_is_a_run(alma: ALMA, is_async: bool) -> None:
    alma.add_domain_knowledge("dev", "deploys", "The auth service is deployed blue-green.")
    retriever = ALMARetriever(alma=alma, agent="dev", k=2)
    prompt = ChatPromptTemplate.from_template("{context}\n{question}")
    chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | scripted("Blue-green.") | StrOutputParser()
    handler = handler_for(alma, is_async)
    assert invoke(chain, "How is the auth service deployed?", is_async=is_async, config={"callbacks": [handler]}) == "Blue-green."
    assert only_run(alma).task == "How is the auth service deployed?"
    assert steps(alma) == []


def test_many_runs_share_one_handler(alma: ALMA) -> None:
    handler = AsyncALMACallbackHandler(alma, agent="dev")
    agent = graph(call("deploy", way="blue-green"), "Done.")

    async def many() -> None:
        asked = [agent.ainvoke({"messages": [("user", f"job {number}")]}, {"callbacks": [handler]}) for number in range(32)]
        await asyncio.gather(*asked)

    asyncio.run(many())
    assert {run.task for run in alma.recent_episodes(1000)} == {f"job {number}" for number in range(32)}
    assert {len(run.steps) for run in alma.recent_episodes(1000)} == {1}
    assert not handler.errors


def test_a_handler_driven_by_hand_does_the_same(alma: ALMA) -> None:
    handler = ALMACallbackHandler(alma, agent="dev")
    root, inner, good, bad = (uuid4() for _ in range(4))
    handler.on_chain_start({}, {"input": TASK}, run_id=root)
    handler.on_chain_start({}, {"input": "something"}, run_id=inner, parent_run_id=root)
    handler.on_tool_start({"name": "look"}, "x", run_id=good, parent_run_id=inner, inputs={"place": 1})
    handler.on_tool_end(ToolMessage("seen", tool_call_id="1"), run_id=good)
    handler.on_tool_end(ToolMessage("seen", tool_call_id="1"), run_id=good)
    handler.on_tool_start({"name": "take"}, "x", run_id=bad, parent_run_id=inner)
    handler.on_tool_error(OSError("gone"), run_id=bad)
    handler.on_chain_end({}, run_id=inner)
    handler.on_chain_error(OSError("gone"), run_id=root)
    handler.on_chain_error(OSError("gone"), run_id=root)
    assert runs(alma) == [("dev", "failure")]
    assert steps(alma) == [("look(place)", True, None), ("take", False, "OSError: gone")]


def test_runs_whose_end_is_never_heard_are_forgotten_at_last(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma_langchain.tree.MOST_RUNS", 3)
    handler = ALMACallbackHandler(alma, agent="dev")
    ids = [uuid4() for _ in range(10)]
    for run_id in ids:
        handler.on_chain_start({}, QUESTION, run_id=run_id)
    assert len(handler.tree) == 3
    for run_id in ids:
        handler.on_chain_end({}, run_id=run_id)
    assert len(handler.tree) == 0
    assert len(runs(alma)) == 3


def test_what_an_interrupt_waits_for_is_found_again_by_its_thread(alma: ALMA) -> None:
    handler = ALMACallbackHandler(alma, agent="dev")
    first, second = uuid4(), uuid4()
    thread = {"thread_id": "t1"}
    handler.on_chain_start({}, QUESTION, run_id=first, metadata=thread)
    step = uuid4()
    handler.on_tool_start({"name": "look"}, "", run_id=step, parent_run_id=first)
    handler.on_tool_end("seen", run_id=step)
    handler.on_interrupt(SimpleNamespace(run_id=first, checkpoint_id="c1"))
    handler.on_chain_end({"messages": []}, run_id=first)
    assert only_run(alma).status == "open"
    handler.on_chain_start({}, None, run_id=second, metadata=thread)
    handler.on_resume(SimpleNamespace(run_id=second, checkpoint_id="c1"))
    handler.on_chain_end({"output": "Done."}, run_id=second)
    assert runs(alma) == [("dev", "unverified")]


class Odd:
    """What has no truth value and answers to nothing, as a frame of numbers or a row whose session is closed."""

    def __bool__(self) -> bool:
        raise ValueError("the truth value is ambiguous")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("the session is closed")


class Refusing:
    def model_dump_json(self) -> str:
        raise ValueError("it cannot be written")


@colours
@pytest.mark.parametrize("what", ["value", "answer"])
def test_what_cannot_be_read_of_an_input_or_an_output_stops_no_chain(alma: ALMA, is_async: bool, what: str) -> None:
    odd = {"value": Odd(), "answer": {"task": TASK, "structured_response": Refusing()}}[what]
    handler = handler_for(alma, is_async)
    chain: Any = RunnableLambda(lambda given: given)
    assert invoke(chain, odd, is_async=is_async, config={"callbacks": [handler]}) is odd
    assert len(handler.tree) == 0


# Streamed sequences: LangChain reports their input when they end.


def sequence(*replies: Any) -> Any:
    return ChatPromptTemplate.from_messages([("human", "{input}")]) | scripted(*replies) | StrOutputParser()


async def astreamed(chain: Any, config: Any) -> list[Any]:
    return [part async for part in chain.astream({"input": TASK}, config)]


def stream(chain: Any, handler: Any, is_async: bool) -> list[Any]:
    config = {"callbacks": [handler]}
    return asyncio.run(astreamed(chain, config)) if is_async else list(chain.stream({"input": TASK}, config))


@colours
def test_a_streamed_sequence_is_recorded(alma: ALMA, is_async: bool) -> None:
    handler = handler_for(alma, is_async, evaluator=lambda run: run.answer == "Done." and run.task == TASK)

    assert "".join(stream(sequence("Done."), handler, is_async)) == "Done."
    assert runs(alma) == [("dev", "success")]
    assert [run.task for run in alma.recent_episodes()] == [TASK]
    assert (handler.errors, len(handler.tree)) == ([], 0)


@colours
def test_a_streamed_sequence_around_an_agent_that_learns_by_itself_is_left_to_it(alma: ALMA, is_async: bool) -> None:
    agent = create_agent(scripted("Done."), [], middleware=[ALMAMiddleware(alma, agent="dev")])
    stream(RunnableLambda(lambda given: QUESTION) | agent, handler_for(alma, is_async), is_async)
    assert runs(alma) == [("dev", "unverified")]


@colours
def test_the_steps_of_a_streamed_sequence_are_recorded(alma: ALMA, is_async: bool) -> None:
    async def adeployed(text: str, config: Any) -> str:
        return await deploy.ainvoke({"way": "blue-green"}, config)

    def deployed(text: str, config: Any) -> str:
        return deploy.invoke({"way": "blue-green"}, config)

    handler = handler_for(alma, is_async, evaluator=lambda run: True)
    stream(sequence("Done.") | RunnableLambda(deployed, adeployed), handler, is_async)

    assert runs(alma) == [("dev", "success")]
    assert steps(alma) == [('deploy(way="blue-green")', True, None)]


@colours
def test_an_error_ends_a_streamed_sequence_as_a_failure(alma: ALMA, is_async: bool) -> None:
    def fail(text: str) -> str:
        raise RuntimeError("the mill stands still")

    with pytest.raises(RuntimeError, match="mill"):
        stream(sequence("Done.") | RunnableLambda(fail), handler_for(alma, is_async), is_async)

    assert runs(alma) == [("dev", "failure")]


@colours
def test_a_streamed_sequence_that_is_given_up_is_no_failure(alma: ALMA, is_async: bool) -> None:
    handler = handler_for(alma, is_async, evaluator=lambda run: False)
    chain = ChatPromptTemplate.from_messages([("human", "{input}")]) | GenericFakeChatModel(messages=iter(["one two three"]))

    async def give_up() -> None:
        async with contextlib.aclosing(chain.astream({"input": TASK}, {"callbacks": [handler]})) as parts:
            async for _ in parts:
                break

    if is_async:
        asyncio.run(give_up())
    else:
        with contextlib.closing(chain.stream({"input": TASK}, {"callbacks": [handler]})) as parts:
            next(parts)
    assert runs(alma) in ([], [("dev", "abandoned")])  # a neutral end that nothing was recorded of is not stored
    assert alma.list_memories() == []


@colours
def test_a_streamed_sequence_without_a_task_warns(alma: ALMA, is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    handler = handler_for(alma, is_async, task_from=lambda given: None)
    stream(sequence("Done."), handler, is_async)

    assert alma.recent_episodes() == []
    assert "task_from=" in caplog.text
