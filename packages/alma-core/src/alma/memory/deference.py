"""Shared rules give way to what the reader learned itself about the same strategy."""

from collections.abc import Mapping, Sequence

from alma.learning.matching import same_strategy, same_task
from alma.memory.nearby import Vectors, cosine_of, vectors_of
from alma.memory.room import Room
from alma.protocols import Candidate
from alma.text import matched_text
from alma.types.evidence import STEP, WHOLE_CLASS, Evidence
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
    own = [one.memory for one in candidates if is_own_rule(partitions[one.partition], reader)]
    gone = overruled(room, shared, own, reader=reader)
    return [one for one in candidates if one.memory not in gone] if gone else candidates


def overruled(room: Room, shared: Sequence[int], own: Sequence[int], *, reader: str) -> set[int]:
    """Those of the shared rules on whose strategy the reader tried often enough itself.

    In the same words, whatever is known of it; in others that mean the same, by those of its rules that are given, of a task of the same class.
    """
    if not shared:
        return set()
    gone = set(room.project.learned.overruled(shared, reader=reader, trials=ENOUGH_TRIALS))
    left = [memory for memory in shared if memory not in gone]
    if not left or not own:
        return gone
    behind = {memory: stored.evidence for memory, stored in room.project.learned.behind([*left, *own]).items()}
    mine = [behind[memory] for memory in own if memory in behind and behind[memory].lifetime.trials >= ENOUGH_TRIALS]
    theirs = {memory: behind[memory] for memory in left if memory in behind}
    vectors = vectors_of(room, [matched_text(seen.strategy) for seen in (*mine, *theirs.values())]) if mine else {}
    return gone | {memory for memory, seen in theirs.items() if _is_among(room, seen, mine, vectors)}


def is_shared_rule(partition: Partition, reader: str) -> bool:
    """Whether these are another agent's heuristics or anti-patterns."""
    return partition.kind in RULES and partition.owner != reader


def is_own_rule(partition: Partition, reader: str) -> bool:
    """Whether these are the agent's own heuristics or anti-patterns."""
    return partition.kind in RULES and partition.owner == reader


def _is_among(room: Room, seen: Evidence, others: Sequence[Evidence], vectors: Vectors) -> bool:
    """Whether one of the others is about the same strategy and like tasks."""
    text = matched_text(seen.strategy)
    return any(
        same_strategy(text, other, cosine_of(vectors, text, other)) and _has_like_tasks(room, seen, one)
        for one in others
        if (other := matched_text(one.strategy))
    )


def _has_like_tasks(room: Room, one: Evidence, other: Evidence) -> bool:
    if one.task_class == other.task_class:
        return True
    if one.task_class.startswith(STEP) != other.task_class.startswith(STEP):
        return False
    task, like = _task(room, one), _task(room, other)
    return bool(task and like) and same_task(task, like, cosine_of(vectors_of(room, [task, like]), task, like))


def _task(room: Room, seen: Evidence) -> str:
    """The task that stands for the class, "" if none is known."""
    whole = room.project.learned.at(seen.agent, seen.task_class, WHOLE_CLASS)
    return matched_text((whole.evidence.task if whole else seen.task) or "")
