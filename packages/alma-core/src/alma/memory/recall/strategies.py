"""What was tried, and how it went: the table that a person, or an agent, asks for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.learning.consulting import Consulted
from alma.learning.experience import Advice, Floats
from alma.learning.pooling import SAME_WAY
from alma.learning.records import RecordMaker
from alma.learning.standings import Standings
from alma.memory import arguments as args
from alma.memory.argument_order import check_order
from alma.memory.recall.knowledge import Asking, Vector, advised, asking
from alma.memory.room import Room
from alma.memory.scopes import hint_of_agent, needed_by
from alma.text import matched_text
from alma.types.strategies import StrategyRecord, StrategyTable

LEAST_TRIALS = 0.1
"""A strategy with less evidence than this near the task is left out, unless it was asked about."""

CLEARLY_BETTER = 0.1
"""By how much more a wording must be expected to succeed than the one tried most often, to stand for both."""

MOST_AMONG = 100
LARGEST_SEED = 2**64 - 1


def strategies(
    room: Room,
    *,
    task: object,
    agent: object,
    task_type: object,
    include_steps: object,
    limit: object,
    user_id: object = None,
    among: object = None,
    explore: object = False,
    seed: object = None,
) -> StrategyTable:
    """The strategies tried for tasks like this one, of a type, or at all: the one with the highest expected rate of success first."""
    reader = args.checked_name(agent, "agent")
    check_order(room, agent)
    redacted = room.store.redaction.value
    text = None if task is None else redacted(args.checked_text(task, "task"))
    kind = redacted(args.optional_label(task_type, "task_type"))
    most = args.checked_count(limit, "limit")
    given = redacted(_checked_among(among))
    drawn = None if seed is None else args.checked_count(seed, "seed", least=0, largest=LARGEST_SEED)
    user = args.optional_name(user_id, "user_id")
    asked = asking(room, reader=reader, task=text, task_type=kind, user_id=user)
    also = [(way, _vector(room, way)) for way in given]
    sides = (False, True) if include_steps and not given else (False,)
    order = _Order(explore=bool(explore), seed=drawn, most=most)
    rows = [row for is_of_steps in sides for row in _rows(room, asked, is_of_steps, also, order)]
    ordered = order.ordered(rows)
    hint = None if any(row.trials for row in ordered) else hint_of_agent(room, reader, text or "", user)
    return StrategyTable(agent=reader, task=text, rows=tuple(ordered), hint=hint)


def _checked_among(among: object) -> list[str]:
    if among is None:
        return []
    if isinstance(among, str):
        raise ValidationError("among must be a list of strategies, not one text")
    given = [args.checked_text(way, "among") for way in args.checked_items(among, "among")]
    if len(given) > MOST_AMONG:
        raise ValidationError(f"among holds {len(given)} strategies; at most {MOST_AMONG} can be compared at once")
    return list(dict.fromkeys(given))


def _vector(room: Room, strategy: str) -> Vector:
    return room.store.texts.query(matched_text(strategy), room.project)


def _rows(
    room: Room, asked: Asking, is_of_steps: bool, also: Sequence[tuple[str, Vector]], order: "_Order"
) -> Iterator[StrategyRecord]:
    with advised(room, asked, is_of_steps=is_of_steps, also=also) as known:
        shown = [known.texts.index(text) for text, _ in also] if also else list(shown_rows(known))
        standings = Standings(known, needed_by(room, asked.reader))
        maker = RecordMaker(known, standings, reader=asked.reader, is_of_steps=is_of_steps)
        yield from [maker.record(row) for row in order.first_of(shown, known.advice)]


def shown_rows(known: Consulted) -> Iterator[int]:
    """The rows that a table has: one for all strategies that are the same, the one tried most often, or one that is expected to do clearly
    better; where near tasks are counted, one of those that were tried on these."""
    counts = known.side.counts.rows[known.cells, :2].astype(np.float64).T
    won, own = (np.bincount(known.cell_rows, known.cell_weights * count, len(known.texts)).astype(np.float64) for count in counts)
    is_counted = known.advice.own_trials > 0
    left = np.array([bool(text) for text in known.texts], dtype=bool)
    for row in np.lexsort((np.arange(len(own)), -own, ~is_counted)).tolist():
        if left[row]:
            members = np.flatnonzero(left & (known.same[row] >= SAME_WAY) & (own > 0) & (is_counted | ~is_counted[row]))
            left &= known.same[row] < SAME_WAY
            if known.advice.trials[row] >= LEAST_TRIALS or known.entries(row):
                yield _standing_for(row, members, known.advice.expected, won, own)


def _standing_for(row: int, members: NDArray[np.intp], expected: Floats, won: Floats, own: Floats) -> int:
    """The member of a group that its row shows: those that only sound alike may do differently. What mostly works is shown by words that did."""
    if not len(members):
        return row
    if 2 * won[members].sum() > own[members].sum() and 2 * won[row] < own[row]:
        row = int(members[np.argmax(np.where(2 * won[members] >= own[members], own[members], 0.0))])
    best = int(members[np.argmax(expected[members])])
    return best if expected[best] >= expected[row] + CLEARLY_BETTER else row


@dataclass(frozen=True, slots=True)
class _Order:
    """Best first, at most `most`: by the expected rate, or by its upper bound to explore; ties by the hash of the strategy, with the seed if there is
    one. So the order of two rows does not depend on which others are compared."""

    explore: bool
    seed: int | None
    most: int

    def first_of(self, rows: Sequence[int], advice: Advice) -> list[int]:
        """The rows that may be among the first ones: records are made of these alone."""
        if len(rows) <= self.most:
            return [*rows]
        rates = advice.upper if self.explore else advice.expected
        values = [_ranked(rates[row]) for row in rows]
        least = sorted(values, reverse=True)[self.most - 1]
        return [row for row, value in zip(rows, values, strict=True) if value >= least]

    def ordered(self, rows: Sequence[StrategyRecord]) -> list[StrategyRecord]:
        """The first ones of rows, the best one with the probability with which it was chosen among its equals."""
        values = [_ranked(row.interval.upper if self.explore else row.expected) for row in rows]
        start = "" if self.seed is None else f"{self.seed} "
        ties = [sha256((start + row.strategy).encode()).digest() for row in rows]
        places = sorted(range(len(rows)), key=lambda place: (-values[place], ties[place]))[: self.most]
        if not places:
            return []
        chance = 1.0 if self.seed is None else 1 / values.count(max(values))
        return [rows[places[0]].model_copy(update={"propensity": chance}), *(rows[place] for place in places[1:])]


def _ranked(value: float) -> float:
    """A rate as it is compared: sums of floats in another order are equal."""
    return round(float(value), 9)
