"""Whether two strategies are one way in other words, as far as their words say."""

import re
from collections.abc import Sequence

from alma.learning.matching import contradiction, contradiction_in_other_words, same_strategy
from alma.learning.paraphrases import is_contrary, places, saying
from alma.learning.shell import is_flag, program_of
from alma.learning.stems import unmatched
from alma.learning.wording import Wording, wording
from alma.text import spelt

NOT_SAME = 0.25
"""Up to this cosine of all-MiniLM-L6-v2 the words of two strategies are not compared."""

BY_VECTORS = 0.95
"""The most that is said of strategies that have not the same words."""

SHARED = 0.5
"""Texts that share so much of their telling words mostly differ in the one thing that matters. Those that share less are other words altogether."""

SHARED_WORDS, STANDING_IN, ONE_PLACE, CONTRARY = 0.8, 0.9, -1.9, -0.8
"""What words add to the log-odds that two strategies are one way: the share of telling words that both have, each word for which a synonym stands,
that they differ in one place alone, that something in them is contrary. `benchmarks/sameness_constants.py`."""

WEIGHTS = (SHARED_WORDS, STANDING_IN, ONE_PLACE, CONTRARY)

_NAME_IN_CODE = re.compile(r"\w*(?:_\w|[a-z][A-Z]|\w[.(]\w?|[A-Z]{2})[\w.()]*|[^\w]+")


def by_words(one: str, other: str, cosine: float) -> float:
    """What the words of two strategies add to the log-odds that they are one way: ∞ if they are the same, −∞ if they contradict each other.

    Names of tools and code are one in the same words alone.
    """
    if _is_code(one) or _is_code(other):
        return float("inf") if spelt(one) == spelt(other) else -float("inf")
    if _is_run_otherwise(one.split(), other.split()):
        return -float("inf")
    mine, theirs = wording(one), wording(other)
    if same_strategy(mine, theirs, cosine):
        return float("inf")
    if contradiction(mine, theirs) if _share_words(mine, theirs) else contradiction_in_other_words(mine, theirs):
        return -float("inf")
    return sum(weight * value for weight, value in zip(WEIGHTS, differences(one, other), strict=True))


def differences(one: str, other: str) -> tuple[float, ...]:
    """How the words of two texts differ, as `WEIGHTS` weighs it. Symmetric."""
    mine, theirs = saying(one), saying(other)
    telling, others = {*mine.telling}, {*theirs.telling}
    shared = len(telling & others) / max(len(telling | others), 1)
    standing_in = _standing_in(mine.wording, theirs.wording, telling) + _standing_in(theirs.wording, mine.wording, others)
    is_one_place = shared > 0 and places(mine.spoken, theirs.spoken) == ["replace"]
    is_contrary_to = is_contrary(mine, theirs) or is_contrary(theirs, mine)
    return shared, standing_in, float(is_one_place), float(is_contrary_to)


def _standing_in(one: Wording, other: Wording, telling: set[str]) -> int:
    """The number of telling words of a text that the other lacks, and for which it has a synonym."""
    lacking = frozenset(telling - other.all)
    return len(lacking) - len(unmatched(lacking, other.all - one.all))


def _share_words(one: Wording, other: Wording) -> bool:
    shared = len(one.telling & other.telling)
    return shared > 0 and shared >= SHARED * min(len(one.telling), len(other.telling))


def _is_run_otherwise(one: Sequence[str], other: Sequence[str]) -> bool:
    """Returns True for one program with other options: `git push`, `git push --force`."""
    options = [{word for word in words[1:] if is_flag(word)} for words in (one, other)]
    return bool(one and other) and one[0] == other[0] and options[0] != options[1] and program_of(one[0]) != ""


def _is_code(text: str) -> bool:
    """Returns True if a text is made of names of tools or code alone: `search_flights → book_flight`, `UNION ALL`."""
    return all(_NAME_IN_CODE.fullmatch(word) for word in text.split())
