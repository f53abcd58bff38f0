"""The outcomes that a rule rests on."""

from alma.errors import MemoryNotFoundError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.memory.rules import find_rules
from alma.text import quoted
from alma.types.memories import Outcome


def outcomes_behind(room: Room, memory_id: str, limit: int = 20) -> list[Outcome]:
    """Returns the outcomes that a heuristic or an anti-pattern was learned from, newest first, forgotten ones too; none if it was
    stated.

    `MemoryNotFoundError` if there is no such memory.
    """
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    most = args.checked_count(limit, "limit")
    if room.project.find([wanted]):
        return []
    rule = find_rules(room, [wanted], with_archived=True).get(wanted)
    if rule is None:
        raise MemoryNotFoundError(f"project {room.name!r} has no memory {quoted(wanted)}")
    found = room.project.named(rule.row.outcomes)
    outcomes = [outcome for outcome in found.values() if isinstance(outcome, Outcome)]
    places = {outcome_id: place for place, outcome_id in enumerate(rule.row.outcomes)}
    return sorted(outcomes, key=lambda outcome: (-outcome.timestamp.timestamp(), places[outcome.id]))[:most]
