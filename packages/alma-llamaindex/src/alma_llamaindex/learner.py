"""`ALMALearner`: watches agent runs and has them written down as episodes."""

import asyncio
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from inspect import BoundArguments
from types import TracebackType
from typing import Any, Self

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined] # it is documented there
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from alma import ALMA
from alma.memory.alma import checked_alma
from alma_llamaindex import spans
from alma_llamaindex.given import checked_call, checked_names, checked_waiting
from alma_llamaindex.recording import Recording
from alma_llamaindex.runs import Action, AgentRun, Evaluator, Part, Redact, Run, Strategy, calls_in_order, told_call
from alma_llamaindex.watching import Watcher

WAITING = 1_000
"""So many writes may wait for their turn. Beyond it, steps are left out, and `errors` says so; beginnings and ends never are."""

CLOSING_SECONDS = 60.0
"""So long does taking it off, and closing its ALMA, wait for an evaluator that does not come back."""


@dataclass(frozen=True, slots=True)
class RunSpan:
    """A span inside of a run, or the run's own."""

    id_: str
    run: Run
    started: float
    is_whole: bool = False
    is_in_tool: bool = False


class ALMALearner(BaseSpanHandler[Any]):
    """Makes an episode of each run of an agent: its tool calls as steps, its answer's citations as use, its end as the outcome.

    A run is learned from if its memory holds an ALMA block of the same `alma`, or if its agent is named in `agents`. Each agent that a
    workflow hands the run to has an episode of its own. A run that ends by an error is a failure, a cancelled one is abandoned; of any
    other `evaluator` says how it went, and without one it is `unverified`. `action` and `strategy` say calls of tools and the way that was
    taken in words; every text that is stored goes through `redact`. With `query_engines`, answers of query engines over an `ALMARetriever`
    are learned from as well.

    LlamaIndex has one list of span handlers for the whole process: `install` puts this one on it, `uninstall` takes it off, a `with` block
    does both. Of several learners for one `alma`, the last one installed takes what begins from then on, so nothing is learned twice.
    Nothing here can fail an agent: errors are logged and kept in `errors`. One thread writes, in order; `flush` waits for it, and so does
    closing the ALMA.
    """

    _recording: Recording = PrivateAttr()
    _watcher: Watcher = PrivateAttr()
    _stay_closed: Any = PrivateAttr(default=None)
    _options: tuple[object, ...] = PrivateAttr()

    def __init__(
        self,
        alma: ALMA,
        *,
        agents: Collection[str] = (),
        evaluator: Evaluator | None = None,
        strategy: Strategy = calls_in_order,
        action: Action = told_call,
        redact: Redact | None = None,
        query_engines: bool = False,
        waiting: int = WAITING,
    ) -> None:
        super().__init__()
        self._recording = Recording(
            checked_alma(alma),
            evaluator=checked_call(evaluator, "evaluator"),
            strategy=checked_call(strategy, "strategy") or calls_in_order,
            redact=checked_call(redact, "redact"),
            waiting=checked_waiting(waiting),
        )
        self._watcher = Watcher(
            self._recording,
            agents=checked_names(agents, "agents"),
            action=checked_call(action, "action") or told_call,
            learns_queries=query_engines,
        )
        self._options = (frozenset(agents), evaluator, strategy, action, redact, query_engines, waiting)

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

    def is_like(self, other: "ALMALearner") -> bool:
        """Whether both learn alike: of one ALMA, with the same options."""
        return self.alma == other.alma and self._options == other._options

    def install(self) -> Self:
        """Begins to watch. Doing it twice changes nothing."""
        if not self.is_installed:
            self._stay_closed = self.alma.before_close(self.uninstall)
            get_dispatcher().add_span_handler(self)
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
        """Waits until everything that has ended is written. Whether it was, within `timeout` seconds.

        `False` at once in an evaluator, whose own run is not written yet.
        """
        return self._recording.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, without holding up the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    def __enter__(self) -> Self:
        return self.install()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.uninstall()

    def close(self) -> None:
        """What the dispatcher asks for when it shuts down: as `uninstall`."""
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
        if parent_span_id not in self.open_spans and not spans.may_begin(id_):
            return None
        try:
            return self._entered(id_, bound_args, instance, parent_span_id)
        except Exception as error:  # noqa: BLE001 - the dispatcher would swallow it unseen
            self.failed(error)
            return None

    def prepare_to_exit_span(
        self, id_: str, bound_args: BoundArguments, instance: Any | None = None, result: Any | None = None, **kwargs: Any
    ) -> RunSpan | None:
        return self._left(id_, result, None)

    def prepare_to_drop_span(
        self, id_: str, bound_args: BoundArguments, instance: Any | None = None, err: BaseException | None = None, **kwargs: Any
    ) -> RunSpan | None:
        is_shutdown = instance is None  # the dispatcher's own, of all that is open: nothing failed
        return self._left(id_, None, None if is_shutdown else err)

    # What blocks and retrievers ask.

    def current_span(self) -> RunSpan | None:
        """The span that the caller is inside of, if it is one of a run that began under this learner's eyes."""
        return self.open_spans.get(active_span_id.get() or "")

    def take(self, run: Run, part: Part) -> Part:
        """Makes a part of a run an episode. The first one for an agent stands."""
        return self._watcher.take(run, part)

    def settle(self) -> None:
        """Waits a moment for what earlier runs taught."""
        self._recording.settle()

    async def asettle(self) -> None:
        """As `settle`, without holding up the event loop."""
        await self._recording.asettle()

    def failed(self, error: Exception) -> None:
        """Keeps and logs an error."""
        self._recording.failed(error)

    def _entered(self, id_: str, bound_args: BoundArguments, instance: object, parent_id: str | None) -> RunSpan | None:
        """A span of a run. The run begins with it, or is the one of the span around.

        Memory blocks choose the learner of their run, so any may follow it until its first turn. What is learned from without a block, the last
        one installed takes.
        """
        around, watcher = self.open_spans.get(parent_id or ""), self._watcher
        begun = watcher.begun(id_, instance, bound_args, is_inside=around is not None) if spans.may_begin(id_) else None
        if begun is not None and (watcher.waits_for_blocks or in_charge(self.alma) is self):
            return RunSpan(id_, begun, time.monotonic(), is_whole=True)
        if around is None:
            return None
        if around.is_whole and spans.is_turn(id_) and watcher.is_done_with(around.run):
            self.open_spans.pop(around.id_, None)
            return None
        watcher.follow(around.run, bound_args)
        is_in_tool = around.is_in_tool or spans.is_tool_call(id_)
        return RunSpan(id_, around.run, time.monotonic(), is_in_tool=is_in_tool)

    def _left(self, id_: str, result: object, error: BaseException | None) -> RunSpan | None:
        span = self.open_spans.get(id_)
        try:
            if span is not None and span.is_whole:
                self._watcher.ended(span.run, result, error)
            elif span is not None and error is None:
                self._watcher.done(span.run, result, since=span.started)
        except Exception as problem:  # noqa: BLE001 - the dispatcher would swallow it unseen
            self.failed(problem)
        return span

    def _runs(self) -> Iterator[Run]:
        return (span.run for span in list(self.open_spans.values()) if span.is_whole and span.run.parts)


def installed() -> list[ALMALearner]:
    """The learners that see runs, the last one installed first."""
    return [handler for handler in reversed(get_dispatcher().span_handlers) if isinstance(handler, ALMALearner)]


def learners(alma: ALMA) -> list[ALMALearner]:
    """Those of this project of this store, the one in charge first."""
    return [learner for learner in installed() if learner.alma == alma]


def in_charge(alma: ALMA) -> ALMALearner | None:
    """The learner that takes the runs that begin now."""
    return next(iter(learners(alma)), None)


def instrument_alma(alma: ALMA, **options: Any) -> ALMALearner:
    """Learns from all runs that use this ALMA from now on, in one line. The options are those of `ALMALearner`.

    Asked again with the same options, it gives the same learner.
    """
    asked_for, last = ALMALearner(alma, **options), in_charge(alma)
    return last if last is not None and last.is_like(asked_for) else asked_for.install()
