"""One attempt of an agent at a task, and the current attempt of a context."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from crewai.events.types.crew_events import CrewTestResultEvent
from crewai.events.types.llm_events import LLMCallCompletedEvent
from crewai.events.types.llm_guardrail_events import LLMGuardrailCompletedEvent
from crewai.events.types.tool_usage_events import ToolFailureDetectedEvent, ToolUsageFinishedEvent

from alma import MemorySlice, Verdict
from alma_crewai import calls
from alma_crewai.actors import Work
from alma_crewai.records import Sight
from alma_integration import LOOP_SECONDS, Run, VerdictSource, holding, in_event_loop

GOOD, BAD = 7, 4
"""Scores of `crew.test`, 1 to 10: 7 or more is a success, less than 4 a failure, anything between is partial."""

Kind = Literal["task", "delegated", "alone"]
"""A task of a crew, work delegated to a coworker, or `agent.kickoff()`. Only the first has an event for its end."""


@dataclass(eq=False)
class Attempt:
    """An attempt of one agent. Threads may share it, because tools run in parallel.

    `key` is CrewAI's id of the task, or of the agent where `agent.kickoff()` has no task; `agent_id` is that of the acting agent. A
    rehearsal is a task of `crew.test`: its score is its verdict, and without one nothing of it is stored. `outer` is the enclosing
    attempt, `state` CrewAI's state of the crew's start. `work` is what CrewAI knows of it. `agent` is the agent by ALMA's name. What
    `is_harnessed` is a part of a run that a harness began: the attempt ends without ending the run.
    """

    run: Run
    forget: Callable[["Attempt"], object]
    key: str
    agent_id: str
    kind: Kind
    is_rehearsal: bool
    outer: "Attempt | None"
    state: object
    work: Work
    agent: str
    is_harnessed: bool = False
    on_leave: list[Callable[[], object]] = field(default_factory=list)
    is_open: bool = True
    error: str | None = None
    _found: MemorySlice | None = None
    _is_approved: bool | None = None
    _is_accepted: bool = False
    _score: float | None = None

    def recalled(self, sight: Sight) -> tuple[MemorySlice, str]:
        """Returns the visible memories for the task, and their notes. They are looked up once, however often a guardrail sends the agent
        back. A harness shows the notes of the first agent itself."""
        if self.run.options.inject == "none" or (self.is_harnessed and self.agent == self.run.agent):
            return MemorySlice(), ""
        integration = self.run.integration
        if self._found is None:
            self._found = MemorySlice()
            with integration.guard("memory could not be read", self.run):
                self._found = integration.retrieve(self.run.task, self.agent, self.run.context)
        found = sight.of(self._found)
        with self.run.turn_of(self.agent):
            before = self.run.memories  # a slice asks for each of its scopes
            shown = {*before.ids, *found.ids}
            ways = {way.id for way in (*before.strategies, *found.strategies)}
            seen = self._found.model_copy(update={"strategies": tuple(way for way in self._found.strategies if way.id in ways)})
            self.run.show(holding(seen, (item for item in self._found.recalled if item.memory.id in shown)))
        return found.fitted(integration.options.max_tokens)

    def take(self, event: object) -> None:
        """Records an event if it belongs to this attempt."""
        if not self.is_open or not self._is_own(event):
            return
        match event:
            case ToolFailureDetectedEvent() | ToolUsageFinishedEvent():
                self._report(calls.report, self.run, self.work, event)
            case LLMCallCompletedEvent():
                self._report(self.run.model_said, event.response)
            case LLMGuardrailCompletedEvent():
                self._is_approved = event.success
                if not event.success:
                    self.corrected(str(event.error or event.result or ""))
            case CrewTestResultEvent() if self.is_rehearsal:
                self._score = event.quality

    def said(self, answer: str) -> None:
        """Finds citations in an answer, accepted or not."""
        self._report(self.run.model_said, answer)

    def corrected(self, reason: str) -> None:
        """Records why the agent was sent back: by a guardrail, or by a person who reviews the answer."""
        self._report(self.run.corrected, reason)

    def accepted(self) -> None:
        """Records that a person reviewed the answer without a remark."""
        self._is_accepted = True

    def complete(self, answer: str, result: Any = None) -> None:
        """Ends it with the verdict of an evaluator, a person or a guardrail on the answer."""
        verdict = Verdict.SUCCESS if self._is_accepted or self._is_approved else None
        source = VerdictSource.PERSON if self._is_accepted else VerdictSource.TOOL
        if self._score is not None:
            verdict, source = _read_score(self._score), VerdictSource.EVALUATOR
        self._end(answer, result=result, verdict=verdict, source=source)

    def fail(self, error: str | None) -> None:
        """Ends it as a failure. The strategy is blamed for what a guardrail rejects, not for an overloaded model."""
        self._score = None
        self._end(error=error or self.error or "it failed", blames_strategy=self._is_approved is False)

    def abandon(self, why: str | BaseException) -> None:
        """Ends it without a verdict, for a reason or by what cut it short: a cancellation, an interrupt."""
        if isinstance(why, str):
            self._end(is_neutral=True, reason=why)
        else:
            self._end(error=why)

    def enter(self) -> None:
        """Makes it the current attempt of this context."""
        _HERE.set(self)

    def _report(self, call: Callable[..., object], *given: Any) -> None:
        """Reports what this agent did, and writes it: in the background where an event loop would wait. A rehearsal is not written before
        its score is known."""
        with self.run.turn_of(self.agent):
            call(*given)
        if not self.is_rehearsal:
            (self.run.settle_soon if in_event_loop() else self.run.settle)()

    def _end(self, answer: str = "", **how: Any) -> None:
        self.is_open = False  # the work of an evaluator is no step of this attempt
        self.forget(self)
        try:
            if self.is_harnessed:
                return
            if self.is_rehearsal and self._score is None:
                self.run.discard()
            elif in_event_loop():
                self.run.end_soon(answer, **how)
                if self.kind == "alone":  # for a crew, CrewAI itself waits at the end
                    self.run.integration.writes.wait(LOOP_SECONDS)
            else:
                self.run.end(answer, **how)
        finally:
            leave_ended()

    def _is_own(self, event: object) -> bool:
        """Returns True when an event is about this task; without a task, about this agent. A tool or a guardrail may have started
        another."""
        task, agent = getattr(event, "task_id", None), getattr(event, "agent_id", None)
        return task == self.key if task else agent is None or str(agent) == self.agent_id


_HERE: ContextVar[Attempt | None] = ContextVar("alma_crewai_attempt", default=None)


def begun() -> Iterator[Attempt]:
    """Yields the attempts that were begun in this context and not left, innermost first. A recorder that was closed has ended some from
    outside."""
    attempt = _HERE.get()
    while attempt is not None:
        yield attempt
        attempt = attempt.outer


def current() -> Attempt | None:
    """Returns the innermost attempt that is still open in this context."""
    return next((attempt for attempt in begun() if attempt.is_open), None)


def leave_ended() -> None:
    """Restores the innermost attempt that is still open in this context, and undoes the setup of those inside it."""
    while (attempt := _HERE.get()) is not None and not attempt.is_open:
        _HERE.set(attempt.outer)
        for undo in attempt.on_leave:
            with suppress(ValueError, RuntimeError):  # it was set up in another context, or is undone already
                undo()


def _read_score(score: float) -> Verdict:
    return Verdict.SUCCESS if score >= GOOD else Verdict.FAILURE if score < BAD else Verdict.PARTIAL
