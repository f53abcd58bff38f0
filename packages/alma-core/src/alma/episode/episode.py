"""`Episode`, which records one attempt of an agent, and the steps of it that become memories."""

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from alma.calls import checked
from alma.episode.arguments import (
    ACTION_CHARS,
    checked_ids,
    leaving,
    optional_text,
)
from alma.errors import AlmaError, ConflictError, ValidationError
from alma.text import cleaned, shortened
from alma.types.episodes import Ending, EpisodeRecord, Exposure, Step, with_use
from alma.types.identity import optional_duration
from alma.types.kinds import Verdict, VerdictSource
from alma.types.prompt import says_more
from alma.types.slice import MemorySlice
from alma.types.strategies import TRIED
from alma.types.tags import cited_of

_LOG = logging.getLogger("alma")

MOST_LESSONS = 20
"""Limit on the steps of an episode that become memories; the others stay in its record."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lessons so far: the failures, and the tools whose first success after a failure is still awaited."""

    failures: frozenset[tuple[str, str]] = frozenset()
    awaited: frozenset[str] = frozenset()
    count: int = 0

    def after(self, step: Step) -> "Lessons":
        """Returns the lessons with one more step. It is a lesson if the count grew: a failure that is new for its tool, or the tool's
        first success after one."""
        if self.count >= MOST_LESSONS or step.ok is None:
            return self
        if step.ok:
            is_first = step.tool in self.awaited
            return replace(self, awaited=self.awaited - {step.tool}, count=self.count + 1) if is_first else self
        failure = (step.tool, cleaned(step.error or ""))
        if failure in self.failures:
            return self
        return Lessons(self.failures | {failure}, self.awaited | {step.tool}, self.count + 1)


class Recorder(Protocol):
    """Stores one episode. Each call is atomic, and durable when it returns. `ConflictError` if the episode is no longer open."""

    @property
    def is_written(self) -> bool:
        """True when any of the episode is stored."""

    def now(self) -> datetime:
        """Returns the current time."""

    def held(self) -> EpisodeRecord | None:
        """Returns what is stored of the episode if it is open and leased here. `None` if it ended, was suspended, or its beginning was
        undone."""

    def step(self, step: Step, *, is_lesson: bool, source: VerdictSource = VerdictSource.CALLER) -> Step:
        """Stores a step; a lesson also as a memory, judged by `source`, whose id the returned step has. The returned number differs if steps
        were added elsewhere (by a forked child) or undone."""

    def end(self, ending: Ending) -> EpisodeRecord:
        """Stores the ending, the usage counts and the memory of the outcome, all in one transaction."""

    def suspend(self) -> None:
        """Releases the episode. It stays open, and any process may resume it."""


