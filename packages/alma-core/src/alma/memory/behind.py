"""The outcomes that a rule was learned from."""

from alma.errors import MemoryNotFoundError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.text import quoted
from alma.types.memories import Outcome


def outcomes_behind(room: Room, *, memory_id: object, limit: object) -> list[Outcome]:
    """The newest outcomes that the evidence of a rule was made of, newest first, forgotten ones too; none for a rule that somebody stated."""
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    most = args.checked_count(limit, "limit")
    place = room.project.find([wanted]).get(wanted)
    if place is None:
        raise MemoryNotFoundError(f"project {room.name!r} has no memory {quoted(wanted)}")
    stored = room.project.learned.behind([place.memory]).get(place.memory)
    if stored is None:
        return []
    rows = room.project.learned.outcomes(stored.evidence.id, newest=most)
    kept = room.project.memories(rows)
    return [outcome for row in rows if isinstance(outcome := kept.get(row), Outcome)]
