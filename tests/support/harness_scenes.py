"""Plays the scenes of the contract with plain functions: around them a harness, or the decorator `remembers`."""

import asyncio
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from alma import ALMA, Context
from alma.harness import Harness, Setting, recorded_tool
from alma.integration import Run
from alma_testing.contracts.integration import Call, HandOver, Played, Scene, Turn

Tools = Mapping[str, Callable[..., Any]]


def play_harness(alma: ALMA, scene: Scene, *, kind: str) -> Played:
    """Runs the scene by a harness. `kind` is that of the agent: "plain", "async", "stream" or "async stream"."""
    prompts: list[str] = []
    cancelling = _Cancelling(is_meant=scene.is_cancelled)
    is_async = kind.startswith("async") or scene.is_async

    def agent(prompt: str, tools: Tools, run: Run) -> str:
        return _finished(_script(scene, prompt, run, prompts), tools)

    async def aagent(prompt: str, tools: Tools, run: Run) -> str:
        return await _afinished(_script(scene, prompt, run, prompts), tools)

    def stream(prompt: str, tools: Tools, run: Run) -> Any:
        yield from _halves(agent(prompt, tools, run))

    async def astream(prompt: str, tools: Tools, run: Run) -> Any:
        for part in _halves(await aagent(prompt, tools, run)):
            yield part

    streaming = kind.endswith("stream")
    function = (astream if streaming else aagent) if is_async else (stream if streaming else agent)
    used = [cancelling.tool(tool) if scene.is_cancelled else _awaitable(tool) if is_async else tool for tool in scene.tools]
    harness = Harness(Setting(name="scenes", tools=used), scene.agent, alma, run=function, **scene.options)
    ids = {"run_id": scene.run_id} if scene.run_id else {}
    context = Context(task=scene.task, user_id=scene.user_id, session_id=scene.thread_id, **ids)

    async def go() -> str:
        if streaming:
            return "".join([part async for part in harness.astream(context)])
        return str((await harness.arun(context)).output)

    def go_here() -> str:
        return "".join(harness.stream(context)) if streaming else str(harness.run(context).output)

    answer, error = _outcome(lambda: asyncio.run(cancelling.around(go())) if is_async else go_here())
    return Played(answer, error, prompts, harness.errors)


def play_function(alma: ALMA, scene: Scene, *, is_async: bool) -> Played:
    """Runs the scene by a decorated function, which records the tools that it calls."""
    prompts: list[str] = []
    cancelling = _Cancelling(is_meant=scene.is_cancelled)
    remembers = alma.remembers(agent=scene.agent, **scene.options)

    def tools_of(run: Run) -> Tools:
        made = [cancelling.tool(tool) if scene.is_cancelled else _awaitable(tool) if is_async else tool for tool in scene.tools]
        return {tool.__name__: recorded_tool(run, tool) for tool in made}

    @remembers
    def solve(task: str, run: Run, notes: str = "", *, user_id: Any, run_id: Any, thread_id: Any) -> str:
        return _finished(_script(scene, f"{notes}\n{task}", run, prompts), tools_of(run))

    @remembers
    async def asolve(task: str, run: Run, notes: str = "", *, user_id: Any, run_id: Any, thread_id: Any) -> str:
        return await _afinished(_script(scene, f"{notes}\n{task}", run, prompts), tools_of(run))

    ids = {"user_id": scene.user_id, "run_id": scene.run_id, "thread_id": scene.thread_id}
    answer, error = _outcome(
        lambda: asyncio.run(cancelling.around(asolve(scene.task, **ids))) if is_async else solve(scene.task, **ids)
    )
    assert solve.learning.flush(10)
    return Played(answer, error, prompts, solve.learning.errors)


def _script(scene: Scene, prompt: str, run: Run, prompts: list[str]) -> Generator[tuple[Call, ...], None, str]:
    """Follows the turns: gives the calls to make, and returns the answer."""
    prompts.append(prompt)
    left: list[Turn] = list(scene.turns)
    while True:
        turn = left.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, HandOver):
            run.hand_over(turn.agent)
            left = list(turn.turns)
        elif isinstance(turn, str):
            run.model_said(turn)
            reason = scene.guardrail(turn) if scene.guardrail else None
            if reason is None:
                return turn
            run.corrected(reason)
        else:
            yield (turn,) if isinstance(turn, Call) else turn


def _finished(script: Generator[tuple[Call, ...], None, str], tools: Tools) -> str:
    """Makes the calls, those of one turn in threads, and returns the answer."""
    with ThreadPoolExecutor(4) as pool:
        while True:
            try:
                calls = next(script)
            except StopIteration as over:
                return str(over.value)
            for made in [pool.submit(tools[call.tool], **call.arguments) for call in calls]:
                made.exception()


async def _afinished(script: Generator[tuple[Call, ...], None, str], tools: Tools) -> str:
    while True:
        try:
            calls = next(script)
        except StopIteration as over:
            return str(over.value)
        await asyncio.gather(*(tools[call.tool](**call.arguments) for call in calls), return_exceptions=True)


class _Cancelling:
    """A tool that does not come back, and the cancellation of what waits for it."""

    def __init__(self, *, is_meant: bool) -> None:
        self._entered = asyncio.Event()
        self._is_meant = is_meant

    def tool(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        async def call(**_: Any) -> None:
            self._entered.set()
            await asyncio.Event().wait()

        return call

    async def around(self, going: Any) -> Any:
        running = asyncio.ensure_future(going)
        if self._is_meant:
            await self._entered.wait()
            running.cancel()
        return await running


def _awaitable(tool: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(tool)
    async def call(**given: Any) -> Any:
        await asyncio.sleep(0)
        return tool(**given)

    return call


def _halves(text: str) -> Sequence[str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _outcome(play: Callable[[], str]) -> tuple[str, BaseException | None]:
    try:
        return play(), None
    except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the scene says which
        return "", raised