class Episode:
    """One attempt at one task, open until it is ended. Threads may share it.

    Created by `ALMA.episode`. A `with` block ends it: left by return it is unverified, left by an error it is a failure with that error,
    left by cancellation it is abandoned. A verdict given in the block stands, however the block is left.
    """

    def __init__(self, recorder: Recorder, record: EpisodeRecord, memories: MemorySlice) -> None:
        self._recorder = recorder
        self._record = record
        self._memories = memories
        self._is_suspended = False
        self._named: list[str] | None = None if record.used is None else list(record.used)
        self._lessons = Lessons()
        for step in record.steps:
            self._lessons = self._lessons.after(step)
        self._lock = threading.RLock()

    @property
    def id(self) -> str:
        """Id of the episode, as `settle`, `get_episode` and `resume_episode` take it."""
        return self._record.id

    @property
    def record(self) -> EpisodeRecord:
        """Record of the episode as stored so far."""
        return self._record

    @property
    def memories(self) -> MemorySlice:
        """Memories that were retrieved for the task when it began."""
        return self._memories

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps so far."""
        return self._record.steps

    @property
    def is_open(self) -> bool:
        """True while steps and a verdict are accepted. An episode whose ending was undone is open again."""
        with self._lock:
            return self._is_open() or self._is_taken_up_again()

    @property
    def is_written(self) -> bool:
        """True when any of it is stored. One that was begun `deferred` is stored with its first step, its ending or its suspension."""
        return self._recorder.is_written

    @checked
    def step(
        self,
        action: str,
        ok: bool | None = None,
        *,
        error: str | None = None,
        output: str | None = None,
        duration_ms: float | None = None,
        tool: str | None = None,
        feedback: str | None = None,
        source: str | VerdictSource = VerdictSource.CALLER,
    ) -> Step:
        """Records one action, durably when it returns. `ok=None` leaves it unjudged; an `error` alone means `ok=False`.

        `tool` names what performed the action; by default it is `action` without its varying parts (numbers, ids, paths, times). A
        failure that is new for its tool, and the tool's first success after it, become memories, at most 20 an episode. `feedback` is a
        remark that its memory shows, such as how a call differs from the failed one that it repairs. Long texts are cut to 2,000 characters,
        an action to 1,000. `source` says who judged it, as for `end`. `ConflictError` once it has ended.
        """
        with self._lock:
            self._check_open()
            judge = VerdictSource.checked(source, "source")
            done, failed = optional_text(action, "action", ACTION_CHARS), optional_text(error, "error")
            if done is None:
                raise ValidationError("action is empty")
            if ok and failed is not None:
                raise ValidationError("a step that went well has no error")
            step = Step(
                number=len(self._record.steps) + 1,
                action=done,
                tool=optional_text(tool, "tool", ACTION_CHARS) or shortened(cleaned(done), ACTION_CHARS),
                ok=False if failed is not None else ok,
                error=failed,
                output=optional_text(output, "output"),
                duration_ms=optional_duration(duration_ms),
                feedback=optional_text(feedback, "feedback"),
                used=tuple(one for one in self._named or () if one not in (self._record.used or ())) or None,
                at=self._recorder.now(),
            )
            lessons = self._lessons.after(step)
            kept = self._recorder.step(step, is_lesson=lessons.count > self._lessons.count, source=judge)
            self._lessons = lessons
            is_next = kept.number == step.number
            others = self._record.steps if is_next else (self._recorder.held() or self._record).steps[: kept.number - 1]
            used = self._record.used if kept.used is None else (*(self._record.used or ()), *kept.used)
            shown = with_use(self._record.shown, used)
            self._record = self._record.model_copy(update={"steps": (*others, kept), "used": used, "shown": shown})
            return kept

    def observe(self, text: str) -> list[str]:
        """Finds citations such as [H1] in a text of the agent, and returns the ids of the memories cited. They are stored with the next step, and
        count as used at the end."""
        if not isinstance(text, str):
            raise ValidationError(f"observe takes a text, not a {type(text).__name__}")
        with self._lock:
            self._check_open()
            ways = {way.tag: way.id for way in self.memories.strategies if way.tag is not None}
            tags = ways | {exposure.tag: exposure.memory_id for exposure in self._record.shown}
            named = cited_of(tags, text)
            cited = list(dict.fromkeys(memory_id for tag, memory_id in tags.items() if tag in named))
            if cited:
                self._name(cited)
            return cited

    def used(self, memory_ids: Iterable[str]) -> None:
        """Names the memories that were used. An empty list states that none was; without a call it stays unknown."""
        ids = checked_ids(memory_ids, "used")
        with self._lock:
            self._check_open()
            self._name(ids)

    def succeed(
        self, strategy: str | None = None, *, feedback: str | None = None, source: str | VerdictSource | None = None
    ) -> EpisodeRecord:
        """Ends it as a success. Ending twice alike does nothing, differently is a `ConflictError`. For `source`, who judged, see
        `end`."""
        return self.end(Verdict.SUCCESS, strategy=strategy, feedback=feedback, source=source)

    def fail(
        self,
        error: str | None = None,
        *,
        strategy: str | None = None,
        feedback: str | None = None,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord:
        """Ends it as a failure, with its error. For `source`, who judged, see `end`."""
        return self.end(Verdict.FAILURE, strategy=strategy, error=error, feedback=feedback, source=source)

    def partial(
        self,
        strategy: str | None = None,
        *,
        error: str | None = None,
        feedback: str | None = None,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord:
        """Ends it as partly done. For `source`, who judged, see `end`."""
        return self.end(Verdict.PARTIAL, strategy=strategy, error=error, feedback=feedback, source=source)

    def end(
        self,
        outcome: Verdict | str = Verdict.UNVERIFIED,
        *,
        strategy: str | None = None,
        error: str | None = None,
        feedback: str | None = None,
        source: str | VerdictSource | None = None,
    ) -> EpisodeRecord:
        """Ends it with a verdict, by default as not judged. One transaction stores the memory of the outcome and the usage.

        `source` says who judged: "tool", "person", "evaluator", "caller" (the program), "agent" (its own word) or "imported". It becomes
        the `verdict_source` of the record and of the memory. Without it, the memory has "caller".
        """
        judge = None if source is None else VerdictSource.checked(source, "source")
        return self._end(Verdict.checked(outcome), strategy=strategy, error=error, feedback=feedback, source=judge)

    def abandon(self, reason: str | None = None) -> EpisodeRecord:
        """Ends it without a verdict: nothing is learned from it as a whole. Its steps stay."""
        return self._end(None, feedback=reason)

    def suspend(self) -> None:
        """Releases it without ending it, say at an interrupt that waits for a person. `ALMA.resume_episode` continues it, in any
        process."""
        with self._lock:
            if self.is_open:
                self._recorder.suspend()
                self._is_suspended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with self._lock:
                if self._is_open():
                    left = leaving(error)
                    self._end(left.outcome, error=left.error)
        except AlmaError as problem:
            if error is None:
                raise
            _LOG.warning("the end of episode %s was not recorded: %s", self.id, problem)

    def __repr__(self) -> str:
        return f"<Episode {self.id} of {self._record.agent!r}: {shortened(self._record.task, 60)!r}, {self._standing()}>"

    def _end(self, outcome: Verdict | None, source: VerdictSource | None = None, **said: str | None) -> EpisodeRecord:
        with self._lock:
            texts = {name: optional_text(text, name) for name, text in said.items()}
            used = None if self._named is None else tuple(self._named)
            ending = Ending(outcome=outcome, source=source, used=used, at=self._recorder.now()).model_copy(update=texts)
            if not self.is_open and self._is_suspended:
                self._check_open()
            self._record = self._recorder.end(ending)
            return self._record

    def _name(self, memory_ids: Sequence[str]) -> None:
        self._named = list(dict.fromkeys([*(self._named or ()), *memory_ids]))

    def _is_open(self) -> bool:
        return self._record.ended_at is None and not self._is_suspended

    def _is_taken_up_again(self) -> bool:
        """Reopens it from what is stored if its ending or its suspension was undone. Returns True if so."""
        held = self._recorder.held()
        if held is None:
            return False
        self._is_suspended, self._record = False, held
        return True

    def _check_open(self) -> None:
        if not self.is_open:
            raise ConflictError(f"episode {self.id} is not open any more: {self._standing()}")

    def _standing(self) -> str:
        return "suspended" if self._is_suspended else (self._record.outcome or self._record.status).value


def exposures(memories: MemorySlice) -> tuple[Exposure, ...]:
    """Returns the exposures of a slice, in rank order: of its memories, then of its ways that are no rules, by the newest outcome behind each. The
    outcomes behind attempts without a strategy are mostly shown themselves, once each."""
    tried = [(way, way.tag) for way in memories.strategies if way.tag is not None and way.rule == TRIED]
    told, errors = {way.id for way, _ in tried if way.strategy}, {way.why_bad for way in memories.strategies}
    shown = [item for item in memories.recalled if item.memory.id not in told or says_more(item.memory, told, errors)]
    items = [(item.memory.id, item.tag, item.score) for item in shown]
    listed = {memory_id for memory_id, _, _ in items}
    ways = [(way.id, tag, way.expected) for way, tag in tried if way.strategy or way.id not in listed]
    return tuple(
        Exposure(memory_id=memory_id, tag=tag, rank=rank, score=score)
        for rank, (memory_id, tag, score) in enumerate([*items, *ways], start=1)
    )
