"""Late verdicts: of one episode, or of all that ended in a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from alma.errors import ConflictError, MemoryNotFoundError, ValidationError
from alma.memory import arguments as args
from alma.memory.episodes.closing import Closing, close, kept_outcome
from alma.memory.episodes.records import END, get, of_run
from alma.memory.room import Room
from alma.text import quoted
from alma.types.episodes import EpisodeRecord, EpisodeStatus
from alma.types.kinds import Verdict, VerdictSource


@dataclass(frozen=True, slots=True)
class _Said:
    """A verdict that was checked."""

    verdict: Verdict
    reason: str | None
    source: VerdictSource | None


def settle(
    room: Room, *, episode_id: object, run_id: object, outcome: object, reason: object, source: object
) -> EpisodeRecord | list[EpisodeRecord]:
    """Sets or corrects the verdict of an episode that is closed, or of all that ended in a run, in one transaction. Repeating it changes
    nothing."""
    if (episode_id is None) is (run_id is None):
        raise ValidationError("settle needs an episode_id or a run_id, and not both")
    verdict, why = args.checked_verdict(outcome), room.store.redaction.value(args.optional_text(reason, "reason"))
    said = _Said(verdict, why, None if source is None else args.checked_source(source))
    if run_id is not None:
        return _run_settled(room, args.checked_label(run_id, "run_id"), said)
    with room.project.moment():
        found = get(room, episode_id)
        if found.status is EpisodeStatus.OPEN:
            raise ConflictError(f"episode {quoted(found.id)} is still open; end it before it is settled")
        closings = _closings(room, [found], said)
    return _written(room, [found], closings)[0]


def _run_settled(room: Room, run_id: str, said: _Said) -> list[EpisodeRecord]:
    with room.project.moment():
        found = of_run(room, run_id)
        if not found:
            raise MemoryNotFoundError(f"project {room.name!r} has no episode of run {quoted(run_id)}")
        ended = [episode for episode in found if episode.status is EpisodeStatus.ENDED]
        if not ended:
            standings = ", ".join(f"{quoted(episode.id)} is {episode.status.value}" for episode in found)
            raise ConflictError(f"no episode of run {quoted(run_id)} has ended: {standings}")
        closings = _closings(room, ended, said)
    return _written(room, ended, closings)


def _written(room: Room, found: Sequence[EpisodeRecord], closings: Sequence[Closing]) -> list[EpisodeRecord]:
    """Writes the closings, if any, and returns the episodes as stored."""
    if not closings:
        return list(found)
    at = closings[0].ended.settled_at
    assert at is not None
    kept = {episode.id: episode for episode in close(room, closings, operation="settle", at=at)}
    return [kept.get(episode.id, episode) for episode in found]


def _closings(room: Room, found: Sequence[EpisodeRecord], said: _Said) -> list[Closing]:
    """Returns the closings of those episodes that do not have this verdict yet."""
    now = room.store.clock()
    new = [episode for episode in found if not _is_settled_so(room, episode, said)]
    endings = room.project.record(END, [episode.id for episode in new])
    return [Closing(_judged(episode, said, now), endings[episode.id][0], before=episode, judge=said.source) for episode in new]


def _is_settled_so(room: Room, found: EpisodeRecord, said: _Said) -> bool:
    return found.outcome is said.verdict and said.reason in (None, found.reason) and _is_judge(room, found, said.source)


def _is_judge(room: Room, found: EpisodeRecord, judge: VerdictSource | None) -> bool:
    """Returns True when the memory of an episode names this judge, and also if no judge is given, or no memory is left to name one."""
    kept = None if judge is None or found.outcome_id is None else kept_outcome(room, found.outcome_id)
    return kept is None or kept.verdict_source is judge


def _judged(found: EpisodeRecord, said: _Said, now: datetime) -> EpisodeRecord:
    """Returns the episode with its verdict. The reason for abandoning it is not a reason for the verdict."""
    before = found.reason if found.status is EpisodeStatus.ENDED else None
    return found.model_copy(
        update={
            "status": EpisodeStatus.ENDED,
            "outcome": said.verdict,
            "verdict_source": said.source or found.verdict_source,
            "reason": said.reason or before,
            "settled_at": now,
        }
    )
