"""Rules are shown where their evidence is near, and with what it says of the task at hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from alma.learning.better_alternative import alternative_to
from alma.learning.consulting import Consulted
from alma.learning.informative_error import most_informative
from alma.learning.ledger import OTHERS
from alma.learning.level_words import said_of
from alma.learning.levels import Level, Row
from alma.learning.pooling import NEAR, SAME_WAY
from alma.learning.rules import (
    confidence_in_failure,
    confidence_in_success,
    counted,
)
from alma.learning.standings import Standings
from alma.memory.recall.knowledge import Asking, advised
from alma.memory.room import Room
from alma.memory.scopes import needed_by
from alma.observing import merged_reasons
from alma.protocols import Candidate, StoredEvidence
from alma.types.evidence import Happening
from alma.types.explanation import EvidencePart
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, AnyMemory, Heuristic
from alma.types.partition import Partition
from alma.types.sentences import EXACT

RULES = frozenset({MemoryType.HEURISTIC.value, MemoryType.ANTI_PATTERN.value})


class Least(NamedTuple):
    """From where on a learned rule speaks about a question.

    `nearness` is the product of the weight of the task that it began on and the cosine of the nearest task that bears it out. `trials` is the pooled
    evidence: retries of one other task say too little. `of_one_task` is enough where the caller named the type, or where that task is `VERY_NEAR`.
    What is known of near tasks has to amount to the rule; of less than `judged_from` trials it is enough that most do not contradict it.
    """

    nearness: float
    trials: float
    of_one_task: float
    judged_from: float = 0.0


SHOWN = Least(0.25, 1.5, 0.9)
"""For rules that are shown for a task."""

WARNED = Least(0.12, 0.8, 0.8, judged_from=6.0)
"""For warnings of an action: that it is the strategy of the rule is known from the action itself."""

UNKNOWN_HOME = NEAR
"""The weight of the task that a rule began on where that is too old to be in hand: only evidence of much the same tasks speaks for it."""

VERY_NEAR = 0.6

FAR = "its evidence is on other tasks than this one"
TOO_LITTLE = "its evidence on tasks like this one is worth too little"
OTHERWISE = "what is known of tasks like this one no longer bears it out"
ALREADY_SHOWN = "another rule that is shown is about the same way of doing it"

ELSEWHERE = frozenset({FAR, TOO_LITTLE})
"""Why a rule is not shown that may hold where it was learned, and that nothing on near tasks contradicts."""


class Near(NamedTuple):
    """The weight of the task that a rule began on, and the cosine of the nearest task that bears it out."""

    home: float
    nearest: float

    @property
    def product(self) -> float:
        """How near the evidence is."""
        return self.home * self.nearest

    def as_part(self) -> EvidencePart:
        """The same as part of an explanation."""
        return EvidencePart(home=self.home, nearest=self.nearest, least=SHOWN.nearness)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a rule says of the task at hand: counts, how far it is believed (`None` if it is borne out no more), and what to do instead."""

    row: Row
    level: Level | None
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
    nearness: dict[int, Near] = field(default_factory=dict)
    """How near the evidence of each is, if its strategy was tried on any task that counts. Without those that began far from the question, unless
    they were asked for; see `relevant_rules`."""
    seen_at: dict[int, int] = field(default_factory=dict)
    """Outcomes that count as no newer than this; see `alma.memory.recall.own_word`."""

    def why_hidden(self, row: int) -> str | None:
        """Why a rule is not shown, `None` if nothing speaks against it."""
        why, near = self.hidden.get(row), self.nearness.get(row)
        return f"{why}: {near.as_part()}, less than {SHOWN.nearness}" if why == FAR and near else why

    def kept(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """The candidates without hidden rules, the shown ones with the counts that hold for the task at hand."""
        if not (self.shown or self.hidden or self.seen_at):
            return candidates
        return [self._as_shown(one) for one in candidates if one.memory not in self.hidden]

    def _as_shown(self, one: Candidate) -> Candidate:
        shown = self.shown.get(one.memory)
        if shown is None:
            return one._replace(seen_at=self.seen_at[one.memory]) if one.memory in self.seen_at else one
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
            **{name: value for name, value in memory.metadata.items() if name != EXACT},
            **_said(shown, works=row not in self.failing),
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
            "why_bad": most_informative(shown.reasons) or memory.why_bad,
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
    about: Callable[[], Asking],
    *,
    least: Least = SHOWN,
    is_numbered: bool = False,
) -> RelevantRules:
    """Which of the rules, kinds by their rows, speak about what is asked. Rules that were stated are always shown, and not among them. `about` is
    called only if there are others. How near the evidence of each is, is worked out for all of them only if it `is_numbered`."""
    found = RelevantRules()
    rules = [row for row, kind in rows.items() if kind in RULES]
    behind = room.project.learned.behind(rules) if rules else {}
    if not behind:
        return found
    asked = about()
    for is_of_steps in (False, True):
        learned = {row: stored for row, stored in behind.items() if stored.evidence.is_of_steps is is_of_steps}
        if not learned:
            continue
        if not is_numbered and _began_far(room, asked, learned, least, is_of_steps=is_of_steps):
            found.hidden.update(dict.fromkeys(learned, FAR))
        else:
            wanted = [stored.evidence.strategy_hash for stored in learned.values()]
            with advised(room, asked, is_of_steps=is_of_steps, wanted=wanted, is_needed=False) as known:
                _judge(room, known, learned, rows, asked, least, found)
    return found


