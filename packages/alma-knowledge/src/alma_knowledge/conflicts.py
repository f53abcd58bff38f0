"""Contradictions between two short texts, by their words: one denies the other, says the opposite, or states another value.

A contradiction is found only where both speak of the same things and nothing else. A text that is more special than the other is no contradiction.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Literal

from alma.text import spelt
from alma_knowledge.claims import Claim, Value, claims_in
from alma_learning.stems import is_form
from alma_learning.wording import opposites_in, read_wording

LEAST_ABOUT, LEAST_AMONG_OTHERS, LEAST_ELSEWHERE = 1, 2, 3
"""Things that both texts speak of, if they are of one domain; if one of the texts has other sentences, too; and if they are of two domains."""

Sort = Literal["denial", "opposite", "value"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Contradiction between two texts: its sort, and the words of each text that contradict the other."""

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
    ours, others = claims_in(mine), claims_in(theirs)
    least = 0 if is_wish else LEAST_ABOUT if is_same_label else LEAST_ELSEWHERE
    if max(len(ours), len(others)) > 1:
        least = max(least, LEAST_AMONG_OTHERS)
    found = (_between(one, other, least, is_wish=is_wish) for one in ours for other in others)
    return next(filter(None, found), None)


def _between(one: Claim, other: Claim, least: int, *, is_wish: bool) -> Conflict | None:
    if abs(len(one.about) - len(other.about)) > 1 or (not is_wish and {*one.about}.isdisjoint(other.about)):
        return None
    mine, theirs = (list((Counter(a) - Counter(b)).elements()) for a, b in permutations((one.values, other.values)))
    if one.about == other.about and len(one.about) >= least:
        if mine and theirs:
            return None if one.is_denied or other.is_denied else _of_values(mine, theirs, is_wish=is_wish)
        is_whole = is_wish or len(one.about) + len(one.values) > 1
        return Conflict("denial", "", "") if is_whole and not mine and not theirs and one.is_denied != other.is_denied else None
    if mine or theirs or one.is_denied != other.is_denied:
        return None
    return _of_opposites(one, other, least, is_wish=is_wish)


def _of_values(mine: Sequence[Value], theirs: Sequence[Value], *, is_wish: bool) -> Conflict | None:
    if len(mine) > 2 or [each.sort for each in mine] != [each.sort for each in theirs]:
        return None
    names = [(one.is_.split(), other.is_.split()) for one, other in zip(mine, theirs, strict=True) if one.sort == "name"]
    may_be_one = any(is_form(a, b) for some, others in names for a in some for b in others)
    is_stated = all(each.is_stated for each in (*mine, *theirs)) or is_wish
    return (
        Conflict("value", mine[0].written, theirs[0].written) if is_stated and not (may_be_one or (is_wish and names)) else None
    )


def _of_opposites(one: Claim, other: Claim, least: int, *, is_wish: bool) -> Conflict | None:
    """Returns the conflict of two claims that speak of the same but for a word and its opposite behind the verb."""
    for word, opposite in opposites_in(read_wording(one.sentence), read_wording(other.sentence)):
        left = [each for each in one.about if each != word]
        is_behind = is_wish or (word in one.behind and opposite in other.behind)
        if is_behind and len(left) >= least and left == [each for each in other.about if each != opposite]:
            return Conflict("opposite", word, opposite)
    return None
