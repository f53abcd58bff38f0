"""ALMA among other things: threads of many turns, streams, other middleware, agents inside tools, many users at once, a disk that fails."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware, ToolCallRequest, before_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from alma import ALMA, StorageError
from alma_langchain import ALMACallbackHandler, ALMAMiddleware, AsyncALMACallbackHandler, FinishedRun
from alma_langchain.testing import ScriptedChatModel
from scripted import QUESTION, TASK, call, deploy, invoke, prompt_text, runs, scripted, steps
from ways import Way

pytestmark = pytest.mark.any_version

THREAD = {"configurable": {"thread_id": "t1"}}


def judged_by_answer(run: FinishedRun) -> tuple[str, str]:
    return ("success" if "Done" in run.answer else "failure", f"{len(run.messages)} messages")


def test_each_turn_of_a_thread_is_a_run_that_retrieves_afresh_and_is_judged_by_its_own_messages(way: Way, alma: ALMA) -> None:
    way = Way(alma, way.by, way.is_async, evaluator=judged_by_answer)
    kept = InMemorySaver()
    way.invoke(way.agent("I cannot.", checkpointer=kept), **THREAD)
    rule = alma.add_heuristic("dev", "Water the plants", "in the morning")
    agent = way.agent(call("deploy", way="blue-green"), "Done.", checkpointer=kept)
    result = way.invoke(agent, {"messages": [("user", "Water the plants")]}, **THREAD)
    shown = {run.task: [exposure.memory_id for exposure in run.shown] for run in alma.recent_episodes()}
    assert rule.id not in shown[TASK]
    assert (rule.id in shown["Water the plants"]) == way.has_middleware
    found = {run.task: (run.outcome, run.feedback, len(run.steps)) for run in alma.recent_episodes()}
    assert found == {TASK: ("failure", "1 messages", 0), "Water the plants": ("success", "3 messages", 1)}
    assert len(result["messages"]) == 6
    assert "ALMA" not in str(result)
    assert "ALMA" not in str([state.values["messages"] for state in agent.get_state_history(THREAD) if state.values])


def test_a_summary_in_the_middle_of_a_run_does_not_lose_its_messages(alma: ALMA) -> None:
    summary = SummarizationMiddleware(scripted("All went well so far."), trigger=("messages", 3), keep=("messages", 2))
    middleware = ALMAMiddleware(alma, agent="dev", evaluator=judged_by_answer)
    replies = iter([call("deploy", "1", way="blue-green"), call("deploy", "2", way="canary"), AIMessage("Done.")])
    model = ScriptedChatModel(script=lambda messages: next(replies))
    agent = create_agent(model, [deploy], middleware=[middleware, summary])
    assert "All went well so far." in str(invoke(agent))
    assert runs(alma) == [("dev", "success")]
    assert steps(alma) == [('deploy(way="blue-green")', True, None), ('deploy(way="canary")', True, None)]


def test_what_is_kept_in_a_checkpoint_is_plain_and_of_this_run_only(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    strict = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))

    @tool
    def look() -> str:
        """Looks."""
        seen.append(agent.get_state(THREAD).values.get("alma_memory_runs", {}))
        return "seen"

    seen: list[Any] = []
    agent = create_agent(
        scripted(call("look"), "Done."), [look], middleware=[ALMAMiddleware(alma, agent="dev")], checkpointer=strict
    )
    with caplog.at_level(logging.WARNING):
        agent.invoke(QUESTION, THREAD, durability="sync")
        agent.invoke({"messages": [("user", "Water the plants")]}, THREAD, durability="sync")
    assert "msgpack" not in caplog.text.lower()
    assert "deserializ" not in caplog.text.lower()
    assert set(seen[0]["ALMAMiddleware"]) == {"asked", "episode"}
    assert "blue-green" not in str(seen)
    assert seen[0]["ALMAMiddleware"]["episode"] != seen[1]["ALMAMiddleware"]["episode"]
    assert agent.get_state(THREAD).values["alma_memory_runs"] == {"ALMAMiddleware": {}}


def test_two_memories_in_one_agent_learn_each_for_itself(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    alma.add_heuristic("ops", TASK, "by hand")
    model = scripted(call("deploy", way="blue-green"), "Done.")
    pair = [ALMAMiddleware(alma, agent="dev", name="mine"), ALMAMiddleware(alma, agent="ops", name="ours")]
    invoke(create_agent(model, [deploy], middleware=pair))
    assert sorted(runs(alma)) == [("dev", "unverified"), ("ops", "unverified")]
    assert len(steps(alma)) == 2
    assert prompt_text(model.prompts[0]).count("<<< end of ALMA memory") == 2
    assert {record.task for record in alma.recent_episodes()} == {TASK}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("with_handler", [False, True])
def test_an_agent_inside_a_tool_learns_under_its_own_name(alma: ALMA, is_async: bool, with_handler: bool) -> None:
    inner = create_agent(
        scripted(call("deploy", way="blue-green"), "Done."), [deploy], middleware=[ALMAMiddleware(alma, agent="worker")]
    )

    @tool
    def delegate(task: str) -> str:
        """Has another agent do it."""
        return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].text)

    @tool
    async def adelegate(task: str) -> str:
        """Has another agent do it."""
        return str((await inner.ainvoke({"messages": [("user", task)]}))["messages"][-1].text)

    name = "adelegate" if is_async else "delegate"
    outer = create_agent(
        scripted(call(name, task="Roll it out"), "All done."),
        [delegate, adelegate],
        middleware=[ALMAMiddleware(alma, agent="boss")],
    )
    handlers = [ALMACallbackHandler(alma, agent="boss")] if with_handler else []
    invoke(outer, is_async=is_async, config={"callbacks": handlers})
    found = {run.agent: (run.task, [step.action for step in run.steps]) for run in alma.recent_episodes()}
    assert found == {"boss": (TASK, [f'{name}(task="Roll it out")']), "worker": ("Roll it out", ['deploy(way="blue-green")'])}
    assert len(runs(alma)) == 2


def test_an_error_inside_an_agent_inside_a_tool_ends_both(alma: ALMA) -> None:
    inner = create_agent(scripted(call("deploy", way="rolling")), [deploy], middleware=[ALMAMiddleware(alma, agent="worker")])

    @tool
    def delegate(task: str) -> str:
        """Has another agent do it."""
        return str(inner.invoke({"messages": [("user", task)]}))

    outer = create_agent(
        scripted(call("delegate", task="Roll it out")), [delegate], middleware=[ALMAMiddleware(alma, agent="boss")]
    )
    with pytest.raises(RuntimeError, match="ImagePullBackOff"):
        invoke(outer)
    assert sorted(runs(alma)) == [("boss", "failure"), ("worker", "failure")]
    assert len(steps(alma)) == 2


class Repairing(AgentMiddleware):
    """Answers a call that fails, in place of the tool or after it."""

    def __init__(self, *, is_called: bool) -> None:
        self.is_called = is_called

    def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> ToolMessage:
        if self.is_called:
            with suppress(RuntimeError):
                handler(request)
        return ToolMessage("deployed", tool_call_id=request.tool_call["id"])

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Any) -> ToolMessage:
        if self.is_called:
            with suppress(RuntimeError):
                await handler(request)
        return ToolMessage("deployed", tool_call_id=request.tool_call["id"])


@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_in_place_of_a_tool_is_a_step_and_one_after_the_tool_changes_no_step(alma: ALMA, is_async: bool) -> None:
    for is_called in (False, True):
        middleware = [ALMAMiddleware(alma, agent="dev"), Repairing(is_called=is_called)]
        agent = create_agent(scripted(call("deploy", way="rolling"), "Done."), [deploy], middleware=middleware)
        invoke(agent, is_async=is_async)
    assert steps(alma) == [
        ('deploy(way="rolling")', True, None),
        ('deploy(way="rolling")', False, "RuntimeError: ImagePullBackOff"),
    ]
    assert runs(alma) == [("dev", "unverified")] * 2


@pytest.mark.parametrize("is_async", [False, True])
def test_one_middleware_follows_an_agent_and_an_agent_inside_its_tool(alma: ALMA, is_async: bool) -> None:
    learning = ALMAMiddleware(alma, agent="dev")
    inner = create_agent(scripted(call("deploy", way="blue-green"), "Done."), [deploy], middleware=[learning])

    @tool
    def delegate(task: str) -> str:
        """Has another agent do it."""
        return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].text)

    outer = create_agent(scripted(call("delegate", task="Roll it out"), "All done."), [delegate], middleware=[learning])
    invoke(outer, is_async=is_async)
    found = {run.task: [step.action for step in run.steps] for run in alma.recent_episodes()}
    assert found == {TASK: ['delegate(task="Roll it out")'], "Roll it out": ['deploy(way="blue-green")']}
    assert runs(alma) == [("dev", "unverified")] * 2
    assert not learning.errors


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("with_handler", [False, True])
def test_64_runs_at_once_of_4_users_cross_nothing(tmp_path: Path, with_handler: bool, is_async: bool) -> None:
    users = ["ann", "bob", "cid", "dora"]

    def decide(messages: Any) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("As [P1] says: done.")
        return call(
            "note",
            f"{len(messages)}-{messages[-1].id}",
            text=f"{messages[-1].content[0]['text']} for {user_in(prompt_text(messages))}",
        )

    def user_in(text: str) -> str:
        return ",".join(user for user in users if f"the wish of {user}" in text)

    @tool
    def note(text: str) -> str:
        """Notes a text."""
        return text

    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        for user in users:
            alma.add_user_preference(user, "tone", f"the wish of {user}")
        middleware = ALMAMiddleware(alma, agent="dev", on_error="raise", tool_outcome=said_for)
        agent = create_agent(ScriptedChatModel(script=decide), [note], middleware=[middleware])
        given = [(f"job {number}", users[number % 4]) for number in range(64)]
        handler = (AsyncALMACallbackHandler if is_async else ALMACallbackHandler)(alma, agent="dev", on_error="raise")

        def asked(job: tuple[str, str]) -> tuple[Any, Any]:
            config = {"configurable": {"user_id": job[1]}, "callbacks": [handler] if with_handler else []}
            return {"messages": [("user", job[0])]}, config

        def one(job: tuple[str, str]) -> Any:
            return agent.invoke(*asked(job))

        async def all_at_once() -> list[Any]:
            return await asyncio.gather(*(agent.ainvoke(*asked(job)) for job in given))

        if is_async:
            results = asyncio.run(all_at_once())
        else:
            with ThreadPoolExecutor(16) as pool:
                results = list(pool.map(one, given))
        assert [result["messages"][2].text for result in results] == [f"{task} for {user}" for task, user in given]
        records = alma.recent_episodes(1000)
        assert sorted((run.task, run.user_id) for run in records) == sorted(given)
        assert {len(run.steps) for run in records} == {1}
        assert {len(run.used or ()) for run in records} == {1}
        assert middleware.recorder.live == handler.recorder.live == len(handler.tree) == 0


def said_for(name: str, result: Any) -> bool:
    return isinstance(result, ToolMessage)


def broken(*given: Any, **named: Any) -> Any:
    raise StorageError("the disk is full")


@pytest.mark.parametrize(
    "fails",
    ["alma.memory.episodes.lifecycle.begin", "alma.memory.episodes.lifecycle.RoomRecorder._step", "alma.episode.Episode.end"],
)
def test_a_store_that_fails_does_not_change_what_the_agent_answers(
    way: Way, alma: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    agent = way.agent(call("deploy", way="blue-green"), call("deploy", way="blue-green"), "Done.")
    config = {"callbacks": [way.handler] if way.by != "middleware" else []}
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "alma"):
        patch.setattr(fails, broken)
        result = invoke(agent, is_async=way.is_async, config=config)
    assert result["messages"][-1].text == "Done."
    errors = [str(error) for error in [*way.middleware.errors, *way.handler.errors]]
    assert errors == ["the disk is full"]
    assert len([record for record in caplog.records if "the disk is full" in record.message]) == 1
    invoke(agent, is_async=way.is_async, config=config)
    ended = {"begin": [], "_step": [], "end": ["open"]}[fails.rpartition(".")[2]]  # without its first write a run is given up
    assert sorted(outcome for _, outcome in runs(alma)) == [*ended, "unverified"]
    assert way.middleware.recorder.live == way.handler.recorder.live == 0


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("option", ["task_from", "redact", "user_id", "action", "tool_outcome", "strategy", "usage"])
def test_an_option_that_raises_does_not_change_what_the_agent_answers(alma: ALMA, option: str, is_async: bool) -> None:
    def fail(*given: Any) -> Any:
        raise LookupError("no such thing")

    given: Any = {option: fail}
    middleware = ALMAMiddleware(alma, agent="dev", **given)
    handler = (AsyncALMACallbackHandler if is_async else ALMACallbackHandler)(alma, agent="ops", **given)
    agent = create_agent(scripted(call("deploy", way="blue-green"), "Done."), [deploy], middleware=[middleware])
    result = invoke(agent, is_async=is_async, config={"callbacks": [handler]})
    assert result["messages"][-1].text == "Done."
    assert {str(error) for error in [*middleware.errors, *handler.errors]} == {"no such thing"}
    assert {outcome for _, outcome in runs(alma)} <= {"unverified"}
    assert middleware.recorder.live == handler.recorder.live == 0


@pytest.mark.parametrize(
    "fails", ["alma.memory.episodes.lifecycle.begin", "alma.episode.Episode.step", "alma.episode.Episode.end"]
)
def test_a_store_that_fails_stops_the_agent_if_that_is_wanted(alma: ALMA, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    middleware = ALMAMiddleware(alma, agent="dev", on_error="raise")
    agent = create_agent(scripted(call("deploy", way="blue-green"), "Done."), [deploy], middleware=[middleware])
    with monkeypatch.context() as patch:
        patch.setattr(fails, broken)
        with pytest.raises(StorageError, match="the disk is full"):
            invoke(agent)


def test_what_an_evaluator_gives_is_awaited_also_where_a_loop_is_running_and_nothing_can_be(alma: ALMA) -> None:
    class Judge:
        async def __call__(self, run: FinishedRun) -> tuple[str, str]:
            await asyncio.sleep(0)
            return "partial", "half of it"

    agent = create_agent(scripted("Done."), [], middleware=[ALMAMiddleware(alma, agent="dev", evaluator=Judge())])

    async def in_a_notebook() -> None:
        agent.invoke(QUESTION)
        await agent.ainvoke(QUESTION)

    asyncio.run(in_a_notebook())
    assert [(run.outcome, run.feedback) for run in alma.recent_episodes()] == [("partial", "half of it")] * 2


def test_a_run_that_another_middleware_ends_before_it_began_is_not_recorded(alma: ALMA) -> None:
    @before_agent(can_jump_to=["end"])
    def refuse(state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": "end", "messages": [AIMessage("No.")]}

    middleware = ALMAMiddleware(alma, agent="dev")
    invoke(create_agent(scripted("Done."), [], middleware=[refuse, middleware]))
    assert runs(alma) == []
    invoke(create_agent(scripted("Done."), [], middleware=[middleware, refuse]))  # no model was asked, so there is no task
    assert runs(alma) == []
    assert not middleware.errors


@pytest.mark.parametrize("way_by", ["middleware", "handler", "both"])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "fails", ["alma.memory.episodes.lifecycle.begin", "alma.episode.Episode.step", "alma.episode.Episode.end"]
)
def test_an_error_of_alma_never_takes_the_place_of_the_agents_own(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, way_by: str, is_async: bool, fails: str
) -> None:
    way = Way(alma, way_by, is_async, on_error="raise")
    problem = RuntimeError("no route to the cluster")

    @tool
    def rollout() -> str:
        """Rolls out."""
        raise problem

    agent = way.agent(call("rollout"), tools=[rollout])
    config = {"callbacks": [way.handler] if way_by != "middleware" else []}
    begins = fails.endswith("begin") and way.has_middleware  # no tool is reached then
    with monkeypatch.context() as patch:
        patch.setattr(fails, broken)
        with pytest.raises(StorageError if begins else RuntimeError) as caught:
            invoke(agent, is_async=is_async, config=config)
    if not begins:
        assert caught.value is problem
        assert "ALMA did not record this: StorageError: the disk is full" in problem.__notes__
    assert "the disk is full" in caplog.text
    assert "goes on" not in caplog.text
