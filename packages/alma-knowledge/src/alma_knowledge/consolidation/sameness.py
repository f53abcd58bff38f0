"""Comparison of two stated texts by their words: do they say the same? The cosine of their vectors only makes them a candidate.

Measured by `benchmarks.consolidation`. A pair that the words leave open is unsure: a language model or a person may judge it.
"""

import re
from collections import Counter
from enum import StrEnum
from functools import lru_cache
from unicodedata import category

from alma_knowledge.conflicts import conflict
from alma_knowledge.llm import find_lost
from alma_learning import differ, normalise
from alma_learning.numbers import numbers_apart, read_in_order
from alma_learning.stems import stem, stems
from alma_learning.wording import is_denied, is_turned, read_wording

_BOUNDS = (
    *("able", "above", "any", "below", "can", "could", "few", "first", "last", "least", "many", "may", "might", "most"),
    *("must", "next", "only", "over", "should", "some", "several", "under", "up"),
)
BOUNDS = stems(frozenset(_BOUNDS))
"""English words that say how much, how many or how surely, and that `differ` passes over where more than one word differs: "files up to 5 MB are
accepted", "files over 5 MB are accepted". A pair in which one text has such a word more is unsure."""


class Verdict(StrEnum):
    """Relation between two texts. Only texts with `SAME` are merged."""

    SAME = "same"
    CONTRADICTION = "contradiction"
    NUMBER = "another number"
    NAME = "another name"
    NEGATION = "a denial, an opposite or another order"
    REFINEMENT = "one says more"
    LABEL = "another domain, category or value"
    UNSURE = "unsure"


_MEASURES = frozenset("%&")
_BELOW_ZERO = re.compile(r"(?<![\w)])[-−](?=[.\d])")


@lru_cache(maxsize=8_192)
def compare(mine: str, theirs: str, *, labels: tuple[str, str] = ("", ""), is_wish: bool = False) -> Verdict:
    """Returns how two texts stand to each other. `labels` are their domains or categories; `is_wish` says that they are wishes of one person."""
    if mine == theirs:
        return Verdict.SAME
    one, other = read_wording(mine), read_wording(theirs)
    if any(numbers_apart(one.numbers, other.numbers)):
        return Verdict.NUMBER
    if find_lost(mine, [theirs]) and find_lost(theirs, [mine]):
        return Verdict.NAME
    if _signs(mine) != _signs(theirs):
        return Verdict.UNSURE
    if normalise(mine) == normalise(theirs):
        return Verdict.SAME
    if conflict(mine, theirs, labels=labels, is_wish=is_wish) is not None:
        return Verdict.CONTRADICTION
    if is_denied(one, other) or is_turned(one, other):
        return Verdict.NEGATION
    more, less = Counter(one.telling) - Counter(other.telling), Counter(other.telling) - Counter(one.telling)
    if bool(more) != bool(less):
        return Verdict.REFINEMENT
    is_open = (
        more or not one.telling or BOUNDS & (one.all ^ other.all) or differ(mine, theirs) or not _is_order_kept(mine, theirs)
    )
    return Verdict.UNSURE if is_open else Verdict.SAME


def _signs(text: str) -> list[str]:
    """Returns the signs that mean something where they stand: of currencies, comparisons and sets, `%`, and what makes a number negative."""
    signs = [sign for sign in text if sign in _MEASURES or (category(sign) in {"Sm", "Sc", "So"} and sign not in "|~")]
    return sorted([*signs, *_BELOW_ZERO.findall(text)])


def _is_order_kept(mine: str, theirs: str) -> bool:
    """Returns True if the telling words and numbers have one order, but for a clause that moved; or another one where a passive turned them round."""
    one, other = _in_order(mine), _in_order(theirs)
    if _is_passive(mine) != _is_passive(theirs):
        return one != other
    changed = [place for place, (word, instead) in enumerate(zip(one, other, strict=False)) if word != instead]
    if len(one) != len(other) or not changed:
        return one == other
    start, end = changed[0], changed[-1] + 1
    return any(one[cut:end] + one[start:cut] == other[start:end] for cut in range(start, end))


def _in_order(text: str) -> list[str]:
    telling = {*read_wording(text).telling}
    items = [(item if is_number else stem(item), is_number) for item, is_number in read_in_order(text)]
    return [item for item, is_number in items if is_number or item in telling]


def _is_passive(text: str) -> bool:
    return "by" in read_wording(text).all