def _began_far(room: Room, asked: Asking, learned: Mapping[int, StoredEvidence], least: Least, *, is_of_steps: bool) -> bool:
    """Returns True if all began on tasks so far from the question that none can be shown, whatever else was tried near it."""
    with room.book(asked.owners) as book:
        side = book.side(is_of_steps=is_of_steps)
        weights = side.nearness(asked.question).weights
        cells = [side.cells.get(stored.evidence.id) for stored in learned.values()]
        return all(cell is not None and weights[side.places.rows[cell, 0]] < least.nearness for cell in cells)


def _judge(
    room: Room,
    known: Consulted,
    learned: Mapping[int, StoredEvidence],
    kinds: Mapping[int, str],
    asked: Asking,
    least: Least,
    found: RelevantRules,
) -> None:
    standings = Standings(known, needed_by(room, asked.reader))
    taken: dict[str, list[int]] = {}
    for row in sorted(learned, key=lambda row: _preference(known, learned[row], asked.reader, row)):
        kind, place = kinds[row], known.row_of(learned[row].evidence.strategy_hash)
        if place is None:
            found.hidden[row] = FAR
            continue
        near = found.nearness[row] = _nearness(known, place, kind, learned[row])
        is_far = near.product < least.nearness
        if is_far or not _is_enough(known, place, near, least, is_shared=_is_of_others(learned[row], asked.reader)):
            found.hidden[row] = OTHERWISE if _is_contradicted(known, place, kind) else FAR if is_far else TOO_LITTLE
            continue
        judged = standings.of(place)
        level = judged.heuristic if kind == MemoryType.HEURISTIC else judged.anti_pattern
        is_thin = known.advice.trials[place] < least.judged_from and not _is_contradicted(known, place, kind)
        if level is None and not is_thin:
            found.hidden[row] = OTHERWISE
        elif any(known.same[place, other] >= SAME_WAY for other in taken.get(kind, ())):
            found.hidden[row] = ALREADY_SHOWN
        else:
            taken.setdefault(kind, []).append(place)
            if level is not None:
                found.shown[row] = _shown(known, place, judged.row, level, is_failing=kind == MemoryType.ANTI_PATTERN)
                found.failing |= {row} if kind == MemoryType.ANTI_PATTERN else set()


def _shown(known: Consulted, place: int, row: Row, level: Level, *, is_failing: bool) -> Shown:
    instead = alternative_to(known, place) if is_failing else None
    reasons = merged_reasons(entry.evidence.reasons for entry, _ in known.entries(place))
    return Shown(row, level, float(known.advice.expected[place]), instead, reasons)


def _said(shown: Shown, *, works: bool) -> dict[str, object]:
    if shown.level is not None:
        return {"status": shown.level.standing.value, **said_of(shown.row, shown.level, works=works)}
    successes, trials = shown.row.lifetime.successes, shown.row.lifetime.trials
    return {} if float(successes).is_integer() else {EXACT: [successes, trials]}


def _nearness(known: Consulted, row: int, kind: str, stored: StoredEvidence) -> Near:
    """How near the task is that a rule began on, and the nearest one on which the strategy did what the rule says."""
    home = known.nearness_of(stored.evidence)
    nearest = (known.nearest.successes if kind == MemoryType.HEURISTIC else known.nearest.failures)[row]
    return Near(UNKNOWN_HOME if home is None else home, float(nearest))


def _is_enough(known: Consulted, row: int, near: Near, least: Least, *, is_shared: bool) -> bool:
    """Returns True if what was tried on near tasks is worth enough trials."""
    is_named = known.question.task_type is not None or not known.question.task
    trials = least.of_one_task if is_named or near.nearest >= VERY_NEAR else least.trials
    return bool(known.advice.trials[row] >= (trials * OTHERS if is_shared else trials))


def _is_contradicted(known: Consulted, row: int, kind: str) -> bool:
    """Returns True if at least half of the trials on near tasks speak against a rule; of none, nothing does."""
    successes, trials = (float(counts[row]) for counts in known.whole_counts)
    return trials > 0 and 2 * (trials - successes if kind == MemoryType.HEURISTIC else successes) >= trials


def _is_of_others(stored: StoredEvidence, reader: str) -> bool:
    """Returns True if a rule was learned by another agent, or from several users alone."""
    return stored.evidence.agent != reader or not stored.evidence.observations


def _preference(known: Consulted, stored: StoredEvidence, reader: str, row: int) -> tuple[bool, float, int]:
    """Which of several rules about the same strategy is shown: the reader's own, then the nearest, then the oldest."""
    return _is_of_others(stored, reader), -(known.nearness_of(stored.evidence) or 0.0), row


def is_shared_rule(partition: Partition, reader: str) -> bool:
    """Returns True if these are another agent's heuristics or anti-patterns."""
    return partition.kind in RULES and partition.agent != reader
