"""Writes runs down as episodes, beside the agents."""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from alma import ALMA, AlmaError, EpisodeRecord, Verdict
from alma.episode import leaving
from alma.forking import renewed_in_children
from alma_llamaindex.runs import AgentRun, Evaluator, Part, Redact, Run, Strategy, ToolStep
from alma_llamaindex.worker import Worker

_LOG = logging.getLogger("alma.llamaindex")

MOST_ERRORS = 100
SETTLING_SECONDS = 2.0
"""So long does a retrieval wait for what earlier runs taught, if it is not written yet."""


class Recording:
    """Episodes of one ALMA, written in order by one thread. Its errors are logged and kept, and never reach an agent."""

    def __init__(
        self, alma: ALMA, *, evaluator: Evaluator | None, strategy: Strategy, redact: Redact | None, waiting: int
    ) -> None:
        self.alma = alma
        self.errors: deque[Exception] = deque(maxlen=MOST_ERRORS)
        self.last_run: AgentRun | None = None
        self._evaluator = evaluator
        self._strategy = strategy
        self._redact = redact or _as_it_is
        self._worker = Worker(limit=waiting, failed=self.failed)
        self._last_end: Future[None] | None = None
        renewed_in_children(self)

    @property
    def is_at_work(self) -> bool:
        """Whether the caller is part of what is being written: an evaluator, say."""
        return self._worker.is_asking_itself

    def begin(self, part: Part, earlier: Sequence[ToolStep] = ()) -> None:
        """Opens an episode, with the steps that came before it was known whose it is."""
        self._worker.ask(lambda: part.begin(self.alma, self._redact), is_needed=True)
        for step in earlier:
            self.step(part, step)

    def step(self, part: Part, step: ToolStep) -> None:
        """Keeps a step, unless too much is waiting."""
        if self._worker.ask(lambda: part.step(step, self._redact)) is None:
            self.failed(AlmaError(f"too much is waiting to be written; a step of {part.agent!r} was left out: {step.action}"))

    def observe(self, part: Part, text: str) -> None:
        """Looks for citations in what an agent said, unless too much is waiting."""
        if self._worker.ask(lambda: part.observe(text)) is None:
            self.failed(AlmaError(f"too much is waiting to be written; what {part.agent!r} cited was left out"))

    def end(self, run: Run, *, output: str = "", result: object = None, error: BaseException | None = None) -> None:
        """Judges a run and ends its episodes. An evaluator's own run is not judged in its turn, which would not end."""
        ended = run.ended(output=output, result=result, error=error)
        parts = list(run.parts.values())
        self._last_end = self._worker.ask(lambda: self._end(parts, ended, is_judged=not run.is_judging), is_needed=True)

    def abandon(self, run: Run) -> None:
        """Ends the episodes of a run without a verdict."""
        ended = run.ended()
        parts = list(run.parts.values())
        self._last_end = self._worker.ask(lambda: self._close(parts, ended, None, "the run was cut short"), is_needed=True)

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until all that ended before is written; whether it was in time."""
        return self._worker.wait(timeout)

    def settle(self) -> None:
        """Waits a moment for the ends of earlier runs, so that a retrieval finds what they taught."""
        if self._last_end is not None and not self._last_end.done():
            self._worker.wait(SETTLING_SECONDS)

    async def asettle(self) -> None:
        """As `settle`, without holding up the event loop."""
        if self._last_end is not None and not self._last_end.done() and not self.is_at_work:
            await asyncio.wait([asyncio.wrap_future(self._last_end)], timeout=SETTLING_SECONDS)

    def failed(self, error: BaseException) -> None:
        """Keeps and logs an error."""
        kept = error if isinstance(error, Exception) else AlmaError(f"what was asked raised {error!r}")
        self.errors.append(kept)
        _LOG.warning("an agent's run was not learned from as it should: %s: %s", type(kept).__name__, kept)

    def renew_in_child(self) -> None:
        """What the parent is writing does not end here."""
        self._last_end = None

    def _end(self, parts: list[Part], run: AgentRun, *, is_judged: bool) -> None:
        if run.error is not None:
            left = leaving(run.error)
            self._close(parts, run, left.outcome, left.error)
        else:
            self._close(parts, run, *(self._judged(parts, run) if is_judged else (Verdict.UNVERIFIED, None)))

    def _judged(self, parts: list[Part], run: AgentRun) -> tuple[Verdict, str | None]:
        """What the evaluator of the memory block says, or else the learner's: a verdict and a reason."""
        evaluator = next((part.evaluator for part in parts if part.evaluator), self._evaluator)
        try:
            said = evaluator(run) if evaluator else None
            return _verdict(asyncio.run(_awaited(said)) if inspect.isawaitable(said) else said)
        except BaseException as error:  # noqa: BLE001 - somebody's evaluator; what it awaits may have been cancelled
            self.failed(error)
        return Verdict.UNVERIFIED, None

    def _close(self, parts: list[Part], run: AgentRun, verdict: Verdict | None, reason: str | None) -> None:
        records = [record for part in parts if (record := self._closed(part, run, verdict, reason)) is not None]
        self.last_run = replace(run, episodes=tuple(records))
        if records and _LOG.isEnabledFor(logging.INFO):
            _LOG.info("run of %s", "; then ".join(f"{record.agent}: {record.summary}" for record in records))

    def _closed(self, part: Part, run: AgentRun, verdict: Verdict | None, reason: str | None) -> EpisodeRecord | None:
        """How one agent's episode was ended; `None` if it could not be."""
        if part.episode is None:
            return None
        try:
            if verdict is None:
                return part.write(lambda episode: episode.abandon(reason))
            way, said = self._way(part, run), {"error" if verdict is Verdict.FAILURE else "feedback": self._redacted(reason)}
            return part.write(lambda episode: episode.end(verdict, strategy=way, **said))
        except Exception as error:  # noqa: BLE001 - the episodes of others are still to be ended
            self.failed(error)
            return None

    def _way(self, part: Part, run: AgentRun) -> str | None:
        """What one agent tried. Nothing is blamed for an error: if a tool made it, that step was learned from; a model that fails is no way."""
        if run.error is not None:
            return None
        try:
            told = self._strategy([step for step in run.steps if step.agent == part.name])
        except Exception as error:  # noqa: BLE001 - somebody's words
            self.failed(error)
            return None
        return self._redacted(None if told is None else str(told))

    def _redacted(self, text: str | None) -> str | None:
        """A text of an end as it may be stored; none where that cannot be said, so that the episode is ended all the same."""
        try:
            return None if text is None else self._redact(text)
        except Exception as error:  # noqa: BLE001 - somebody's function
            self.failed(error)
            return None


def _as_it_is(text: str) -> str:
    return text


async def _awaited(said: Any) -> Any:
    return await said


def _verdict(said: Any) -> tuple[Verdict, str | None]:
    """What an evaluator said, as a verdict and a reason."""
    word, why = said if isinstance(said, tuple) else (said, None)
    reason = None if why is None else str(why)
    if word is None:
        return Verdict.UNVERIFIED, reason
    if isinstance(word, bool):
        return (Verdict.SUCCESS if word else Verdict.FAILURE), reason
    return Verdict(str(word).strip().lower()), reason
