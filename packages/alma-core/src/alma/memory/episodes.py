"""Episodes over a room: begun, kept step by step, ended, settled, and closed for a process that died."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from alma.episode import Episode
from alma.episode.episode import exposures
from alma.errors import AlmaError, ConflictError, MemoryNotFoundError, StorageError, ValidationError
from alma.memory import arguments as args
from alma.memory import crediting, recall, record, usage
from alma.memory.attempts import (
    END,
    EPISODE,
    LEASE,
    STEP,
    ending_body,
    get,
    lease_body,
    opening_body,
    step_body,
    step_key,
    stored,
    with_use,
)
from alma.memory.damage import names_damage, naming_damage
from alma.memory.learning import strategy_texts, writing
from alma.memory.room import Room
from alma.memory.swaps import check_order
from alma.protocols import Write
from alma.text import quoted
from alma.types.episodes import Ending, EpisodeRecord, EpisodeStatus, Step
from alma.types.identity import new_id, to_micros
from alma.types.kinds import Verdict, VerdictSource
from alma.types.memories import Outcome
from alma.types.passages import Passage, embedded, passages_of
from alma.types.reports import UsageReport
from alma.types.slice import MemorySlice

_LOG = logging.getLogger("alma")

CRASHED = "the process that held it was gone"

R = TypeVar("R")

_Lease = tuple[int, Mapping[str, Any]]
"""Version and body of a lease; version 0 if there is none."""


def begin(
    room: Room,
    *,
    agent: object,
    task: object,
    user_id: object,
    task_type: object,
    episode_id: object,
    top_k: object,
    memories: object = None,
    deferred: bool = False,
) -> Episode:
    """Opens an episode on a task, with what was retrieved for it or is retrieved now. `ScopeViolationError` if the agent may not learn from it.

    Its beginning is written at once or, `deferred`, with whatever of it is written first.
    """
    room.store.check_open()
    now = room.store.clock()
    name, asked = args.checked_name(agent, "agent"), args.checked_text(task, "task")
    check_order(room, agent)
    kind = args.optional_label(task_type, "task_type")
    if name in room.store.agents:
        record.outcome_from(room, now, {"agent": name, "task": asked, "task_type": kind, "outcome": Verdict.UNVERIFIED})
    user = None if user_id is None else args.checked_name(user_id, "user_id")
    key = new_id(now) if episode_id is None else args.checked_label(episode_id, "episode_id")
    shown = (
        recall.retrieve(room, task=asked, agent=name, top_k=top_k, user_id=user)
        if memories is None
        else _checked_slice(room, memories, name)
    )
    opened = EpisodeRecord(
        id=key,
        project_id=room.name,
        agent=name,
        task=asked,
        task_type=kind,
        user_id=user,
        started_at=now,
        shown=exposures(shown),
    )
    waits = deferred and episode_id is None  # another may have an id that was given
    return Episode(_recorder_of(room, opened, waits=waits), opened, shown)


def _recorder_of(room: Room, opened: EpisodeRecord, *, waits: bool) -> "RoomRecorder":
    """Who writes down a new episode. If it does not wait its beginning is written; `ConflictError` if there is one of its id."""
    lease = lease_body(room.store.presence.id, to_micros(opened.started_at))
    recorder = RoomRecorder(room, opened, (1, lease), is_written=False)
    if waits:
        room.store.openings.add(recorder)
        return recorder
    try:
        recorder.open()
    except ConflictError as error:
        raise ConflictError(f"there is an episode {opened.id!r} already: {_standing(room, opened.id)}") from error
    return recorder


def resume(room: Room, *, episode_id: object, memories: MemorySlice | None) -> Episode:
    """Takes up an episode that is open and that nobody else holds."""
    found = get(room, episode_id)
    if found.status is not EpisodeStatus.OPEN:
        raise ConflictError(f"episode {found.id!r} cannot be resumed: {_told(found)}")
    if memories is None:
        shown = MemorySlice(query=found.task, agent=found.agent, project_id=room.name)
    else:
        shown = _checked_slice(room, memories, found.agent)
    version, lease = room.project.record(LEASE, [found.id])[found.id]
    is_unwritten = not version and found.id in room.store.openings.of(room.name)
    if is_unwritten or (lease.get("holder") and room.store.presence.is_there(lease["holder"])):
        raise ConflictError(f"episode {found.id!r} is held by a running process; suspend it there first")
    at = room.now()
    taken = lease_body(room.store.presence.id, at)
    with room.project.write(actor=found.agent, operation="episode_resume", at=at) as write:
        write.put_record(LEASE, found.id, taken, version=version)
    return Episode(RoomRecorder(room, found, (version + 1, taken)), found, shown)


def settle(room: Room, *, episode_id: object, outcome: object, reason: object, source: object = None) -> EpisodeRecord:
    """Sets or corrects the verdict of an episode that has ended, in one transaction. The same again does nothing."""
    verdict = args.checked_verdict(outcome)
    why = args.optional_text(reason, "reason")
    judge = None if source is None else args.checked_source(source)
    (key,) = args.checked_ids([episode_id], "episode_id")
    version, _ = room.project.record(END, [key])[key]
    found = get(room, key)
    if found.status is EpisodeStatus.OPEN:
        raise ConflictError(f"episode {quoted(key)} is still open; end it before it is settled")
    if found.outcome is verdict and why in (None, found.reason) and _is_judge(room, found, judge):
        return found
    now = room.store.clock()
    said = why or (found.reason if found.status is EpisodeStatus.ENDED else None)
    settled = found.model_copy(update={"status": EpisodeStatus.ENDED, "outcome": verdict, "reason": said, "settled_at": now})
    lease = room.project.record(LEASE, [key])[key]
    return _close(room, settled, operation="settle", at=now, version=version, lease=lease, before=found, judge=judge)


def recovered(room: Room) -> Room:
    """The room, after closing as abandoned the episodes that were left open by processes that are gone."""
    try:
        with naming_damage(lambda: room.store.storage):
            for key, version, lease in list(room.project.records(LEASE)):
                _recover(room, key, (version, lease))
        room.store.presence.sweep()
    except AlmaError as problem:
        _LOG.warning("episodes left open by a crash were not closed: %s", problem)
    return room


def _recover(room: Room, key: str, lease: _Lease) -> None:
    """Closes an episode whose holder is gone; one that cannot be read is left as it is."""
    try:
        holder = lease[1].get("holder")
        if not holder or room.store.presence.is_there(holder):
            return
        RoomRecorder(room, stored(room, key), lease).close(Ending(outcome=None, feedback=CRASHED, at=room.store.clock()))
    except ConflictError:  # another process did it meanwhile, or took the episode up
        return
    except AlmaError as problem:
        _LOG.warning("episode %r, left open, was not closed: %s", key, problem)
        return
    _LOG.info("episode %s was left open by a process that is gone; it is closed as abandoned", key)


@names_damage(lambda recorder: recorder.room.store.storage)
@dataclass(slots=True, weakref_slot=True)
class RoomRecorder:
    """Writes one episode into its room, as whoever holds it by this lease, which is the one that its beginning gives it until that is written.

    Not thread-safe: `Episode` sees to it that one call is made at a time.
    """

    room: Room
    opened: EpisodeRecord
    lease: _Lease
    is_written: bool = True

    def now(self) -> datetime:
        """The present."""
        return self.room.store.clock()

    def open(self) -> None:
        """Writes the beginning by itself. `ConflictError` if there is an episode of that id."""
        with self._write("episode_begin", self.opened.started_at) as write:
            self._put_beginning(write)
        self._is_now_written()

    def held(self) -> EpisodeRecord | None:
        """What is stored of the episode, if it is open under this lease, which an undo brings back."""
        self.room = self.room.latest
        if not self.is_written:
            return self.opened
        if self.room.project.record(LEASE, [self.opened.id])[self.opened.id] != self.lease:
            return None
        try:
            self.opened = stored(self.room, self.opened.id)
        except MemoryNotFoundError:
            return None
        return self.opened

    def step(self, step: Step, *, is_lesson: bool) -> Step:
        """Keeps a step, and the memory made of it, in one transaction."""
        while True:
            try:
                return self._with_beginning(lambda: self._step(self._numbered(step), is_lesson))
            except ConflictError:
                if not self._took_in_other_steps():
                    raise

    def _took_in_other_steps(self) -> bool:
        """Whether steps were stored elsewhere meanwhile, say by a forked child; they are known now."""
        count = len(self.opened.steps)
        with suppress(MemoryNotFoundError):
            self.opened = stored(self.room, self.opened.id)
        return len(self.opened.steps) != count

    def _numbered(self, step: Step) -> Step:
        """The step as the next one after those that are stored."""
        count = len(self.opened.steps)
        last = step_key(self.opened.id, count)
        if count and self.is_written and not self.room.project.record(STEP, [last])[last][0]:
            self.opened = stored(self.room, self.opened.id)  # steps were undone
        return step.model_copy(update={"number": len(self.opened.steps) + 1})

    def end(self, ending: Ending) -> EpisodeRecord:
        """Keeps the ending, the memory of it and what was used, in one transaction, and lets go of the episode."""
        self.room = self.room.latest
        try:
            return self._with_beginning(lambda: self.close(ending))
        except ConflictError:  # somebody closed it, or changed its lease
            self.lease = self._check_held()
            return self.close(ending)

    def close(self, ending: Ending) -> EpisodeRecord:
        """As `end`, by this lease alone: the write lets go of it, which is a `ConflictError` where it is another by now, or gone."""
        is_judged = ending.outcome is not None
        ended = self.opened.model_copy(
            update={
                "status": EpisodeStatus.ENDED if is_judged else EpisodeStatus.ABANDONED,
                "outcome": ending.outcome,
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
        return _close(self.room, ended, operation=operation, at=ending.at, version=0, lease=lease)

    def suspend(self) -> None:
        """Gives the lease back."""
        self._with_beginning(self._suspend)

    def _suspend(self) -> None:
        version, _ = self._check_held()
        at = self.now()
        with self._write("episode_suspend", at) as write:
            if not self.is_written:
                _put_opening(write, self.opened)
                version = 0
            write.put_record(LEASE, self.opened.id, lease_body(None, to_micros(at)), version=version)

    def _step(self, step: Step, is_lesson: bool) -> Step:
        self._check_held()
        lesson = self._lesson(step) if is_lesson else None
        kept = step.model_copy(update={"memory_id": lesson.id}) if lesson else step
        passages = passages_of(lesson) if lesson else ()
        vectors = _vectors(self.room, lesson, passages)
        with writing(self.room, actor=self.opened.agent, operation="episode_step", at=to_micros(step.at)) as learner:
            if not self.is_written:
                self._put_beginning(learner.write)
            learner.write.put_record(STEP, step_key(self.opened.id, step.number), step_body(kept), version=0)
            if lesson:
                learner.add(lesson, passages, vectors, is_step=True)
        self.opened = self.opened.model_copy(update={"steps": (*self.opened.steps, kept)})
        return kept

    def _with_beginning(self, call: Callable[[], R]) -> R:
        """Makes a write that the beginning goes with, unless that is written; after a fork, parent or child may have written it."""
        if not self.is_written:
            try:
                result = call()
            except ConflictError:
                self._is_now_written()
            except StorageError:
                self.room.store.openings.drop(self.opened.id)  # whoever gives the episode up has nothing more to say
                raise
            else:
                self._is_now_written()
                return result
        return call()

    def _put_beginning(self, write: Write) -> None:
        _put_opening(write, self.opened)
        write.put_record(LEASE, self.opened.id, self.lease[1], version=0)

    def _is_now_written(self) -> None:
        self.is_written = True
        self.room.store.openings.drop(self.opened.id)

    def _write(self, operation: str, at: datetime) -> AbstractContextManager[Write]:
        return self.room.project.write(actor=self.opened.agent, operation=operation, at=to_micros(at))

    def _check_held(self) -> _Lease:
        """The lease. From here to the end of the call, the room is the one of the embedder that the store has now."""
        self.room = self.room.latest
        if not self.is_written:
            return self.lease
        version, lease = self.room.project.record(LEASE, [self.opened.id])[self.opened.id]
        if not version:
            raise ConflictError(f"episode {self.opened.id!r} is no longer open: {_standing(self.room, self.opened.id)}")
        return version, lease

    def _lesson(self, step: Step) -> Outcome:
        return record.outcome_from(
            self.room,
            step.at,
            {
                "agent": self.opened.agent,
                "task": self.opened.task,
                "task_type": self.opened.task_type,
                "outcome": bool(step.ok),
                "strategy_used": step.action,
                "error_message": step.error,
                "duration_ms": step.duration_ms,
                "metadata": {"episode_id": self.opened.id, "step": step.number},
            },
        )


def _close(
    room: Room,
    ended: EpisodeRecord,
    *,
    operation: str,
    at: datetime,
    version: int,
    lease: _Lease | None,
    before: EpisodeRecord | None = None,
    judge: VerdictSource | None = None,
) -> EpisodeRecord:
    """Writes how an episode ended or was settled, with the memory of it, the credit for it and, at its first verdict, what was used.

    `lease` is let go of; without one nothing is written of the episode, which begins here, too. `before` is how it had ended before it was settled,
    `judge` who settles it.
    """
    outcome, was = _outcome(room, ended, at, judge)
    if outcome is not None:
        ended = ended.model_copy(update={"outcome_id": outcome.id})
    passages = () if outcome is None else passages_of(outcome)
    vectors = _vectors(room, outcome, passages)
    with writing(room, actor=ended.agent, operation=operation, at=to_micros(at)) as learner:
        write = learner.write
        use = _use(room, write, ended) if _is_judged(ended) and not _is_judged(before) else None
        if use is not None:
            ended = ended.model_copy(update={"credited": use.used})
        write.put_record(END, ended.id, ending_body(ended), version=version)
        write.count_usage(crediting.counts(write.stored, before, ended, use))
        if outcome is not None:
            if was is None:
                learner.add(outcome, passages, vectors)
            else:
                learner.correct(outcome, was, passages, vectors)
        if lease is None:
            _put_opening(write, ended)
        else:
            _release(write, ended.id, lease)
    return ended


def _outcome(
    room: Room, ended: EpisodeRecord, at: datetime, judge: VerdictSource | None
) -> tuple[Outcome | None, Verdict | None]:
    """The memory of how an episode went, and the verdict that is stored of it; none of one that was abandoned or whose memory was erased."""
    if ended.outcome is None:
        return None, None
    if ended.outcome_id is None:
        given = {
            "agent": ended.agent,
            "task": ended.task,
            "task_type": ended.task_type,
            "outcome": ended.outcome,
            "strategy_used": ended.strategy,
            "error_message": ended.error,
            "feedback": ended.reason or ended.feedback,
            "duration_ms": ended.duration_ms,
            "metadata": {"episode_id": ended.id},
            "timestamp": ended.ended_at,
            "verdict_source": judge,
        }
        return record.outcome_from(room, at, given), None
    kept = _kept_outcome(room, ended.outcome_id)
    if kept is None:
        return None, None
    judged_by = kept.verdict_source if judge is None else judge
    _check_trust(ended, kept, judged_by)
    feedback = ended.reason or ended.feedback
    changed = {"outcome": ended.outcome, "user_feedback": feedback, "updated_at": at, "verdict_source": judged_by}
    return kept.model_copy(update=changed), kept.outcome


def _kept_outcome(room: Room, outcome_id: str) -> Outcome | None:
    """The memory of how an episode went; `None` if it was erased."""
    place = room.project.find([outcome_id]).get(outcome_id)
    kept = None if place is None else room.project.memories([place.memory]).get(place.memory)
    return kept if isinstance(kept, Outcome) else None


def _is_judge(room: Room, found: EpisodeRecord, judge: VerdictSource | None) -> bool:
    """Whether the memory of an episode names this judge. Also if no judge is given, or no memory is left to name one."""
    kept = None if judge is None or found.outcome_id is None else _kept_outcome(room, found.outcome_id)
    return kept is None or kept.verdict_source is judge


def _check_trust(ended: EpisodeRecord, kept: Outcome, judge: VerdictSource) -> None:
    """`ConflictError` if a verdict would be trusted otherwise than the one it replaces: evidence of the two is kept apart and is not moved."""
    if kept.verdict_source.is_trusted is not judge.is_trusted:
        raise ConflictError(
            f"episode {quoted(ended.id)} was judged by source {kept.verdict_source.value!r}, whose evidence is kept apart from that of "
            f"{judge.value!r}; leave it, and learn the outcome beside it with verdict_source={judge.value!r}"
        )


def _is_judged(record: EpisodeRecord | None) -> bool:
    return record is not None and record.status is EpisodeStatus.ENDED


def _use(room: Room, write: Write, ended: EpisodeRecord) -> UsageReport | None:
    """What was used of what was shown; `None` if nothing was said of that."""
    if ended.used is None:
        return None
    shown = [exposure.memory_id for exposure in ended.shown]
    return usage.judged(room, write.stored, shown, ended.used, agent=ended.agent, user_id=ended.user_id)


def _checked_slice(room: Room, memories: object, agent: str) -> MemorySlice:
    """What this agent was shown of this project; nobody's exposures are counted as another's."""
    if not isinstance(memories, MemorySlice):
        raise ValidationError(f"memories must be a slice that retrieve returned, not {quoted(memories)}")
    if (memories.agent, memories.project_id) != (agent, room.name):
        raise ValidationError(
            f"memories were retrieved for {quoted(memories.agent)} of project {quoted(memories.project_id)}, not for {agent!r} of {room.name!r}"
        )
    return memories


def _vectors(room: Room, memory: Outcome | None, passages: Sequence[Passage]) -> Mapping[str, bytes]:
    if memory is None:
        return {}
    texts = [passage.text for passage in embedded(passages)]
    return room.store.texts.of([*texts, *strategy_texts(memory)], room.project)


def _put_opening(write: Write, opened: EpisodeRecord) -> None:
    write.put_record(EPISODE, opened.id, opening_body(opened), version=0, at=to_micros(opened.started_at))


def _release(write: Write, key: str, lease: _Lease) -> None:
    version, body = lease
    if version:
        write.drop_record(LEASE, key, body, version=version)


def _standing(room: Room, key: str) -> str:
    try:
        return _told(stored(room, key))
    except MemoryNotFoundError:
        return "its beginning was undone"


def _told(found: EpisodeRecord) -> str:
    if found.status is EpisodeStatus.ENDED:
        return f"it ended as {found.outcome}"
    return "it was abandoned" if found.status is EpisodeStatus.ABANDONED else "it is open"
