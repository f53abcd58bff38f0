"""Plays the scenes of the contract with agents of LangChain, and interrupted ones in a process that ends."""

import asyncio
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ToolErrorMiddleware, hook_config
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from alma import ALMA
from alma_langchain import ALMAMiddleware
from alma_langchain.testing import ScriptedChatModel
from alma_testing.contracts.integration import Call, HandOver, Played, Scene, Turn, repaired

THREAD: dict[str, Any] = {"configurable": {"thread_id": "scene"}}


def play(alma: ALMA, scene: Scene, *, is_async: bool | None = None) -> Played:
    """Runs a scene to its end; in an event loop if the scene says so, or if that is asked for."""
    prompts: list[str] = []
    entered = asyncio.Event()
    memories: list[ALMAMiddleware] = []
    agent = _agent(alma, scene, scene.agent, scene.turns, prompts, memories, entered)
    in_loop = scene.is_async if is_async is None else is_async or scene.is_async
    given = {"messages": [("user", scene.task)]}
    try:
        result = asyncio.run(_awaited(agent, given, scene, entered)) if in_loop else agent.invoke(given, _config(scene))
        answer, error = str(result["messages"][-1].text), None
    except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the scene says which
        answer, error = "", raised
    return Played(answer, error, prompts, [problem for memory in memories for problem in memory.errors])


async def _awaited(agent: Any, given: Any, scene: Scene, entered: asyncio.Event) -> Any:
    running = asyncio.ensure_future(agent.ainvoke(given, _config(scene)))
    if scene.is_cancelled:
        await entered.wait()
        running.cancel()
    return await running


def _config(scene: Scene) -> Any:
    known = {name: value for name in ("user_id", "thread_id") if (value := getattr(scene, name)) is not None}
    return {"metadata": known, **({"run_id": scene.run_id} if scene.run_id else {})}


def _agent(
    alma: ALMA,
    scene: Scene,
    name: str,
    turns: Sequence[Turn],
    prompts: list[str],
    memories: list[ALMAMiddleware],
    entered: asyncio.Event,
) -> Any:
    """An agent that follows the turns. With a hand-off it is a graph of two agents, each with a memory of its own."""
    own, then = _parted(turns)
    memory = ALMAMiddleware(alma, agent=name, **scene.options)
    memories.append(memory)
    tools = [_tool(each, scene, entered) for each in scene.tools]
    shown: list[Any] = [memory, ToolErrorMiddleware(on_error=lambda error, request: f"{type(error).__name__}: {error}")]
    if scene.guardrail is not None:
        shown.append(Guardrail(scene.guardrail))
    if then is None:
        return create_agent(_model(own, prompts), tools, middleware=shown)
    tools.append(_hand_over(then.agent))
    first = create_agent(_model([*own, Call("hand_over")], prompts), tools, middleware=shown)
    graph = StateGraph(MessagesState)
    graph.add_node(name, first, destinations=(then.agent,))
    graph.add_node(then.agent, _agent(alma, scene, then.agent, then.turns, prompts, memories, entered))
    graph.add_edge(START, name)
    return graph.compile()


def _parted(turns: Sequence[Turn]) -> tuple[list[Any], HandOver | None]:
    last = turns[-1]
    return (list(turns[:-1]), last) if isinstance(last, HandOver) else (list(turns), None)


