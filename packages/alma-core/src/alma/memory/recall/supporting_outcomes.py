"""The outcomes that a rule was learned from."""

from alma.errors import MemoryNotFoundError
from alma.learning.consulting import consulted
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.text import quoted
from alma.types.evidence import Evidence
from alma.types.memories import Outcome


def outcomes_behind(room: Room, *, memory_id: object, limit: object) -> list[Outcome]:
    """The newest outcomes that the evidence of a rule was made of, newest first, forgotten ones too; none for a rule that was stated."""
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    most = args.checked_count(limit, "limit")
    place = room.project.find([wanted]).get(wanted)
    if place is None:
        raise MemoryNotFoundError(f"project {room.name!r} has no memory {quoted(wanted)}")
    stored = room.project.learned.behind([place.memory]).get(place.memory)
    if stored is None:
        return []
    resting = _resting_on(room, stored.evidence)
    rows = {row for seen in resting for row in room.project.learned.outcomes(seen, newest=most)}
    kept = room.project.memories(sorted(rows))
    found = [outcome for outcome in kept.values() if isinstance(outcome, Outcome)]
    return sorted(found, key=lambda outcome: (outcome.timestamp, outcome.id), reverse=True)[:most]


def _resting_on(room: Room, seen: Evidence) -> list[str]:
    """The ids of the evidence that a rule rests on: that of near tasks on strategies that are the same."""
    with room.book((seen.owner,)) as book:
        side = book.side(is_of_steps=seen.is_of_steps)
        entry = side.entry(seen.id)
        if entry is None:
            return [seen.id]
        known = consulted(side, side.question_of(entry))
        row = known.row_of(seen.strategy_hash)
        return [seen.id] if row is None else [found.evidence.id for found, _ in known.entries(row)]
