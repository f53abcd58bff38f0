"""Check whether one sentence says what another says, by their words and the cosine of their vectors.

How near two vectors must be depends on how the texts differ. Two that are alike but for one place mostly name different things there, however
near they are; two that differ in several places and are near all the same are one thing in other words.
"""

from alma_learning.denials import undoes
from alma_learning.stems import unmatched
from alma_learning.wording import Wording, has_other_numbers, is_denied, is_one_of_many, is_one_place_apart, is_turned, places

# Cosines of all-MiniLM-L6-v2 from which one text says what another does, by how their words differ. Fitted on `check_tuning`, `check_held_out` and
# the tuning half of `strategy_pairs`, 28 November 2026: `python -m benchmarks.words --fit`.
CONTAINED, WORD_CONTAINED, ONE_PLACE, OTHER_WORDS, ENOUGH, BARE = 0.4, 0.6, 0.84, 0.6, 1.3, 0.44
LACKING, MORE, PLACE, SHORTENED, FIRST = -0.03, 0.03, 0.21, 0.16, 0.09
"""Amounts added to the cosine for a telling word that the other text lacks, one that it has beside, a place in which the texts differ, if it has
no other telling words, and if the first word, mostly a verb, is lacking: a text in quite other words that is still so near means the same."""
MOST_MORE, MOST_PLACES = 4, 4


def is_contained(one: Wording, other: Wording) -> bool:
    """Returns True if a text has all telling words of another."""
    return bool(one.telling) and {*one.telling} <= other.all


def is_paraphrase(one: Wording, other: Wording, cosine: float) -> bool:
    """Returns True if `other` says what `one` does: near enough for how their words differ, which may not speak against it."""
    if not is_contained(one, other):
        is_near = cosine >= OTHER_WORDS and cosine + _weigh_words(one, other) >= ENOUGH
    elif is_one_place_apart(one, other):
        is_near = cosine >= ONE_PLACE
    else:
        is_near = cosine >= (CONTAINED if len({*one.telling}) > 1 else WORD_CONTAINED)
    return is_near and not says_otherwise(one, other)


def says_otherwise(one: Wording, other: Wording) -> bool:
    """Returns True if something in the words of `other` speaks against its doing what `one` names, however near their vectors are."""
    return (
        undoes(other.telling, one.all)
        or is_denied(one, other)
        or is_turned(one, other)
        or has_other_numbers(one, other)
        or is_one_of_many(one, other)
        or is_one_of_many(other, one)
    )


def _weigh_words(one: Wording, other: Wording) -> float:
    """Returns what the words of two texts, of which the second has not all of the first, add to their cosine."""
    lacking, more = unmatched(frozenset(one.telling), other.all), {*other.telling} - one.all
    return (
        LACKING * len(lacking)
        + MORE * min(len(more), MOST_MORE)
        + PLACE * min(len(places(one.spoken, other.spoken)), MOST_PLACES)
        + SHORTENED * ({*other.telling} <= {*one.telling} and bool(other.telling))
        + FIRST * (one.telling[:1] != () and one.telling[0] in lacking)
    )