def _hand_over(agent: str) -> Any:
    @tool
    def hand_over(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Gives the run to a colleague."""
        said = ToolMessage(f"{agent} goes on", tool_call_id=tool_call_id)
        return Command(goto=agent, graph=Command.PARENT, update={"messages": [said]})

    return hand_over


def _model(turns: Sequence[Any], prompts: list[str]) -> ScriptedChatModel:
    left = list(turns)

    def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        prompts.append("\n".join(str(message.text) for message in messages))
        turn = left.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, str):
            return AIMessage(turn)
        calls = (turn,) if isinstance(turn, Call) else turn
        return AIMessage(
            "",
            tool_calls=[
                {"name": call.tool, "args": dict(call.arguments), "id": f"{call.tool}-{place}"}
                for place, call in enumerate(calls)
            ],
        )

    return ScriptedChatModel(script=reply)


def _tool(function: Callable[..., Any], scene: Scene, entered: asyncio.Event) -> StructuredTool:
    @wraps(function)
    async def waits(**given: Any) -> Any:
        if scene.is_cancelled:
            entered.set()
            await asyncio.Event().wait()
        found = function(**given)
        return await found if isinstance(found, Awaitable) else found

    if scene.is_cancelled:
        return StructuredTool.from_function(coroutine=waits, name=function.__name__, description=inspect.getdoc(function))
    return StructuredTool.from_function(function, name=function.__name__, description=inspect.getdoc(function) or "A tool.")


class Guardrail(AgentMiddleware[Any, Any, Any]):
    """Sends answers back, as middleware does it: with a message, and a jump to the model."""

    def __init__(self, check: Callable[[str], str | None]) -> None:
        super().__init__()
        self.check = check

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        last = state["messages"][-1]
        complaint = None if last.tool_calls else self.check(str(last.text))
        return {"messages": [HumanMessage(complaint)], "jump_to": "model"} if complaint else None


# A run that waits for a person, in two processes.


def play_interrupted(folder: Path, scene: Scene) -> None:
    """Runs the scene until a person is asked before its second call, in a process that ends, and goes on in this one.

    The other process plays the scene of `repaired`, which cannot be sent to it.
    """
    assert list(scene.turns) == list(repaired().turns)
    kept = folder.with_suffix(".thread")
    command = [sys.executable, __file__, str(folder), str(kept)]
    subprocess.run(command, check=True, timeout=120, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    with ALMA.open(folder, project_id="contract", embedding_provider="hash") as alma:
        saver, _ = _loaded(kept)
        agent = _asking(alma, scene, saver, scene.turns[1:])
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)


def _asking(alma: ALMA, scene: Scene, saver: InMemorySaver, turns: Sequence[Turn]) -> Any:
    """An agent that asks a person before a call by another way than the rolling one."""
    asks = HumanInTheLoopMiddleware(
        interrupt_on={
            "deploy": {"allowed_decisions": ["approve"], "when": lambda request: request.tool_call["args"]["way"] != "rolling"}
        }
    )
    tidy = ToolErrorMiddleware(on_error=lambda error, request: f"{type(error).__name__}: {error}")
    tools = [_tool(each, scene, asyncio.Event()) for each in scene.tools]
    memory = ALMAMiddleware(alma, agent=scene.agent, **scene.options)
    left = [turns[-1]] if len(turns) < len(scene.turns) else turns
    return create_agent(_model(left, []), tools, middleware=[memory, tidy, asks], checkpointer=saver)


def _loaded(kept: Path) -> tuple[InMemorySaver, Any]:
    saver = InMemorySaver()
    storage, writes, blobs = pickle.loads(kept.read_bytes())
    for thread, spaces in storage.items():
        for space, checkpoints in spaces.items():
            saver.storage[thread][space].update(checkpoints)
    saver.writes.update(writes)
    saver.blobs.update(blobs)
    return saver, storage


def _save(saver: InMemorySaver, kept: Path) -> None:
    storage = {thread: {space: dict(found) for space, found in spaces.items()} for thread, spaces in saver.storage.items()}
    kept.write_bytes(pickle.dumps((storage, dict(saver.writes), dict(saver.blobs))))


def _first_half(folder: Path, kept: Path) -> None:
    scene, saver = repaired(), InMemorySaver()
    with ALMA.open(folder, project_id="contract", embedding_provider="hash") as alma:
        agent = _asking(alma, scene, saver, scene.turns)
        result = agent.invoke({"messages": [("user", scene.task)]}, THREAD)
        assert result["__interrupt__"]
        _save(saver, kept)


if __name__ == "__main__":
    _first_half(Path(sys.argv[1]), Path(sys.argv[2]))
