"""Whether one sentence says what another does, by their words and the cosine of their vectors.

How near two vectors must be depends on how the texts differ. Two that are alike but for one place mostly name different things there, however
near they are; two that differ in several places and are near all the same are one thing in other words. The limits were measured on
`benchmarks/data/check_tuning.jsonl` by `benchmarks/checks.py`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from alma.learning.denials import Denial, contradicts, denials, telling, undoes
from alma.learning.matching import exchange, opposite_words, other_version
from alma.learning.reading import words_and_numbers
from alma.learning.stems import stem
from alma.learning.wording import Wording, wording
from alma.types.embedding import Fingerprint

_HUMPED = re.compile(r"\b[a-z]+(?:[A-Z][a-z\d]+)+\b")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_DENIED_APART = frozenset(map(stem, ("with", "without")))
"""Opposites that `denials` reads."""
ONE = "1"
_MANY = frozenset(map(stem, ("all", "both", "entire", "every", "everything", "many", "multiple", "several", "whole")))
_APART = frozenset(map(stem, ("each", "individual", "own", "per", "separate", "separately")))


@dataclass(frozen=True, slots=True)
class Limits:
    """From which cosine on one text says what another does, by how their words differ."""

    contained: float
    """It has all telling words of the other."""
    word_contained: float
    """The other has only one."""
    contained_but_one: float
    """The same, but for one place where other words stand: `ask for the first name`, `ask for the full name`."""
    all_but_one: float
    """All words are the same but for one place, where a telling one stands."""
    shortened: float
    """It has some of the telling words of the other and no others."""
    in_one_place: float
    in_more_places: float
    """The telling words differ in so many places, and others do, too."""
    bare: float
    """One is code, the other names only its program, its function or an argument of it."""


CALIBRATED = {
    ("all-MiniLM-L6-v2", 384): Limits(
        contained=0.4,
        word_contained=0.6,
        contained_but_one=0.84,
        all_but_one=0.97,
        shortened=0.87,
        in_one_place=0.8,
        in_more_places=0.72,
        bare=0.44,
    )
}
"""By model and dimension."""


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


def limits_of(fingerprint: Fingerprint) -> Limits | None:
    """What was measured for an embedder; `None` for one that was not: its cosines are no ground."""
    return CALIBRATED.get((fingerprint.model, fingerprint.dimension))


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
        contradicts(one.denials, mine.all, other.denials, theirs.all)
        or undoes(other.telling, mine.all)
        or any(not {*pair} <= _DENIED_APART for pair in opposite_words(mine, theirs))
        or exchange(mine, theirs) is not None
        or mine.is_restricted != theirs.is_restricted
        or other_version(mine, theirs) is not None
        or not (one.numbers - {ONE} <= other.numbers)
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
    if cosine < limits.in_more_places and not is_contained(one, other):
        return False
    return cosine >= _limit(one, other, limits) and not is_contrary(one, other)


def _limit(one: Saying, other: Saying, limits: Limits) -> float:
    is_contained_in, is_but_one = is_contained(one, other), _differ_in_one_place(one.spoken, other.spoken)
    if is_but_one:
        return limits.contained_but_one if is_contained_in else limits.all_but_one
    if is_contained_in:
        return limits.contained if len({*one.telling}) > 1 else limits.word_contained
    if {*other.telling} <= {*one.telling}:
        return limits.shortened
    return limits.in_one_place if len(_places(one.telling, other.telling)) == 1 else limits.in_more_places


def _differ_in_one_place(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sequences are the same but for one place, where each has something else."""
    return [*_places(one, other)] == ["replace"]


def _places(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """How two sequences differ, place by place: something is replaced, inserted, or deleted."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return [tag for tag, *_ in matcher.get_opcodes() if tag != "equal"]
