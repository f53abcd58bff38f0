"""Episodes of a project: begins and resumes them, records their steps, and ends them."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from alma.episode import Episode
from alma.episode.arguments import contradicts
from alma.episode.episode import exposures
from alma.errors import ConflictError, MemoryNotFoundError, StorageError, ValidationError
from alma.memory import arguments as args
from alma.memory.episodes.closing import Closing, close, put_opening
from alma.memory.episodes.records import (
    Lease,
    check_open,
    is_expired,
    last_sign,
    new_lease,
    release,
    step_body,
    step_key,
    stored,
    waiting,
    why_closed,
)
from alma.memory.learn.learn import LearnRequest, outcome_from
from alma.memory.learn.storing import Entry, comparison_vectors, embed, put
from alma.memory.operation import SEARCH, STEP_METHOD, UPSERT, Operation, operation, reported
from alma.memory.recall import retrieve
from alma.memory.recall.query import RetrieveRequest
from alma.memory.room import OpenStore, Room
from alma.protocols import Write
from alma.text import quoted
from alma.types.episodes import LEASE, STEP, Ending, EpisodeRecord, EpisodeStatus, Step, with_use
from alma.types.identity import new_id, to_micros
from alma.types.kinds import Verdict, VerdictSource
from alma.types.memories import Outcome, passages_of
from alma.types.slice import MemorySlice

R = TypeVar("R")


def begin(
    room: Room,
    *,
    agent: object,
    task: object,
    user_id: object,
    task_type: object,
    episode_id: object,
    top_k: object,
    run_id: object = None,
    thread_id: object = None,
    memories: object = None,
    deferred: bool = False,
) -> Episode:
    """Opens an episode on a task, with the given slice or a new retrieval. `ScopeViolationError` if the agent may not learn from the
    task.

    Its beginning is written at once or, with `deferred`, with the first write of the episode.
    """
    room.store.check_open()
    now = room.store.clock()
    redaction = room.store.redaction
    name, asked = args.checked_name(agent, "agent"), redaction.text(args.checked_text(task, "task"))
    kind = redaction.value(args.optional_label(task_type, "task_type"))
    if name in room.store.agents:
        outcome_from(room, now, LearnRequest(agent=name, task=asked, task_type=kind, outcome=Verdict.UNVERIFIED))
    user = args.optional_name(user_id, "user_id")
    key = new_id(now) if episode_id is None else args.checked_label(episode_id, "episode_id")
    request = RetrieveRequest(task=asked, agent=name, top_k=top_k, user_id=user)
    shown = _retrieve(room, request) if memories is None else _checked_slice(room, memories, name)
    opened = EpisodeRecord(
        id=key,
        project_id=room.name,
        agent=name,
        task=asked,
        task_type=kind,
        user_id=user,
        run_id=args.optional_id(run_id, "run_id"),
        thread_id=args.optional_id(thread_id, "thread_id"),
        started_at=now,
        shown=exposures(shown),
    )
    names = {"agent": name, "user_id": user, "episode_id": key, "run_id": opened.run_id, "thread_id": opened.thread_id}
    for of, named in names.items():
        redaction.check_name(named or "", of)
    waits = deferred and episode_id is None  # an episode of a given id might exist already, so its beginning is not deferred
    return Episode(_recorder_of(room, opened, waits=waits), opened, shown)


def _retrieve(room: Room, request: RetrieveRequest) -> MemorySlice:
    """Retrieves for the task of an episode, and reports it."""
    with reported(
        room.store.watchers, Operation(SEARCH, "episode", room.name, str(request.agent), str(request.task))
    ) as operation:
        operation.result = shown = retrieve.retrieve(room, request)
        return shown


def _recorder_of(room: Room, opened: EpisodeRecord, *, waits: bool) -> "RoomRecorder":
    """Returns the recorder of a new episode. Unless it is deferred, its beginning is written; `ConflictError` if its id exists."""
    recorder = RoomRecorder(room, opened, (1, new_lease(to_micros(opened.started_at))), is_written=False)
    if waits:
        room.store.unwritten[opened.id] = recorder
        return recorder
    try:
        recorder.open()
    except ConflictError as error:
        raise ConflictError(
            f"there is an episode {opened.id!r} already: {why_closed(room.project, opened.id) or 'it is open'}"
        ) from error
    return recorder


def resume(room: Room, *, episode_id: object, memories: MemorySlice | None) -> Episode:
    """Resumes an episode that is open and that no program holds: one that was suspended, or whose lease has expired."""
    (key,) = args.checked_ids([episode_id], "episode_id")
    if key in waiting(room):
        raise _held_error(key)
    with room.project.moment():
        found = stored(room, key)
        version, lease = room.project.record(LEASE, [key])[key]
        why = why_closed(room.project, key)
    if why is not None:
        raise ConflictError(f"episode {key!r} cannot be resumed: {why}")
    if memories is None:
        shown = MemorySlice(query=found.task, agent=found.agent, project_id=room.name)
    else:
        shown = _checked_slice(room, memories, found.agent)
    sign = last_sign(lease, found)
    if sign is not None and not is_expired(room, sign):
        raise _held_error(key)
    at = room.now()
    taken = new_lease(at)
    with room.project.write(actor=found.agent, operation="episode_resume", at=at) as write:
        write.put_record(LEASE, key, taken, version=version)
    return Episode(RoomRecorder(room, found, (version + 1, taken)), found, shown)


def _held_error(key: str) -> ConflictError:
    return ConflictError(f"episode {key!r} is held by a program that wrote to it in the last ten minutes; suspend it there first")


@dataclass(slots=True, weakref_slot=True)
class RoomRecorder:
    """Writes one episode under a lease. Until the beginning is written, that is the lease which the beginning will store.

    Not thread-safe: `Episode` makes one call at a time.
    """

    room: Room
    opened: EpisodeRecord
    lease: Lease
    is_written: bool = True

    @property
    def _room(self) -> Room:
        return self.room

    @property
    def _store(self) -> OpenStore:
        return self.room.store

    def now(self) -> datetime:
        """Returns the current time."""
        return self.room.store.clock()

    @operation
    def open(self) -> None:
        """Writes the beginning by itself. `ConflictError` if there is an episode of that id."""
        with self._write("episode_begin", self.opened.started_at) as write:
            self._put_beginning(write)
        self._is_now_written()

    @operation
    def held(self) -> EpisodeRecord | None:
        """Returns the stored episode, if it is open under this lease, which an undo restores."""
        self.room = self.room.latest
        if self.is_written:
            if self.room.project.record(LEASE, [self.opened.id])[self.opened.id] != self.lease:
                return None
            with suppress(MemoryNotFoundError):
                self.opened = stored(self.room, self.opened.id)
                return self.opened
            return None
        return self.opened

    @operation
    def step(self, step: Step, *, is_lesson: bool, source: VerdictSource = VerdictSource.CALLER) -> Step:
        """Stores a step, and the memory made of it, in one transaction."""
        self.room = self.room.latest
        step = self.room.store.redaction.value(step)
        if not is_lesson:
            return self._stored_step(step, None)[0]
        operation = Operation(UPSERT, STEP_METHOD, self.room.name, self.opened.agent)
        with reported(self.room.store.watchers, operation):
            kept, operation.result = self._stored_step(step, source)
            return kept

    def _stored_step(self, step: Step, judge: VerdictSource | None) -> tuple[Step, Outcome | None]:
        """Stores a step after those that are stored, and returns it with its memory, if it is a lesson, which a `judge` judged."""
        while True:
            number = len(self.opened.steps) + 1
            numbered = step.model_copy(update={"number": number})
            try:
                return self._with_beginning(lambda numbered=numbered: self._step(numbered, judge))  # type: ignore[misc]
            except ConflictError:  # steps were undone, or stored elsewhere, say by a forked child
                with suppress(MemoryNotFoundError):
                    self.opened = stored(self.room, self.opened.id)
                if len(self.opened.steps) + 1 == number:
                    raise

    @operation
    def end(self, ending: Ending) -> EpisodeRecord:
        """Stores the ending, its memory and the usage, in one transaction, and releases the episode."""
        self.room = self.room.latest
        ending = self.room.store.redaction.value(ending)
        if self.opened.ended_at is None:
            operation = Operation(UPSERT, "episode.end", self.room.name, self.opened.agent)
            try:
                with reported(self.room.store.watchers, operation):
                    operation.result = self.opened = self._with_beginning(lambda: self._close(ending))
                    return self.opened
            except ConflictError:
                with suppress(MemoryNotFoundError):
                    self.opened = stored(self.room, self.opened.id)
                if self.opened.ended_at is None:
                    raise
        if contradicts(self.opened, ending):
            said = self.opened.outcome or self.opened.status
            raise ConflictError(
                f"episode {self.opened.id} was ended before ({said}); settle({self.opened.id!r}, …) corrects a verdict"
            )
        return self.opened

    def _close(self, ending: Ending) -> EpisodeRecord:
        is_judged = ending.outcome is not None
        ended = self.opened.model_copy(
            update={
                "status": EpisodeStatus.ENDED if is_judged else EpisodeStatus.ABANDONED,
                "outcome": ending.outcome,
                "verdict_source": ending.source,
                "strategy": ending.strategy,
                "error": ending.error,
                "feedback": ending.feedback if is_judged else None,
                "reason": self.opened.reason if is_judged else ending.feedback,
                "used": ending.used,
                "ended_at": ending.at,
                "shown": with_use(self.opened.shown, ending.used),
            }
        )
        operation = "episode_end" if is_judged else "episode_abandon"
        lease = self.lease if self.is_written else None
        return close(self.room, [Closing(ended, lease=lease)], operation=operation, at=ending.at)[0]

    @operation
    def suspend(self) -> None:
        """Releases the lease."""
        self.room = self.room.latest
        self._with_beginning(self._suspend)

    def _suspend(self) -> None:
        with self._write("episode_suspend", self.now()) as write:
            if self.is_written:
                release(write, self.opened.id, self.lease)
            else:
                put_opening(write, self.opened)

    def _step(self, step: Step, judge: VerdictSource | None) -> tuple[Step, Outcome | None]:
        lesson = None if judge is None else self._lesson(step, judge)
        kept = step.model_copy(update={"memory_id": lesson.id}) if lesson else step
        entries = [] if lesson is None else [Entry(lesson, passages_of(lesson))]
        # Where nothing is learned, an embedder that is away keeps no step back.
        vectors, compared = (embed(self.room, entries), comparison_vectors(self.room)) if entries else ({}, {})
        with self._write("episode_step", step.at) as write:
            write.keep_vectors(compared)
            self._put_step(write, kept)
            for entry in entries:
                put(write, entry, vectors, at=to_micros(step.at))
        self.opened = self.opened.model_copy(update={"steps": (*self.opened.steps, kept)})
        return kept, lesson

    def _put_step(self, write: Write, step: Step) -> None:
        if self.is_written:
            check_open(write.stored, self.opened.id)
            last = step_key(self.opened.id, step.number - 1)
            if step.number > 1 and not write.stored.record(STEP, [last])[last][0]:
                raise ConflictError(f"steps of episode {self.opened.id!r} were undone meanwhile")
        else:
            self._put_beginning(write)
        write.put_record(STEP, step_key(self.opened.id, step.number), step_body(step), version=0)

    def _with_beginning(self, call: Callable[[], R]) -> R:
        """Makes a write together with the beginning, unless that is written. After a fork, parent or child may have written it."""
        if not self.is_written:
            try:
                result = call()
            except ConflictError:
                self._is_now_written()
            except StorageError:
                # A caller that gives up after this error leaves nothing to write.
                self.room.store.unwritten.pop(self.opened.id, None)
                raise
            else:
                self._is_now_written()
                return result
        return call()

    def _put_beginning(self, write: Write) -> None:
        put_opening(write, self.opened)
        write.put_record(LEASE, self.opened.id, self.lease[1], version=0)

    def _is_now_written(self) -> None:
        self.is_written = True
        self.room.store.unwritten.pop(self.opened.id, None)

    def _write(self, operation: str, at: datetime) -> AbstractContextManager[Write]:
        return self.room.project.write(actor=self.opened.agent, operation=operation, at=to_micros(at))

    def _lesson(self, step: Step, judge: VerdictSource) -> Outcome:
        request = LearnRequest(
            agent=self.opened.agent,
            user_id=self.opened.user_id,
            task=self.opened.task,
            task_type=self.opened.task_type,
            outcome=bool(step.ok),
            verdict_source=judge,
            strategy_used=step.action,
            error_message=step.error,
            feedback=step.feedback,
            duration_ms=step.duration_ms,
            metadata={"episode_id": self.opened.id, "step": step.number},
        )
        return outcome_from(self.room, step.at, request)


def _checked_slice(room: Room, memories: object, agent: str) -> MemorySlice:
    """Returns the slice if it was retrieved for this agent in this project, so that exposures are counted for the right agent."""
    if not isinstance(memories, MemorySlice):
        raise ValidationError(f"memories must be a slice that retrieve returned, not {quoted(memories)}")
    if (memories.agent, memories.project_id) != (agent, room.name):
        raise ValidationError(
            f"memories were retrieved for {quoted(memories.agent)} of project {quoted(memories.project_id)}, not for {agent!r} of {room.name!r}"
        )
    return memories
