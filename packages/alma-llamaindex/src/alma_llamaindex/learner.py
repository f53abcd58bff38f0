"""`ALMALearner`: watches agent runs and has them written down as episodes."""

import asyncio
import time
from collections.abc import Collection, Iterator
from inspect import BoundArguments
from types import TracebackType
from typing import Any, Self

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined] # it is documented there
from llama_index.core.instrumentation.span import BaseSpan, active_span_id
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from alma import ALMA, MemorySlice
from alma_llamaindex import spans
from alma_llamaindex.recording import Recording
from alma_llamaindex.runs import Action, AgentRun, Evaluator, Part, Run, Strategy, ToolStep, as_task, calls_in_order, told_call

WAITING = 1_000
"""So many writes may wait for their turn. Beyond it, steps are left out, and `errors` says so; beginnings and ends never are."""

CLOSING_SECONDS = 60.0
"""So long does taking it off, and closing its ALMA, wait for an evaluator that does not come back."""


class RunSpan(BaseSpan):
    """A span inside of a run, or the run's own."""

    run: Any
    started: float
    is_whole: bool = False


class ALMALearner(BaseSpanHandler[RunSpan]):
    """Makes an episode of each run of an agent: its tool calls as steps, its answer's citations as use, its end as the outcome.

    A run is learned from if its memory holds an ALMA block of the same `alma`, or if its agent is named in `agents`. Each agent that a
    workflow hands the run to has an episode of its own. A run that ends by an error is a failure, a cancelled one is abandoned; of any
    other `evaluator` says how it went, and without one it is `unverified`. `action` and `strategy` say calls of tools and the way that was
    taken in words. With `query_engines`, answers of query engines over an `ALMARetriever` are learned from as well.

    LlamaIndex has one list of span handlers for the whole process: `install` puts this one on it, `uninstall` takes it off, a `with` block
    does both. Of several learners for one `alma`, the last one installed takes what begins from then on, so nothing is learned twice.
    Nothing here can fail an agent: errors are logged and kept in `errors`. One thread writes, in order; `flush` waits for it, and so does
    closing the ALMA.
    """

    _recording: Recording = PrivateAttr()
    _action: Action = PrivateAttr()
    _agents: frozenset[str] = PrivateAttr()
    _learns_queries: bool = PrivateAttr()
    _stay_closed: Any = PrivateAttr(default=None)

    def __init__(
        self,
        alma: ALMA,
        *,
        agents: Collection[str] = (),
        evaluator: Evaluator | None = None,
        strategy: Strategy = calls_in_order,
        action: Action = told_call,
        query_engines: bool = False,
        waiting: int = WAITING,
    ) -> None:
        super().__init__()
        self._recording = Recording(alma, evaluator=evaluator, strategy=strategy, waiting=waiting)
        self._action = action
        self._agents = frozenset(agents)
        self._learns_queries = query_engines

    @property
    def alma(self) -> ALMA:
        """Where it is written."""
        return self._recording.alma

    @property
    def errors(self) -> list[Exception]:
        """What went wrong, oldest first, the last hundred."""
        return list(self._recording.errors)

    @property
    def last_run(self) -> AgentRun | None:
        """The run that was written last."""
        return self._recording.last_run

    @property
    def is_installed(self) -> bool:
        """Whether it sees runs."""
        return any(learner is self for learner in installed())

    def install(self) -> Self:
        """Begins to watch. Doing it twice changes nothing."""
        if not self.is_installed:
            get_dispatcher().add_span_handler(self)
            self._stay_closed = self.alma.before_close(self.uninstall)
        return self

    def uninstall(self) -> None:
        """Ends watching, when all that has ended is written; runs that are going on are abandoned."""
        if self.is_installed:
            dispatcher = get_dispatcher()
            dispatcher.span_handlers = [handler for handler in dispatcher.span_handlers if handler is not self]
            self._stay_closed()
            for run in self._runs():
                self._recording.abandon(run)
            self.open_spans.clear()
        self.flush(CLOSING_SECONDS)

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything that has ended is written. Whether it was, within `timeout` seconds."""
        return self._recording.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, without holding up the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    def __enter__(self) -> Self:
        return self.install()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.uninstall()

    @classmethod
    def class_name(cls) -> str:
        return "ALMALearner"

    # Hooks of the dispatcher. It calls them on the thread of the agent, and swallows whatever they raise.

    def new_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any | None = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> RunSpan | None:
        around = self.open_spans.get(parent_span_id or "")
        run = self._begun(id_, bound_args, instance, around)
        if run is None and around is None:
            return None
        if around is not None and run is None:
            self._follow(around.run, bound_args)
        found = run or around.run  # type: ignore[union-attr] # one of them is there
        return RunSpan(id_=id_, parent_id=parent_span_id, run=found, started=time.monotonic(), is_whole=run is not None)

    def prepare_to_exit_span(
        self, id_: str, bound_args: BoundArguments, instance: Any | None = None, result: Any | None = None, **kwargs: Any
    ) -> RunSpan | None:
        span = self.open_spans.get(id_)
        if span is not None:
            self._guarded(self._exited, span, result)
        return span

    def prepare_to_drop_span(
        self, id_: str, bound_args: BoundArguments, instance: Any | None = None, err: BaseException | None = None, **kwargs: Any
    ) -> RunSpan | None:
        span = self.open_spans.get(id_)
        if span is not None and span.is_whole:
            self._guarded(self._ended, span.run, None, err)
        return span

    # What blocks and retrievers ask.

    def current_run(self) -> Run | None:
        """The run that the caller is part of, if it began under this learner's eyes."""
        span = self.open_spans.get(active_span_id.get() or "")
        return span.run if span else None

    def take(self, run: Run, part: Part) -> Part:
        """Makes a part of a run an episode. The first one for an agent stands."""
        found = run.parts.setdefault(part.name, part)
        if found is part:
            self._recording.begin(part, run.steps_of(part.name))
        return found

    def settle(self) -> None:
        """Waits a moment for what earlier runs taught."""
        self._recording.settle()

    async def asettle(self) -> None:
        """As `settle`, without holding up the event loop."""
        await self._recording.asettle()

    def failed(self, error: Exception) -> None:
        """Keeps and logs an error."""
        self._recording.failed(error)

    def _begun(self, id_: str, bound_args: BoundArguments, instance: object, around: RunSpan | None) -> Run | None:
        """The run that begins with this span, if one does and no later learner takes it."""
        first = spans.first_agent(id_, instance)
        if first is not None:
            return Run(first, as_task(spans.asked(bound_args))) if in_charge(self.alma) is self else None
        question = spans.query(id_, instance, bound_args) if self._learns_queries and around is None else None
        if question is None or in_charge(self.alma) is not self:
            return None
        return Run(type(instance).__name__, as_task(question), is_query=True)

    def _follow(self, run: Run, bound_args: BoundArguments) -> None:
        """Keeps up with whose turn it is."""
        run.context = bound_args.arguments.get("ctx", run.context)
        if name := spans.speaker(bound_args):
            run.heard(name)

    def _exited(self, span: RunSpan, result: object) -> None:
        if span.is_whole:
            self._ended(span.run, result, None)
        elif said := spans.said(result):
            self._heard(span.run, *said)
        elif called := spans.tool_result(result):
            output = called.tool_output
            error = f"{type(output.exception).__name__}: {output.content}" if output.exception else output.content
            self._stepped(
                span.run,
                ToolStep(
                    agent=span.run.speaking,
                    tool=called.tool_name,
                    arguments=called.tool_kwargs,
                    action=self._action(called.tool_name, called.tool_kwargs),
                    ok=not output.is_error,
                    answer=error if output.is_error else output.content,
                    duration_ms=(time.monotonic() - span.started) * 1000,
                ),
            )

    def _heard(self, run: Run, name: str, text: str) -> None:
        if "[" in text and name in run.parts:
            self._recording.observe(run.parts[name], text)

    def _stepped(self, run: Run, step: ToolStep) -> None:
        part = self._part(run, step.agent)
        run.steps.append(step)
        if part is not None:
            self._recording.step(part, step)

    def _ended(self, run: Run, result: object, error: BaseException | None) -> None:
        for name in run.speakers:
            self._part(run, name)
        if not run.parts:
            return
        if result is None and error is None:  # cancelled by `handler.cancel_run()`
            self._recording.abandon(run)
        else:
            output = spans.output_of(result)
            self._heard(run, run.speaking, output)
            self._recording.end(run, output=output, result=result, error=error)

    def _part(self, run: Run, name: str) -> Part | None:
        """The agent's part in the run; one to which nothing was shown, if its runs are learned from by name."""
        if name in run.parts or name not in self._agents or not run.task:
            return run.parts.get(name)
        nothing = MemorySlice(query=run.task, agent=name, project_id=self.alma.project_id)
        return self.take(run, Part(name=name, agent=name, task=run.task, memories=nothing))

    def _runs(self) -> Iterator[Run]:
        return (span.run for span in list(self.open_spans.values()) if span.is_whole and span.run.parts)

    def _guarded(self, call: Any, *args: Any) -> None:
        try:
            call(*args)
        except Exception as error:  # noqa: BLE001 - the dispatcher would swallow it unseen
            self.failed(error)


def installed() -> list[ALMALearner]:
    """The learners that see runs, the last one installed first."""
    return [handler for handler in reversed(get_dispatcher().span_handlers) if isinstance(handler, ALMALearner)]


def learners(alma: ALMA) -> list[ALMALearner]:
    """Those of this ALMA, the one in charge first."""
    return [learner for learner in installed() if learner.alma is alma]


def in_charge(alma: ALMA) -> ALMALearner | None:
    """The learner that takes the runs that begin now."""
    return next(iter(learners(alma)), None)


def instrument_alma(alma: ALMA, **options: Any) -> ALMALearner:
    """Learns from all runs that use this ALMA from now on, in one line. The options are those of `ALMALearner`."""
    return ALMALearner(alma, **options).install()
