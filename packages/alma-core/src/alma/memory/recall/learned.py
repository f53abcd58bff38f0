"""What is known of the ways that were tried on tasks like the one asked about: rows for the prompt, and the rules among them as memories."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from alma import scoring
from alma.memory.outcome_projection import View
from alma.memory.readable import ReadableScope
from alma.memory.recall.times import Times
from alma.memory.recall.ways import RowOrder, records_in
from alma.memory.room import Room
from alma.memory.rules import Records, Rule, as_memory
from alma.scoring import Profile
from alma.text import normalised
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Heuristic
from alma.types.recorded import RecordedOutcome
from alma.types.rules import NO_USE
from alma.types.strategies import StrategyRecord
from alma_learning import Question, Side, Table

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
        tables = view.attempts.table(question), view.steps.table(question)
        rows = _chosen_rows(view, tables, reader, top_k)
        near = frozenset(one for one in outcomes if any(table.holds(one) for table in tables))
    items = [_item(room, record, rule, profile, now, reader) for record, rule in rows if rule is not None]
    return LearnedPart(tuple(record for record, _ in rows), tuple(items), near)


def _is_within(one: RecordedOutcome, times: Times) -> bool:
    return times.includes(seen_at=one.seen_at, created_at=one.created_at)


def _chosen_rows(view: View, tables: tuple[Table, Table], reader: str, top_k: int) -> list[tuple[StrategyRecord, Rule | None]]:
    """The rows of a prompt. Of single steps, rules alone, and none that attempts gave, too: what else was done in an attempt is told by the
    attempt."""
    records = Records(view)
    tried = [(record, rule) for record, row, rule in records_in(tables[0], records, reader=reader) if row.trials]
    told = {(record.rule, _normalised(record)) for record, _ in tried}
    steps = [
        (record, rule)
        for record, row, rule in records_in(tables[1], records, reader=reader, is_of_steps=True)
        if rule is not None and row.trials and (record.rule, _normalised(record)) not in told
    ]
    every = sorted([*tried, *steps], key=lambda pair: RowOrder().key(pair[0]))
    failing = [pair for pair in every if _fails(pair)]
    failing.sort(key=lambda pair: -pair[0].failures)
    failing = failing[: min(MOST_FAILING, top_k)]
    works = [pair for pair in every if pair[0].rule == Side.WORKS][:top_k]
    others = [pair for pair in every if not _fails(pair) and (pair in works or pair[0].rule != Side.WORKS)]
    others = others[: MOST_WAYS - len(failing)]
    return [*others, *(pair for pair in every if pair in failing)]


def _normalised(record: StrategyRecord) -> str:
    return normalised(record.strategy) or record.strategy


def _fails(pair: tuple[StrategyRecord, Rule | None]) -> bool:
    return pair[0].rule == Side.FAILS


def _item(room: Room, record: StrategyRecord, rule: Rule, profile: Profile, now: int, reader: str) -> LearnedItem:
    row, use = rule.row, rule.record.use
    kind = MemoryType.HEURISTIC if row.side is Side.WORKS else MemoryType.ANTI_PATTERN
    factors = {
        "similarity": min(max(row.similarity, 0.0), 1.0),
        "recency": scoring.recency(row.last_at, now, profile.half_life_days),
        "success": row.mean if row.side is Side.WORKS else 1 - row.mean,
        "confidence": 1 - (row.upper - row.lower),
    }
    useful = scoring.usefulness(*(use[name] for name in NO_USE)) if profile.counts_usefulness and any(use.values()) else 1.0
    memory = as_memory(room, rule, reader=reader)
    return LearnedItem(memory, useful * profile.score(factors, kind.value), factors, useful)
