"""Whether an action does what a rule warns of in other words than the rule has: those of all tries that it counts."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from alma.learning.action_matching import Pattern, read_pattern
from alma.learning.consulting import consulted
from alma.learning.ledger import Owners, Side
from alma.learning.pooling import SAME_WAY
from alma.memory.recall.knowledge import Vector
from alma.memory.room import Room
from alma.protocols import StoredEvidence

MOST_RULES = 4
"""How many of the rules that do not match are looked at: the nearest."""

MOST_WORDINGS = 8
"""How many wordings of each are compared."""


def matching_in_other_words(
    room: Room, owners: Owners, rows: Iterable[int], action: Vector, is_warned: Callable[[Pattern, float], bool]
) -> list[int]:
    """Returns the learned rules among these, given by rows with the nearest first, of which one wording that mostly failed is what the action does.

    `is_warned` compares a wording, given with its cosine to the action.
    """
    wanted = list(rows)
    behind = room.project.learned.behind(wanted) if wanted else {}
    found: list[int] = []
    if behind:
        with room.book(owners) as book:
            for row in islice((row for row in wanted if row in behind), MOST_RULES):
                side = book.side(is_of_steps=behind[row].evidence.is_of_steps)
                wordings = _failing_wordings(side, behind[row])
                if any(is_warned(read_pattern(side.strategy_texts[one]), _cosine(side, one, action)) for one in wordings):
                    found.append(row)
    return found


def _failing_wordings(side: Side, stored: StoredEvidence) -> Iterator[int]:
    """The numbers of the strategies that are one way with that of a rule, but for its own words, and that mostly failed."""
    entry, strategy = side.entry(stored.evidence.id), stored.evidence.strategy_hash
    if entry is None:
        return
    known = consulted(side, side.question_of(entry), home=side.task_of(entry), wanted=[strategy], is_advised=False)
    place = known.row_of(strategy)
    if place is None:
        return
    others = [known.strategies[row] for row in np.flatnonzero(known.same[place] >= SAME_WAY).tolist() if row != place]
    for number in islice((number for number in others if number >= 0 and side.strategy_texts[number]), MOST_WORDINGS):
        successes, trials = side.counts.rows[side.places.rows[:, 1] == number, :2].sum(axis=0)
        if 2 * successes < trials:
            yield number


def _cosine(side: Side, strategy: int, action: Vector) -> float:
    return float(side.strategy_vectors.rows[strategy] @ action)
