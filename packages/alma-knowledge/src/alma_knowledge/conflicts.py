"""Whether two short texts contradict each other, by their words: one denies the other, says the opposite, or states another value.

A contradiction is found only where both speak of the same things and nothing else. Whatever is more special than the other text is no contradiction.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from alma.text import spelt
from alma_knowledge.claims import MOST_CHARS, Claim, Value, claims_in, spelt_value
from alma_knowledge.opposites import opposites

LEAST_ABOUT = 1
LEAST_ELSEWHERE = 3
"""Things that both texts speak of, if they are of one domain, and if not."""
LEAST_AMONG_OTHERS = 2
"""And if one of the texts has other sentences, too."""

SHARED_BEGINNINGS = 0.5
"""Share of its long words' beginnings that the shorter text has in common with the other. Below, two facts are not read at all."""

_BEGINNING = re.compile(r"\b[^\W\d_]{4}")

Sort = Literal["denial", "opposite", "value"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """How two texts contradict each other, with the words of each that do."""

    sort: Sort
    mine: str
    theirs: str


@lru_cache(maxsize=8_192)
def conflict(mine: str, theirs: str, *, labels: tuple[str, str], is_wish: bool = False) -> Conflict | None:
    """Returns how two texts contradict each other, `None` if they do not, as far as words show.

    `labels` are their domains or categories. `is_wish` says that they are wishes of one person, of which the category may be all that is spoken of.
    """
    is_same_label = spelt(labels[0]) == spelt(labels[1])
    if is_wish and not is_same_label:
        return None
    if not is_wish and not _are_near(_beginnings(mine), _beginnings(theirs)):
        return None
    ours, others = claims_in(mine), claims_in(theirs)
    least = LEAST_ABOUT if is_same_label else LEAST_ELSEWHERE
    if is_wish:
        least = 0
    if max(len(ours), len(others)) > 1:
        least = max(least, LEAST_AMONG_OTHERS)
    found = (
        _between(one, other, least, is_wish=is_wish)
        for one in ours
        for other in others
        if is_wish or not (one.is_headless or other.is_headless)
    )
    return next(filter(None, found), None)


@lru_cache(maxsize=4_096)
def _beginnings(text: str) -> frozenset[str]:
    return frozenset(_BEGINNING.findall(text[:MOST_CHARS].lower()))


def _are_near(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Returns True if two texts have many words in common: looked at first, since reading claims takes thirty times as long."""
    return len(mine & theirs) >= SHARED_BEGINNINGS * min(len(mine), len(theirs))


def _between(one: Claim, other: Claim, least: int, *, is_wish: bool) -> Conflict | None:
    if one.about == other.about:
        return _of_same_subject(one, other, least, is_wish=is_wish) if len(one.about) >= least else None
    if not is_wish and (found := _of_former(one, other) or _of_former(other, one, is_swapped=True)) is not None:
        return found
    if abs(len(one.about) - len(other.about)) > 1:
        return None
    return _of_opposites(one, other, least, is_wish=is_wish)


def _of_former(changed: Claim, other: Claim, *, is_swapped: bool = False) -> Conflict | None:
    """Returns the conflict of "moved from here to there" with a sentence that states the former value of the same subject, in one word more."""
    if len(changed.values) != 1 or len(other.values) != 1 or other.is_denied or len(other.about) != len(changed.about) + 1:
        return None
    if not changed.about or Counter(changed.about) - Counter(other.about) or not spelt_value(other.values[0]) <= changed.former:
        return None
    values = changed.values[0].written, other.values[0].written
    return Conflict("value", *(reversed(values) if is_swapped else values))


def _of_same_subject(one: Claim, other: Claim, least: int, *, is_wish: bool) -> Conflict | None:
    mine, theirs = _left(one.values, other.values), _left(other.values, one.values)
    if not mine and not theirs:
        is_enough = bool(one.about or one.values)
        return Conflict("denial", "", "") if one.is_denied != other.is_denied and is_enough else None
    if len(mine) != 1 or len(theirs) != 1 or one.is_denied or other.is_denied:
        return None
    return _of_values(one, other, mine[0], theirs[0], is_wish=is_wish)


def _of_values(one: Claim, other: Claim, mine: Value, theirs: Value, *, is_wish: bool) -> Conflict | None:
    conflict = Conflict("value", mine.written, theirs.written)
    if (one.former and spelt_value(theirs) <= one.former) or (other.former and spelt_value(mine) <= other.former):
        return conflict
    if mine.sort != theirs.sort or one.is_offering or other.is_offering:
        return None
    if mine.sort == "name" and (is_wish or not (mine.is_sole and theirs.is_sole) or _is_part(mine.is_, theirs.is_)):
        return None
    return conflict if is_wish or (mine.is_stated and theirs.is_stated) else None


def _is_part(name: str, other: str) -> bool:
    """Returns True if one of two names may be short for the other."""
    one, two = set(name.split()), set(other.split())
    return one <= two or two <= one


def _of_opposites(one: Claim, other: Claim, least: int, *, is_wish: bool) -> Conflict | None:
    mine, theirs = Counter(one.about) - Counter(other.about), Counter(other.about) - Counter(one.about)
    if mine.total() != 1 or theirs.total() != 1 or len(one.about) - 1 < least or one.is_denied != other.is_denied:
        return None
    if _left(one.values, other.values) or _left(other.values, one.values):
        return None
    (word,), (opposite,) = mine, theirs
    if opposite not in opposites(word) and word not in opposites(opposite):
        return None
    is_stated = is_wish or (word in one.behind and opposite in other.behind)
    return Conflict("opposite", word, opposite) if is_stated else None


def _left(values: Sequence[Value], others: Sequence[Value]) -> list[Value]:
    """The values that the other claim does not state."""
    stated = Counter((value.sort, value.is_) for value in others)
    left = []
    for value in values:
        key = (value.sort, value.is_)
        if stated[key]:
            stated[key] -= 1
        else:
            left.append(value)
    return left
