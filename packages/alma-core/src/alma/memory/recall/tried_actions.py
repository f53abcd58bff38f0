"""What a reader knows of an action that is itself a strategy that was tried: in the same words, or a call with what made it work."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from alma.learning.action_matching import Action, does_by_code, read_action, read_pattern, words_of_code
from alma.learning.ledger import Owners, Side
from alma.learning.pooling import SAME_WAY
from alma.memory.recall.knowledge import Asking, advised
from alma.memory.room import Room
from alma.protocols import StoredEvidence
from alma.types.evidence import text_key

_BETWEEN = re.compile(r"&&|\|\||[;|\n]")
"""What stands between the commands or statements of an action."""

LEAST_SUCCESSES = 2
"""From this number of successes on a call is known to work with what it is given beside."""


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


def refined(room: Room, owners: Owners, action: str, patterns: Mapping[int, str]) -> frozenset[int]:
    """The rows of learned patterns that warn of less than the action does: of the same call or command without what made it work.

    `read_csv(path)` failed, `read_csv(path, encoding="cp1252")` mostly worked: an action that gives the encoding is not warned of. Of an action of
    several commands or statements, each that does what the pattern names has to have it.
    """
    read = read_action(action)
    words = words_of_code(read) if patterns else []
    if not words:
        return frozenset()
    with room.book(owners) as book:
        ways = [way for is_of_steps in (False, True) for way in _working(book.side(is_of_steps=is_of_steps), words)]
    done = [way for way in ways if does_by_code(read_pattern(way), read)]
    pieces = [read_action(piece) for piece in _BETWEEN.split(action) if piece.strip()] if done else []
    return frozenset(row for row, pattern in patterns.items() if _is_refined(pattern, done, pieces))


def _is_refined(pattern: str, ways: Sequence[str], pieces: Sequence[Action]) -> bool:
    more = [way for way in ways if does_by_code(read_pattern(pattern), read_action(way)) and not _is_done_by(pattern, way)]
    warned_of = [piece for piece in pieces if does_by_code(read_pattern(pattern), piece)]
    return bool(warned_of) and all(any(does_by_code(read_pattern(way), piece) for way in more) for piece in warned_of)


def _is_done_by(pattern: str, way: str) -> bool:
    return bool(does_by_code(read_pattern(way), read_action(pattern)))


def _working(side: Side, words: Sequence[str]) -> Iterator[str]:
    """The strategies that mostly worked, on all tasks and more than once, and have one of these words in them."""
    strategies = side.places.rows[:, 1]
    successes, trials = (np.bincount(strategies, side.counts.rows[:, column], len(side.strategy_texts)) for column in (0, 1))
    for number in np.flatnonzero((2 * successes > trials) & (successes >= LEAST_SUCCESSES)).tolist():
        text = side.strategy_texts[number]
        if any(word in text.lower() for word in words):
            yield text
