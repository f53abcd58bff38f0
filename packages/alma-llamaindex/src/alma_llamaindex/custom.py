"""Runs of the user's own code: a custom `Workflow`, an async function, or any block of code."""

import asyncio
import inspect
from collections.abc import Callable
from contextvars import Token
from types import TracebackType
from typing import Any, Unpack

from llama_index.core.workflow import StopEvent, Workflow
from workflows.errors import WorkflowCancelledByUser
from workflows.handler import WorkflowHandler

from alma import ALMA
from alma_integration import Identity, OptionArguments, Run, checked_alma, in_event_loop
from alma_llamaindex.attachment import Attachment
from alma_llamaindex.following import Followed
from alma_llamaindex.handler import CUSTOM, RunSpan
from alma_llamaindex.learner import learner_of
from alma_llamaindex.spans import Kind


class alma_run:  # noqa: N801 - it is used as a statement, like `open`
    """Records a block of code as one run: `async with alma_run(alma, "dev", task) as run:`; `with` outside of an event loop.

    `run.notes` has what matters for the task; `run.answer = …` sets the answer. Tools of LlamaIndex that are called inside are its steps,
    and an `ALMAMemory` that is read inside shows its notes. For anything else, it is an `alma.integration.Run`: `run.tool_returned(…)`,
    `run.corrected(…)`. An exception ends it as a failure. The options are those of `alma.integration.Options`.
    """

    def __init__(
        self,
        alma: ALMA,
        agent: Identity,
        task: str,
        *,
        run_id: str | None = None,
        thread_id: str | None = None,
        **options: Unpack[OptionArguments],
    ) -> None:
        self._held = Attachment(checked_alma(alma), agent, options)
        self._followed = Followed(Kind.CUSTOM, str(agent), task, {"thread_id": thread_id}, run_id)
        self._token: Token[RunSpan | None] | None = None
        self.answer = ""

    @property
    def run(self) -> Run:
        return self._followed.lines[self._held.alma].run

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    def __enter__(self) -> "alma_run":
        self.begin().recall()
        self._token = CUSTOM.set(RunSpan("", self._followed))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._token is not None:
            CUSTOM.reset(self._token)
        self._followed.ended(str(self.answer), error)

    def begin(self) -> Run:
        """Begins the run, of which nothing is looked up yet."""
        return self._followed.begin(self._held.integration(learner_of(self._held.alma))).run

    def follow(self, start: Callable[[], WorkflowHandler]) -> WorkflowHandler:
        """Returns the handler that this call starts. The run ends with it."""
        token = CUSTOM.set(RunSpan("", self._followed))
        try:
            handler = start()
        except BaseException as error:
            self._followed.ended("", error)
            raise
        finally:
            CUSTOM.reset(token)
        task = getattr(handler, "_result_task", None) or asyncio.ensure_future(handler.stop_event_result())
        task.add_done_callback(self._finished)  # before whoever awaits the handler goes on
        return handler

    def _finished(self, task: "asyncio.Future[Any]") -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if isinstance(error, WorkflowCancelledByUser):
            error = asyncio.CancelledError()
        stop = task.result() if error is None and not task.cancelled() else None
        self._followed.ended(str(stop.result if type(stop) is StopEvent else stop or ""), error)

    async def __aenter__(self) -> "alma_run":
        await asyncio.to_thread(self.__enter__)
        self._token = CUSTOM.set(RunSpan("", self._followed))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)


def recorded(
    work: Workflow | Callable[..., Any],
    alma: ALMA,
    *,
    agent: Identity,
    task: str | Callable[..., str] | None = None,
    notes: str | None = None,
    **options: Unpack[OptionArguments],
) -> Callable[..., Any]:
    """Returns a function that runs a custom workflow, or calls an async function, as one recorded run.

    It is called as `workflow.run` is, in an event loop, and returns the same handler: to be awaited, streamed or cancelled. That of an async
    function, and of a workflow where no loop is running, returns a coroutine. The task is `task`, a function of the arguments that returns
    one, or else the first text among the arguments. `notes` names the argument that receives the notes: of a workflow, an attribute of its
    start event; they are looked up before it starts, in the thread of the loop.
    """

    def opened(given: tuple[Any, ...], named: dict[str, Any]) -> alma_run:
        asked = task(*given, **named) if callable(task) else task
        if asked is None:
            asked = next((value for value in (*given, *named.values()) if isinstance(value, str)), "")
        return alma_run(alma, agent, asked, **options)

    async def run(*given: Any, **named: Any) -> Any:
        async with opened(given, named) as recording:
            if notes is not None:
                named[notes] = recording.notes
            called = work.run(*given, **named) if isinstance(work, Workflow) else work(*given, **named)
            result = await called if inspect.isawaitable(called) else called
            recording.answer = str(result)
            return result

    def start(*given: Any, **named: Any) -> Any:
        if not in_event_loop():
            return run(*given, **named)
        recording = opened(given, named)
        begun = recording.begin()
        if notes is not None:
            named[notes] = begun.recall()
        return recording.follow(lambda: work.run(*given, **named))  # type: ignore[union-attr]  # it is a workflow

    return start if isinstance(work, Workflow) else run
