"""A text as it is compared with others, and what in its words speaks against another's being the same."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache

from alma_learning.denials import COMMA, Denial, contradicts, denials, denies, telling
from alma_learning.numbers import numbers_apart, words_and_numbers
from alma_learning.stems import stem, stems
from alma_learning.word_lists import read_lists, read_pairs

ONE = "1"
_WORDS = read_lists("words")
_ARROW = re.compile(r"\s*[→⇒]\s*|\s+[-=]+>\s+")
"""Stands between steps, such as the names of tools in the order in which they were called: `search -> open_page`."""
_HUMPED, _HUMP = re.compile(r"\b[a-z]+(?:[A-Z][a-z\d]+)+\b"), re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_LEFT_FIRST, _RIGHT_FIRST, _SECOND = ("before", "then"), ("after", "once"), ("afterwards", "afterward", "later")
_JOINING = ("and", "or", "then")
_TIMES = stems(frozenset(("before", "after", "afterwards", "later", "first", "then")))
_MANY, _APART = stems(_WORDS["many"]), stems(_WORDS["apart"])


@dataclass(frozen=True, slots=True)
class Wording:
    """A text as it is compared with others.

    `telling` are the stems of its telling words in order, `spoken` those of all its words but articles, `all` both as a set. `earlier` and `later`
    are the telling stems of what comes first and second, where it says so.
    """

    telling: tuple[str, ...]
    spoken: tuple[str, ...]
    all: frozenset[str]
    denials: tuple[Denial, ...]
    numbers: frozenset[str]
    earlier: frozenset[str]
    later: frozenset[str]
    is_restricted: bool


@lru_cache(maxsize=4_096)
def read_wording(text: str) -> Wording:
    """Returns the wording of a text. The arguments of calls are no numbers of a sentence."""
    plain = _ARROW.sub(" then ", _HUMPED.sub(lambda name: _HUMP.sub(" ", name[0]), text))
    words, _ = words_and_numbers(plain)
    spoken = tuple(stem(word) for word in words if word not in _WORDS["articles"] and word != COMMA)
    earlier, later = _read_order(words)
    return Wording(
        telling(words),
        spoken,
        frozenset(spoken),
        denials(words),
        frozenset(words_and_numbers(_ARGUMENTS.sub(" ", plain))[1]),
        earlier,
        later,
        is_restricted=not _WORDS["restricting"].isdisjoint(words),
    )


def _read_order(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Returns what comes first and what second, by the first word that says so."""
    place = next((at for at, word in enumerate(words) if word in (*_LEFT_FIRST, *_RIGHT_FIRST, *_SECOND)), None)
    if place is None:
        return frozenset(), frozenset()
    left, right = words[:place], words[place + 1 :]
    if words[place] in _SECOND:  # "switch the traffic first and migrate afterwards"
        cut = next((at for at in reversed(range(place)) if words[at] in ("and", COMMA)), 0)
        left, right = words[:cut], [*words[cut:place], *right]
    elif not left and COMMA in right:  # "after the tests, deploy"
        left, right = right[right.index(COMMA) :], right[: right.index(COMMA)]
    sides = frozenset(telling(left)), frozenset(telling(right))
    return sides[::-1] if words[place] in _RIGHT_FIRST else sides


def is_denied(one: Wording, other: Wording) -> bool:
    """Returns True if one of two texts denies what the other says, or has it in another order."""
    return (
        contradicts(one.denials, one.spoken, other.denials, other.spoken)
        or is_in_other_order(one, other)
        or is_exchanged(one, other)
    )


def is_turned(one: Wording, other: Wording) -> bool:
    """Returns True if an opposite, or a word such as "only", makes something else of one text."""
    return any(True for _ in opposites_in(one, other)) or one.is_restricted != other.is_restricted


def has_other_numbers(one: Wording, other: Wording) -> bool:
    """Returns True if a text names a number that the other has not. "One" may be an article."""
    return bool(numbers_apart(one.numbers - {ONE}, other.numbers)[0])


def is_in_other_order(one: Wording, other: Wording) -> bool:
    """Returns True if what comes first in one text comes second in the other, and the other way round."""
    moved_back = (one.earlier - one.later) & (other.later - other.earlier)
    return bool(moved_back and (one.later - one.earlier) & (other.earlier - other.later))


def is_exchanged(one: Wording, other: Wording) -> bool:
    """Returns True if the same words stand in each other's place: "from A to B", "from B to A". A clause or the items of a list may move."""
    mine, theirs = ([word for word in each.spoken if word not in _JOINING] for each in (one, other))
    if sorted(mine) != sorted(theirs):
        return False
    changed = [place for place, (word, instead) in enumerate(zip(mine, theirs, strict=True)) if word != instead]
    start, end = (changed[0], changed[-1] + 1) if changed else (0, 0)
    moved = theirs[start:end]
    return not (one.earlier and other.earlier) and all(mine[cut:end] + mine[start:cut] != moved for cut in range(start, end + 1))


def opposites_in(one: Wording, other: Wording) -> Iterator[tuple[str, str]]:
    """Yields the stems of one text whose opposite stands in the other, each with it, unless a text names both."""
    mine, theirs = one.all - other.all, other.all - one.all
    if one.earlier and other.earlier:
        theirs -= _TIMES  # compared by `is_in_other_order`
    for word in sorted(mine):
        yield from ((word, opposite) for opposite in sorted(theirs & opposites().get(word, frozenset())))


@cache
def opposites() -> dict[str, frozenset[str]]:
    """Returns the stems that are opposites of each stem that has one."""
    listed: dict[str, frozenset[str]] = {}
    for left, right in read_pairs("opposites")["opposites"].items():
        sides = stems(frozenset(left.split())), stems(frozenset(right.split()))
        for some, others in (sides, sides[::-1]):
            listed |= {one: listed.get(one, frozenset()) | others for one in some}
    return listed


def is_one_of_many(one: Wording, other: Wording) -> bool:
    """Returns True if one text speaks of one where the other speaks of many: "change one thing at a time", "change several things"."""
    if ONE not in one.numbers or ONE in other.numbers:
        return False
    return bool(other.numbers) or any(kind & other.all and not kind & one.all for kind in (_MANY, _APART))


def is_one_place_apart(one: Wording, other: Wording) -> bool:
    """Returns True if two texts are the same but for one place, where each has something else."""
    return places(one.spoken, other.spoken) == ["replace"]


def is_one_word_apart(one: Wording, other: Wording) -> bool:
    """Returns True if two texts of several words are the same but for one word."""
    changed = [pair for pair in zip(one.spoken, other.spoken, strict=False) if pair[0] != pair[1]]
    return len(one.spoken) == len(other.spoken) > 1 == len(changed) and not all(map(denies, changed[0]))


def places(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Returns how two sequences differ, place by place: something is replaced, inserted, or deleted."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return [tag for tag, *_ in matcher.get_opcodes() if tag != "equal"]
