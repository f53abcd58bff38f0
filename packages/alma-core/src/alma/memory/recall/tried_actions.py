"""What a reader knows of an action that is itself a strategy that was tried, in the same words."""

from collections.abc import Mapping
from typing import NamedTuple

from alma.learning.pooling import SAME_WAY
from alma.memory.recall.knowledge import Asking, advised
from alma.memory.room import Room
from alma.protocols import StoredEvidence
from alma.types.evidence import text_key


class TriedAction(NamedTuple):
    """What became of it on like tasks.

    `rules` are the ids of the anti-patterns on the same way of doing it, if it mostly failed; `others` the rows of learned rules on other ways, if it
    mostly worked.
    """

    rules: tuple[str, ...] = ()
    others: frozenset[int] = frozenset()


def tried_action(room: Room, asked: Asking, action: str, learned: Mapping[int, StoredEvidence]) -> TriedAction:
    """Looks an action up among what was tried; `learned` is what the rules that it seems to match rest on."""
    key = text_key(action)
    for is_of_steps in (False, True):
        with room.book(asked.owners) as book:
            if key not in book.side(is_of_steps=is_of_steps).strategies:
                continue
        with advised(room, asked, is_of_steps=is_of_steps, wanted=[key], is_needed=False) as known:
            place = known.row_of(key)
            if place is None:
                continue
            successes, trials = (float(counts[place]) for counts in known.whole_counts)
            if 2 * successes > trials:
                ways = {row: known.row_of(stored.evidence.strategy_hash) for row, stored in learned.items()}
                return TriedAction(
                    others=frozenset(row for row, way in ways.items() if way is None or known.same[place, way] < SAME_WAY)
                )
            if 2 * successes < trials:
                return TriedAction(tuple(rule for entry, _ in known.entries(place) if (rule := entry.evidence.anti_pattern)))
    return TriedAction()
