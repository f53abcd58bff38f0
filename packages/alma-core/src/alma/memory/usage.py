"""What became of memories that were shown."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alma.errors import MemoryNotFoundError, ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.memory.scopes import readable
from alma.protocols import Write
from alma.types.kinds import FeedbackSignal
from alma.types.memories import AnyMemory
from alma.types.reports import UsageReport

_LOG = logging.getLogger("alma")
_COLUMNS = {
    FeedbackSignal.USED: "used",
    FeedbackSignal.IGNORED: "ignored",
    FeedbackSignal.THUMBS_UP: "thumbs_up",
    FeedbackSignal.THUMBS_DOWN: "thumbs_down",
}


@dataclass(frozen=True, slots=True)
class _Sorted:
    known: list[str]
    unknown: list[str]


def record_usage(room: Room, *, retrieved: object, used: object, agent: object, user_id: object) -> UsageReport:
    """Counts what was used; what was shown and not used counts as ignored, unless nobody said what was used (`used` is `None`)."""
    reader = args.checked_name(agent, "agent")
    used_ids = None if used is None else args.checked_ids(used, "used_memory_ids")
    report = judged(room, args.checked_ids(retrieved, "retrieved_memory_ids"), used_ids, agent=reader, user_id=user_id)
    if report.used or report.ignored:
        with room.project.write(actor=reader, operation="record_usage", at=room.now()) as write:
            count(write, report)
    return report


def judged(room: Room, shown: Sequence[str], used: Sequence[str] | None, *, agent: str, user_id: object) -> UsageReport:
    """What is to be counted for memories that were shown. Ids that the agent does not see are logged and left out."""
    found = _visible(room, dict.fromkeys([*shown, *(used or ())]), agent, user_id, preferences=True)
    if found.unknown:
        _LOG.warning(
            "record_usage: %r sees no memories %s; nothing was counted for them", agent, ", ".join(map(repr, found.unknown))
        )
    was_used = tuple(memory_id for memory_id in found.known if memory_id in (used or ()))
    rest = tuple(memory_id for memory_id in found.known if memory_id not in was_used)
    ignored, neutral = (rest, ()) if used is not None else ((), rest)
    return UsageReport(used=was_used, ignored=ignored, neutral=neutral, unknown=tuple(found.unknown))


def count(write: Write, report: UsageReport) -> None:
    """Adds to the counts of what was used and of what was passed over."""
    for memory_id in report.used:
        write.count_usage(memory_id, {"used": 1})
    for memory_id in report.ignored:
        write.count_usage(memory_id, {"ignored": 1})


def record_feedback(room: Room, *, memory_id: object, signal: object, agent: object, user_id: object) -> None:
    """Counts what somebody said about a memory that the agent can see. `MemoryNotFoundError` if it sees none of that id."""
    reader = args.checked_name(agent, "agent")
    column = _COLUMNS[_checked_signal(signal)]
    ids = args.checked_ids([memory_id], "memory_id")
    if not _visible(room, ids, reader, user_id, preferences=True).known:
        raise MemoryNotFoundError(f"{reader!r} sees no memory {memory_id!r} in project {room.name!r}")
    with room.project.write(actor=reader, operation="record_feedback", at=room.now()) as write:
        write.count_usage(ids[0], {column: 1})


def get(room: Room, memory_id: object, *, agent: object = None, user_id: object = None) -> AnyMemory:
    """A memory by id: any of the project, or with `agent` only one that this agent can see. `MemoryNotFoundError` otherwise."""
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    if user_id is not None and agent is None:
        raise ValidationError("user_id says whose preferences an agent may see, so it needs an agent")
    found = room.project.find(wanted)
    if found is not None and agent is not None:
        reader = args.checked_name(agent, "agent")
        found = found if _visible(room, [wanted], reader, user_id).known else None
    memory = None if found is None or found.is_archived else room.project.memories([found.memory]).get(found.memory)
    if memory is None:  # also one that was purged just now
        raise MemoryNotFoundError(
            f"project {room.name!r} has no memory {wanted!r}" + (f" that {agent!r} can see" if agent else "")
        )
    return memory


def _checked_signal(signal: Any) -> FeedbackSignal:
    try:
        return FeedbackSignal(signal)
    except ValueError as error:
        words = ", ".join(repr(known.value) for known in FeedbackSignal)
        raise ValidationError(f"signal {args.told(signal)} is none of {words}") from error


def _visible(room: Room, ids: Iterable[str], agent: str, user_id: object, *, preferences: bool = False) -> _Sorted:
    """Which of the ids are memories that the agent can see; with `preferences` also those of users it was shown and now names by id alone."""
    user = args.checked_name(user_id, "user_id") if user_id is not None else None
    scope = readable(room, agent=agent, user_id=user).by_row
    result = _Sorted([], [])
    for memory_id in ids:
        found = room.project.find(memory_id)
        is_seen = (
            found is not None
            and not found.is_archived
            and (found.partition.row in scope or (preferences and user is None and found.partition.is_user))
        )
        (result.known if is_seen else result.unknown).append(memory_id)
    return result
