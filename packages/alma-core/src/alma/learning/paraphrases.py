"""Whether one sentence says what another does, by their words and the cosine of their vectors.

How near two vectors must be depends on how the texts differ. Two that are alike but for one place mostly name different things there, however
near they are; two that differ in several places and are near all the same are one thing in other words. The weights are those of a logistic
regression on labelled pairs, relative to that of the cosine: `benchmarks/paraphrase_constants.py`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from operator import mul

from alma.learning.denials import Denial, contradicts, denials, telling, undoes
from alma.learning.matching import exchange, opposite_words, other_relation, other_version
from alma.learning.reading import numbers_apart, words_and_numbers
from alma.learning.stems import stem, unmatched
from alma.learning.wording import Wording, wording

_HUMPED = re.compile(r"\b[a-z]+(?:[A-Z][a-z\d]+)+\b")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_DENIED_APART = frozenset(map(stem, ("with", "without")))
"""Opposites that `denials` reads."""
ONE = "1"
_MANY = frozenset(map(stem, ("all", "both", "entire", "every", "everything", "many", "multiple", "several", "whole")))
_APART = frozenset(map(stem, ("each", "individual", "own", "per", "separate", "separately")))


LACKING, STANDING_IN, MORE, PLACE = -0.05, 0.26, 0.03, 0.18
"""What a telling word that the other text lacks adds to the cosine, one for which a synonym stands, a telling word that it has beside, and a place
in which the texts differ: a text in quite other words that is still so near means the same."""
SHORTENED, FIRST = 0.16, 0.09
"""And if it has no other telling words; if the first word, mostly a verb, is among those that it lacks."""
WEIGHTS = (LACKING, STANDING_IN, MORE, PLACE, SHORTENED, FIRST)
MOST_MORE, MOST_PLACES = 4, 4


@dataclass(frozen=True, slots=True)
class Limits:
    """From which cosine on one text says what another does, by how their words differ."""

    contained: float
    """It has all telling words of the other."""
    word_contained: float
    """The other has only one."""
    contained_but_one: float
    """The same, but for one place where other words stand: `ask for the first name`, `ask for the full name`."""
    other_words: float
    """It has not all of them: then the cosine and what the words add to it are at least `enough`."""
    enough: float
    bare: float
    """One is code, the other names only its program, its function or an argument of it."""


LIMITS = Limits(contained=0.4, word_contained=0.6, contained_but_one=0.84, other_words=0.65, enough=1.25, bare=0.44)
"""For cosines of all-MiniLM-L6-v2, and for those that are put on its scale (`alma.learning.scale`)."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A text as it is compared with others."""

    wording: Wording
    telling: tuple[str, ...]
    """The stems of its telling words in order."""
    spoken: tuple[str, ...]
    """And of all its words, but for articles."""
    denials: tuple[Denial, ...]
    numbers: frozenset[str]


@lru_cache(maxsize=4_096)
def saying(text: str) -> Saying:
    """Reads a text. The same for the same text, always."""
    plain = _HUMPED.sub(lambda name: _HUMP.sub(" ", name[0]), text)
    words, _ = words_and_numbers(plain)
    _, numbers = words_and_numbers(_ARGUMENTS.sub(" ", plain))
    read = wording(plain)
    return Saying(
        read,
        telling(words),
        tuple(map(stem, read.spoken)),
        denials(words),
        frozenset(numbers),
    )


def is_contrary(one: Saying, other: Saying) -> bool:
    """Whether something in the words of `other` speaks against its being what `one` names, however near their vectors are."""
    mine, theirs = one.wording, other.wording
    return (
        contradicts(one.denials, one.spoken, other.denials, other.spoken)
        or undoes(other.telling, mine.all)
        or any(not {*pair} <= _DENIED_APART for pair in opposite_words(mine, theirs))
        or exchange(mine, theirs) is not None
        or other_relation(mine, theirs) is not None
        or mine.is_restricted != theirs.is_restricted
        or other_version(mine, theirs) is not None
        or bool(numbers_apart(one.numbers - {ONE}, other.numbers)[0])
        or _is_one_of_many(one, other)
        or _is_one_of_many(other, one)
    )


def _is_one_of_many(one: Saying, other: Saying) -> bool:
    """Whether one text speaks of one where the other speaks of many: "change one thing at a time", "change several things"."""
    if ONE not in one.numbers or ONE in other.numbers:
        return False
    return bool(other.numbers) or any(_has_only(other, one, stems) for stems in (_MANY, _APART))


def _has_only(one: Saying, other: Saying, stems: frozenset[str]) -> bool:
    return not one.wording.all.isdisjoint(stems) and other.wording.all.isdisjoint(stems)


def is_contained(one: Saying, other: Saying) -> bool:
    """Whether a text has all telling words of another."""
    return bool(one.telling) and {*one.telling} <= other.wording.all


def is_paraphrase(one: Saying, other: Saying, cosine: float, limits: Limits) -> bool:
    """Whether `other` says what `one` does: near enough for how their words differ, which may not speak against it."""
    if is_contained(one, other):
        is_near = cosine >= _limit_contained(one, other, limits)
    else:
        is_near = cosine >= limits.other_words and cosine + _by_words(one, other) >= limits.enough
    return is_near and not is_contrary(one, other)


def _limit_contained(one: Saying, other: Saying, limits: Limits) -> float:
    if _differ_in_one_place(one.spoken, other.spoken):
        return limits.contained_but_one
    return limits.contained if len({*one.telling}) > 1 else limits.word_contained


def _by_words(one: Saying, other: Saying) -> float:
    """What the words of two texts, of which the second has not all of the first, add to their cosine."""
    return float(sum(map(mul, WEIGHTS, differences(one, other))))


def differences(one: Saying, other: Saying) -> tuple[int, ...]:
    """How the words of two texts differ, as `WEIGHTS` weighs it: six counts."""
    lacking, more = {*one.telling} - other.wording.all, {*other.telling} - one.wording.all
    standing_in = len(lacking) - len(unmatched(frozenset(lacking), other.wording.all - one.wording.all))
    return (
        len(lacking),
        standing_in,
        min(len(more), MOST_MORE),
        min(len(places(one.spoken, other.spoken)), MOST_PLACES),
        int({*other.telling} <= {*one.telling} and bool(other.telling)),
        int(one.telling[:1] != () and one.telling[0] in lacking),
    )


def _differ_in_one_place(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sequences are the same but for one place, where each has something else."""
    return places(one, other) == ["replace"]


def places(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """How two sequences differ, place by place: something is replaced, inserted, or deleted."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return [tag for tag, *_ in matcher.get_opcodes() if tag != "equal"]
