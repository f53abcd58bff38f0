"""What is known of the ways that were tried on tasks like the one asked about: rows for the prompt, and the rules among them as memories."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from alma import scoring
from alma.memory.readable import ReadableScope
from alma.memory.recall.times import Times
from alma.memory.recall.ways import best_first, record_of, rows_with_rules
from alma.memory.room import Room
from alma.memory.rules import Records, Rule, as_memory
from alma.scoring import Profile
from alma.text import normalised
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Heuristic
from alma.types.rules import NO_USE
from alma.types.stored import RecordedOutcome
from alma.types.strategies import StrategyRecord
from alma_learning import Question, Row, Side, Table

MOST_WAYS, MOST_FAILING = 8, 3
"""Rows that a prompt shows, and of these the rows of ways that fail."""


@dataclass(frozen=True, slots=True)
class LearnedItem:
    """A rule that is shown, with its score and the factors behind it."""

    memory: Heuristic | AntiPattern
    score: float
    factors: Mapping[str, float]
    usefulness: float


@dataclass(frozen=True, slots=True)
class LearnedPart:
    """What a slice says of ways: rows in the order of a prompt, and the rules among them in the same order."""

    rows: tuple[StrategyRecord, ...] = ()
    items: tuple[LearnedItem, ...] = ()
    near: frozenset[str] = frozenset()
    """Ids of the given outcomes that are of tasks like the one asked about."""


def learned_part(
    room: Room,
    question: Question,
    scope: ReadableScope,
    *,
    reader: str,
    user: str | None,
    is_shared: bool,
    profile: Profile,
    now: int,
    top_k: int,
    times: Times | None,
    outcomes: Collection[str],
) -> LearnedPart:
    """Returns what was tried on tasks like the one asked about, the best first, what fails last; and which of the outcomes are of such tasks."""
    if times is None:
        opened = room.projections.of(scope, reader=reader, user=user, is_shared=is_shared)
    else:
        opened = room.projections.among(scope, lambda one: _is_within(one, times), reader=reader)
    with opened as view:
        attempts, steps = view.tried.table(question), view.tried.table(replace(question, of_steps=True))
        records = Records(view)
        chosen = _choose_rows(records, (attempts, steps), top_k) if attempts.rows or steps.rows else []
        rows = tuple(_record(records, one, reader, outcomes) for one in chosen)
        near = frozenset([one for one in outcomes if attempts.holds(one) or (steps.tasks and steps.holds(one))])
    items = tuple([_item(room, one.rule, one.similarity, profile, now, reader) for one in chosen if one.rule is not None])
    return LearnedPart(rows, items, near)


def _is_within(one: RecordedOutcome, times: Times) -> bool:
    return times.includes(seen_at=one.seen_at, created_at=one.created_at)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A row that is shown, and the rule that it is."""

    row: Row
    rule: Rule | None
    similarity: float
    is_of_steps: bool = False

    @property
    def fails(self) -> bool:
        """True for an anti-pattern."""
        return self.rule is not None and self.row.side is Side.FAILS

    @property
    def works(self) -> bool:
        """True for a heuristic."""
        return self.rule is not None and self.row.side is Side.WORKS


def _choose_rows(records: Records, tables: tuple[Table, Table], top_k: int) -> list[_Chosen]:
    """The rows of a prompt, the best first, what fails last. Of single steps, rules alone, and none whose words stand in an attempt that says as
    much: a rule of the same side, or beside a failing step an attempt that mostly worked, for where a call works at once no step is kept."""
    tried = [_Chosen(row, rule, near) for row, rule, near in rows_with_rules(tables[0], records) if row.trials]
    phrases = [(side, f" {normalised(one.row.way)} ") for one in tried for side in _sides_said(one)]
    ruled = rows_with_rules(tables[1], records, is_of_steps=True)
    steps = [_Chosen(row, rule, near, True) for row, rule, near in ruled if rule is not None and not _is_said(row, phrases)]
    every = sorted([*tried, *steps], key=lambda one: best_first(one.row))
    failing = sorted([one for one in every if one.fails], key=lambda one: -one.row.failures)[: min(MOST_FAILING, top_k)]
    left = top_k
    others: list[_Chosen] = []
    for one in every:
        if not one.fails and (left or not one.works) and len(others) < MOST_WAYS - len(failing):
            others.append(one)
            left -= one.works
    return [*others, *(one for one in every if one in failing)]


def _sides_said(attempt: _Chosen) -> set[Side]:
    """The sides of single steps that an attempt speaks for."""
    sides = {attempt.row.side} if attempt.rule is not None else set()
    return sides | {Side.FAILS} if 2 * attempt.row.successes > attempt.row.trials else sides


def _is_said(step: Row, phrases: Collection[tuple[Side, str]]) -> bool:
    words = f" {normalised(step.way)} "
    return bool(words.strip()) and any(side is step.side and words in said for side, said in phrases)


def _record(records: Records, one: _Chosen, reader: str, outcomes: Collection[str]) -> StrategyRecord:
    """The record of a row. Among the outcomes that it names are all of those given that it counts."""
    row = one.row
    doubt = records.doubt_of(row)
    made = record_of(row, one.rule, reader=reader, doubt=doubt, is_of_steps=one.is_of_steps, similarity=one.similarity)
    if len(row.outcomes) <= len(made.outcome_ids):
        return made
    counted = set(row.outcomes).intersection(outcomes).difference(made.outcome_ids)
    ids = (*made.outcome_ids, *(one for one in row.outcomes if one in counted))
    return made.model_copy(update={"outcome_ids": ids}) if counted else made


def _item(room: Room, rule: Rule, similarity: float, profile: Profile, now: int, reader: str) -> LearnedItem:
    row, use = rule.row, rule.record.use
    kind = MemoryType.HEURISTIC if row.side is Side.WORKS else MemoryType.ANTI_PATTERN
    factors = {
        "similarity": similarity,
        "recency": scoring.recency(row.last_at, now, profile.half_life_days),
        "success": row.mean if row.side is Side.WORKS else 1 - row.mean,
        "confidence": 1 - (row.upper - row.lower),
    }
    useful = scoring.usefulness(*(use[name] for name in NO_USE)) if profile.counts_usefulness and any(use.values()) else 1.0
    memory = as_memory(room, rule, reader=reader)
    return LearnedItem(memory, useful * profile.score(factors, kind.value), factors, useful)
