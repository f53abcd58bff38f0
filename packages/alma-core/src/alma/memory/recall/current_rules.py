"""Learned rules as they stand now, each for tasks like the one that it began on: for lists and single memories, which are about no task."""

from collections.abc import Iterator, Mapping

from alma.learning.better_alternative import alternative_to
from alma.learning.consulting import consulted
from alma.learning.ledger import Owners, Side
from alma.learning.levels import Row, anti_pattern_level, heuristic_level
from alma.learning.proving import proven_rows
from alma.memory.recall.relevant_rules import OTHERWISE, RULES, RelevantRules, Shown
from alma.memory.room import Room
from alma.memory.scopes import counted_owners, needed_by
from alma.observing import merged_reasons
from alma.protocols import StoredEvidence
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory
from alma.types.partition import agent_in


def as_they_stand(room: Room, memories: Mapping[int, AnyMemory]) -> dict[int, AnyMemory]:
    """Returns memories by their rows, learned rules among them with the counts, the tasks and the standing that their evidence has now.

    What is stored of a rule beside its counts is as of its last change of standing. Of a rule whose evidence bears it out no more, only the counts
    are of now; one whose evidence is too old to be in hand stays as it is stored.
    """
    found = rules_now(room, memories)
    return {row: found.as_shown(row, memory) for row, memory in memories.items()}


def rules_now(room: Room, memories: Mapping[int, AnyMemory]) -> RelevantRules:
    """Returns what the evidence of the learned rules among some memories says of them now. Those that it bears out no more are hidden, too.

    Without the scale of the embedder near tasks do not count, on which a rule may rest: hidden are then those whose own task speaks against them.
    """
    learned = [row for row, memory in memories.items() if memory.kind in RULES and memory.metadata.get("learned")]
    behind = room.project.learned.behind(learned)
    found, counts_near_tasks = RelevantRules(), room.scale is not None
    for owner in dict.fromkeys(stored.evidence.owner for stored in behind.values()):
        rules = {row: stored for row, stored in behind.items() if stored.evidence.owner == owner}
        with room.book(_counted(room, owner)) as book:
            for row, stored in rules.items():
                side = book.side(is_of_steps=stored.evidence.is_of_steps)
                for shown in _shown(room, side, stored, memories[row]):
                    found.shown[row] = shown
                    is_failing = memories[row].kind == MemoryType.ANTI_PATTERN
                    if is_failing:
                        found.failing.add(row)
                    if shown.level is None and (counts_near_tasks or _is_refuted(shown.row, is_failing=is_failing)):
                        found.hidden[row] = OTHERWISE
    return found


def _is_refuted(row: Row, *, is_failing: bool) -> bool:
    successes, trials = row.lifetime.successes, row.lifetime.trials
    return 2 * (successes if is_failing else trials - successes) >= trials


def _counted(room: Room, owner: str) -> Owners:
    return counted_owners(room, owner, has_users=room.has_users(agent_in(owner), room.project.partitions()))


def _shown(room: Room, side: Side, stored: StoredEvidence, memory: AnyMemory) -> Iterator[Shown]:
    """Yields what is known of a rule where it began, if that is in hand."""
    entry, strategy = side.entry(stored.evidence.id), stored.evidence.strategy_hash
    if entry is None:
        return
    known = consulted(side, side.question_of(entry), home=side.task_of(entry), wanted=[strategy])
    place = known.row_of(strategy)
    if place is None:
        return
    row = Row.of(known.advice, place, **proven_rows(known, among=[strategy]).get(place, {}))
    is_failing = memory.kind == MemoryType.ANTI_PATTERN
    level = (anti_pattern_level if is_failing else heuristic_level)(row, needed_by(room, agent_in(stored.evidence.owner)))
    reasons = merged_reasons(found.evidence.reasons for found, _ in known.entries(place))
    instead = alternative_to(known, place) if is_failing else None
    yield Shown(row, level, float(known.advice.expected[place]), instead, reasons)
