"""Rules are shown where their evidence is near, and with what it says of the task at hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alma.learning.better_alternative import better_alternative
from alma.learning.consulting import Consulted
from alma.learning.ledger import OTHERS
from alma.learning.level_words import said_of
from alma.learning.levels import Level, Row
from alma.learning.pooling import SAME_WAY
from alma.learning.rules import (
    confidence_in_failure,
    confidence_in_success,
    counted,
    shortened_strategy,
)
from alma.learning.standings import Standings
from alma.learning.telling import most_telling
from alma.memory.judging import needed_by, speaks_for
from alma.memory.knowledge import Asking, advised, asking
from alma.memory.readable import ReadableScope
from alma.memory.room import Room
from alma.observing import merged_reasons
from alma.protocols import Candidate, StoredEvidence
from alma.types.evidence import Happening
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, AnyMemory, Heuristic
from alma.types.partition import Partition

RULES = frozenset({MemoryType.HEURISTIC.value, MemoryType.ANTI_PATTERN.value})

RELEVANT = 0.40
"""A rule is shown from this nearness of its nearest telling task on (`nearness` in `learning.kernels`)."""

LEAST_TRIALS, LEAST_OF_ONE_TASK = 1.5, 0.9
"""With less pooled evidence a rule is not shown: retries of one other task say too little. Where the caller named the type, or where that task is
`VERY_NEAR`, one is enough."""

VERY_NEAR = 0.6

FAR = "its evidence is on other tasks than this one"
OTHERWISE = "what is known of tasks like this one no longer bears it out"
ALREADY_SHOWN = "another rule that is shown is about the same way of doing it"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a rule says of the task at hand: counts, how far it is believed, and what to do instead."""

    row: Row
    level: Level
    expected: float
    better_alternative: str | None
    reasons: Sequence[Happening]


