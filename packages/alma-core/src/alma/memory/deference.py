"""Shared rules give way to what the reader learned itself about the same strategy."""

from collections.abc import Mapping, Sequence

from alma.memory.room import Room
from alma.protocols import Candidate
from alma.types.kinds import MemoryType
from alma.types.partition import Partition

RULES = frozenset({MemoryType.HEURISTIC.value, MemoryType.ANTI_PATTERN.value})

ENOUGH_TRIALS = 3
"""From so many trials of its own on, an agent needs nobody else's rule."""


def without_overruled(
    room: Room, candidates: Sequence[Candidate], partitions: Mapping[int, Partition], *, reader: str
) -> Sequence[Candidate]:
    """The candidates but for the rules of others on what the reader has evidence of its own."""
    shared = [one.memory for one in candidates if is_shared_rule(partitions[one.partition], reader)]
    overruled = room.project.learned.overruled(shared, reader=reader, trials=ENOUGH_TRIALS) if shared else ()
    return [one for one in candidates if one.memory not in overruled] if overruled else candidates


def is_shared_rule(partition: Partition, reader: str) -> bool:
    """Whether these are another agent's heuristics or anti-patterns."""
    return partition.kind in RULES and partition.owner != reader
