"""LangChain's callbacks, translated into the runs that go on."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook

from alma_langchain.attempt import Attempt
from alma_langchain.reading import said_by_model
from alma_langchain.runs import Runs, Work

OWN_TOOLS = "alma"
"""The tag of ALMA's own tools, whose calls are no steps of the agent's work."""

RUNS = Runs()
"""The runs of this process. LangChain keeps its hooks by process, too, and run ids are unique in the world."""

_hooked = threading.Lock()
_is_hooked = False


class RunListener(BaseCallbackHandler):
    """A handler that tells of runs. Where there is one, the watch is not needed."""


class RunEvents(RunListener):
    """Tells `runs` what LangChain tells, and does at once what is to be written. All that it tells is told once, however many of these listen."""

    raise_error = True  # errors of ALMA are contained elsewhere; one that comes through is meant to

    runs = RUNS

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        begin_chain(self.runs, inputs, run_id, parent_run_id, kwargs.get("name"))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        do(self.runs.ended(run_id, outputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        do(self.runs.failed(run_id, error))

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        begin_tool(self.runs, serialized, run_id, parent_run_id, kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        do(self.runs.tool_ended(run_id, output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        do(self.runs.tool_failed(run_id, error))

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        look_for_notes(self.runs, (str(message.text) for batch in messages for message in batch), parent_run_id)

    def on_llm_start(
        self, serialized: Any, prompts: list[str], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        look_for_notes(self.runs, prompts, parent_run_id)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        read_citations(self.runs, response, parent_run_id)


class _ByColour:
    """A method that is a coroutine function where a loop is running, so that what it writes is awaited there, and a plain one elsewhere."""

    def __init__(self, plain: Callable[..., None], awaited: Callable[..., Awaitable[None]]) -> None:
        self._plain, self._awaited = plain, awaited

    def __get__(self, instance: object, owner: type) -> Any:
        return partial(self._awaited, instance) if _has_loop() else partial(self._plain, instance)


class _Watch(RunEvents):
    """Listens to all runs of the process, for the endings that no hook and no memory sees: an error, a limit, a cancellation, an interrupt."""

    run_inline = True  # what it does of most events is to look into a table

    async def _chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        await done(self.runs.ended(run_id, outputs))

    async def _chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        await done(self.runs.failed(run_id, error))

    async def _tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        await done(self.runs.tool_ended(run_id, output))

    async def _tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        await done(self.runs.tool_failed(run_id, error))

    on_chain_end: Any = _ByColour(RunEvents.on_chain_end, _chain_end)
    on_chain_error: Any = _ByColour(RunEvents.on_chain_error, _chain_error)
    on_tool_end: Any = _ByColour(RunEvents.on_tool_end, _tool_end)
    on_tool_error: Any = _ByColour(RunEvents.on_tool_error, _tool_error)


_WATCH: ContextVar[Any] = ContextVar("alma_watch", default=_Watch())  # noqa: B039 - one for the process is meant


def watch() -> None:
    """Has all runs watched from now on, in every thread and task. LangChain asks the variable, and its default is the same everywhere."""
    global _is_hooked
    with _hooked:
        if not _is_hooked:
            register_configure_hook(_WATCH, inheritable=True, handle_class=RunListener)
            _is_hooked = True


def do(work: Sequence[Work]) -> None:
    """Does all of it, whatever becomes of the first; the last error is raised."""
    problem: Exception | None = None
    for each in work:
        try:
            each()
        except Exception as error:  # noqa: BLE001 - raised below
            problem = error
    if problem is not None:
        raise problem


async def done(work: Sequence[Work]) -> None:
    """As `do`, in another thread; also to its end if nobody waits for it any more."""
    if work:
        await asyncio.shield(asyncio.to_thread(do, work))


def begin_chain(runs: Runs, inputs: Any, run_id: UUID, parent: UUID | None, name: str | None) -> None:
    """A chain began. It is the attempt that its inputs carry, unless a chain further out is."""
    runs.started(run_id, parent, name or "")
    for attempt in carried(inputs):
        if not attempt.is_listened_to:
            runs.follow(run_id, attempt)


def begin_tool(runs: Runs, serialized: Any, run_id: UUID, parent: UUID | None, told: Mapping[str, Any]) -> None:
    """A tool began, unless it is one of ALMA's own."""
    name = str(told.get("name") or (serialized or {}).get("name") or "tool")
    inputs = told.get("inputs")
    if OWN_TOOLS not in (told.get("tags") or ()):
        runs.tool_started(run_id, parent, name, inputs if isinstance(inputs, Mapping) else {}, told.get("tool_call_id"))


def look_for_notes(runs: Runs, asked: Iterable[str], parent: UUID | None) -> None:
    """Sees whether the notes reach a model: a prompt may not name them, or middleware further in may have written it anew."""
    attempts = [attempt for attempt in runs.followed(parent) if attempt.notes and not attempt.is_told]
    texts = list(asked) if attempts else []
    for attempt in attempts:
        attempt.is_told = any(attempt.notes in text for text in texts)


def read_citations(runs: Runs, response: LLMResult, parent: UUID | None) -> None:
    """Finds citations in what a model said, where no hook does."""
    attempts = [attempt for attempt in runs.followed(parent) if not attempt.has_hooks]
    if attempts:
        said = "\n".join(_said(generation) for batch in response.generations for generation in batch)
        for attempt in attempts:
            attempt.observe(said)


def carried(inputs: Any) -> list[Attempt]:
    """The attempts that come with the inputs of a chain: memory puts them there."""
    values = inputs.values() if isinstance(inputs, Mapping) else ()
    found = [getattr(value, "alma_attempt", None) for value in values]
    return [attempt for attempt in found if isinstance(attempt, Attempt)]


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _said(generation: Any) -> str:
    message = getattr(generation, "message", None)
    return said_by_model([message]) if isinstance(message, BaseMessage) else str(getattr(generation, "text", ""))