@dataclass(slots=True)
class RelevantRules:
    """The learned rules among some memories: those that are shown, and why others are not, by row."""

    shown: dict[int, Shown] = field(default_factory=dict)
    hidden: dict[int, str] = field(default_factory=dict)
    failing: set[int] = field(default_factory=set)
    """The rows of the anti-patterns among those that are shown."""

    def kept(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """The candidates without hidden rules, the shown ones with the counts that hold for the task at hand."""
        return [self._as_shown(one) for one in candidates if one.memory not in self.hidden]

    def _as_shown(self, one: Candidate) -> Candidate:
        shown = self.shown.get(one.memory)
        if shown is None:
            return one
        lifetime, recent = shown.row.lifetime, shown.row.recent
        if one.memory in self.failing:
            return one._replace(successes=lifetime.successes, trials=lifetime.failures, confidence=confidence_in_failure(recent))
        return one._replace(successes=lifetime.successes, trials=lifetime.trials, confidence=confidence_in_success(recent))

    def as_shown(self, row: int, memory: AnyMemory) -> AnyMemory:
        """The memory with what it says of the task at hand."""
        shown = self.shown.get(row)
        if shown is None or not isinstance(memory, Heuristic | AntiPattern):
            return memory
        lifetime = shown.row.lifetime
        metadata = {
            **memory.metadata,
            "status": shown.level.standing.value,
            **said_of(shown.row, shown.level, works=row not in self.failing),
        }
        if isinstance(memory, Heuristic):
            counts = {"occurrence_count": counted(lifetime.trials), "success_count": int(lifetime.successes)}
            confidence = confidence_in_success(shown.row.recent)
            return memory.model_copy(update={**counts, "confidence": confidence, "metadata": metadata})
        failures = counted(lifetime.failures)
        counts = {"occurrence_count": failures, "success_count": counted(lifetime.trials) - failures}
        said = {
            "confidence": confidence_in_failure(shown.row.recent),
            "better_alternative": shown.better_alternative,
            "why_bad": most_telling(shown.reasons) or memory.why_bad,
        }
        return memory.model_copy(update={**counts, **said, "metadata": metadata})

    def as_warning(self, row: int, pattern: AntiPattern) -> AntiPattern:
        """An anti-pattern with what it says of the task at hand."""
        shown = self.as_shown(row, pattern)
        assert isinstance(shown, AntiPattern)  # it stays what it is
        return shown


def relevant_rules(
    room: Room,
    rows: Mapping[int, str],
    *,
    reader: str,
    task: str | None,
    task_type: str | None,
    vector: NDArray[np.float32] | None = None,
    scope: ReadableScope | None = None,
) -> RelevantRules:
    """Which of the rules, kinds by their rows, speak about a task, for a reader. Rules that were stated are always shown, and not among them."""
    found = RelevantRules()
    behind = room.project.learned.behind([row for row, kind in rows.items() if kind in RULES])
    if not behind:
        return found
    asked = asking(room, reader=reader, task=task, task_type=task_type, vector=vector, scope=scope)
    for is_of_steps in (False, True):
        learned = {row: stored for row, stored in behind.items() if stored.evidence.is_of_steps is is_of_steps}
        if learned:
            wanted = [stored.evidence.strategy_hash for stored in learned.values()]
            with advised(room, asked, is_of_steps=is_of_steps, wanted=wanted) as known:
                _judge(room, known, learned, rows, asked, found)
    return found


def _judge(
    room: Room,
    known: Consulted,
    learned: Mapping[int, StoredEvidence],
    kinds: Mapping[int, str],
    asked: Asking,
    found: RelevantRules,
) -> None:
    standings = Standings.of(known, needed_by(room, asked.reader))
    taken: dict[str, list[int]] = {}
    for row in sorted(learned, key=lambda row: _preference(known, learned[row], asked.reader, row)):
        kind, place = kinds[row], known.row_of(learned[row].evidence.strategy_hash)
        if place is None or not _is_near(known, place, kind, is_shared=learned[row].evidence.agent != asked.reader):
            found.hidden[row] = FAR
            continue
        level = (standings.heuristics if kind == MemoryType.HEURISTIC else standings.anti_patterns)[place]
        if level is None:
            found.hidden[row] = OTHERWISE
        elif any(known.same[place, other] >= SAME_WAY for other in taken.get(kind, ())):
            found.hidden[row] = ALREADY_SHOWN
        else:
            taken.setdefault(kind, []).append(place)
            instead = None
            if kind == MemoryType.ANTI_PATTERN:
                found.failing.add(row)
                instead = alternative_to(known, place)
            reasons = merged_reasons(entry.evidence.reasons for entry, _ in known.entries(place))
            found.shown[row] = Shown(standings.rows[place], level, float(known.advice.expected[place]), instead, reasons)


def alternative_to(known: Consulted, failing: int) -> str | None:
    """What to do instead of the strategy of a row, where something is known to do better."""
    trusted = np.array([any(speaks_for(entry) for entry, _ in known.entries(row)) for row in range(len(known.texts))], dtype=bool)
    other = better_alternative(known.advice, failing, same=known.same[failing], corroborated=trusted)
    return None if other is None else shortened_strategy(known.texts[other])


def _is_near(known: Consulted, row: int, kind: str, *, is_shared: bool) -> bool:
    """Whether a task on which the strategy did what the rule says is near enough."""
    advice = known.advice
    nearest = advice.near_successes[row] if kind == MemoryType.HEURISTIC else advice.near_failures[row]
    is_named = known.question.task_type is not None or not known.question.task
    least = LEAST_OF_ONE_TASK if is_named or nearest >= VERY_NEAR else LEAST_TRIALS
    return bool(nearest >= RELEVANT and advice.trials[row] >= (least * OTHERS if is_shared else least))


def _preference(known: Consulted, stored: StoredEvidence, reader: str, row: int) -> tuple[bool, float, int]:
    """Which of several rules about the same strategy is shown: the reader's own, then the nearest, then the oldest."""
    seen = stored.evidence
    cell = known.side.cells.get(seen.id)
    weight = 0.0 if cell is None else float(known.task_weights[known.side.places.rows[cell, 0]])
    return seen.agent != reader, -weight, row


def is_shared_rule(partition: Partition, reader: str) -> bool:
    """Whether these are another agent's heuristics or anti-patterns."""
    return partition.kind in RULES and partition.owner != reader
