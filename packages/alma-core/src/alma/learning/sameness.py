"""How probable it is that two strategies are one way in other words: rows of advice are summed by it."""

import re

from alma.learning.matching import contradiction, contradiction_in_other_words, same_strategy
from alma.learning.paraphrases import places
from alma.learning.wording import Wording, wording
from alma.text import spelt

NOT_SAME, SPAN = 0.25, 0.3
"""Up to this cosine of all-MiniLM-L6-v2 two strategies are different; over this span from there the probability rises to 1."""

BY_VECTORS = 0.95
"""The most that vectors say: the share of pairs in one group of `alma.learning.ways` that are the same. Only where words say so, it is 1."""

SHARED = 0.5
"""Texts that share so much of their telling words mostly differ in the one thing that matters. Those that share less are other words altogether."""

SEVERAL_PLACES = 2
"""Texts that share so much are paraphrases all the same, if other words stand in this number of places."""

DOUBTED = -0.5
"""Stands for two strategies that are most likely two, unless others stand between them."""

SHORT = 4
"""Of two names of so few words a shared word makes most of the cosine: they are one way only where their words are."""

_NAME_IN_CODE = re.compile(r"\w*(?:_\w|[a-z][A-Z]|\w[.(]\w?|[A-Z]{2})[\w.()]*|[^\w]+")


def same_weight(one: str, other: str, cosine: float, *, is_calibrated: bool) -> float:
    """The probability that two strategies are one way, from their words and their cosine; −1 if they are clearly two, `DOUBTED` if most likely.

    Names of tools and code are one in the same words alone.
    """
    if _is_code(one) or _is_code(other):
        return 1.0 if spelt(one) == spelt(other) else -1.0
    mine, theirs = wording(one), wording(other)
    if same_strategy(mine, theirs, cosine):
        return 1.0
    shares_words = _share_words(mine, theirs)
    if contradiction(mine, theirs) if shares_words else contradiction_in_other_words(mine, theirs):
        return -1.0
    if not is_calibrated:
        return 0.0
    is_short = len(one.split()) <= SHORT and len(other.split()) <= SHORT
    if is_short or (shares_words and places(mine.spoken, theirs.spoken).count("replace") < SEVERAL_PLACES):
        return DOUBTED
    return min(max((cosine - NOT_SAME) / SPAN, 0.0), BY_VECTORS)


def _share_words(one: Wording, other: Wording) -> bool:
    shared = len(one.telling & other.telling)
    return shared > 0 and shared >= SHARED * min(len(one.telling), len(other.telling))


def _is_code(text: str) -> bool:
    """Returns True if a text is made of names of tools or code alone: `search_flights → book_flight`, `UNION ALL`."""
    return all(_NAME_IN_CODE.fullmatch(word) for word in text.split())
