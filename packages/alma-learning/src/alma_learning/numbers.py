"""A text read into words and numbers: `30s` and `thirty seconds` are one number, `roll out` and `rollout` one word, ids are left out."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from math import isclose

from alma_learning.stems import stem
from alma_learning.word_lists import read_lists, read_pairs

_CURRENCY_FIRST = re.compile(r"([€£]|(?<![\w$])\$(?=\d\d|\d[.,]\d))\s?(\d+(?:[.,]\d+)*)")
"""`€5` and `$15`, but not `$1`, which names an argument."""
_BYTES = re.compile(r"(?<=\d)([MGT])\b")
"""`200M`, which is no minute."""
_TOKEN = re.compile(
    r"(?:#\w+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b)"  # an id
    r"|\bv?(?P<number>\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)(?P<unit>\s?%(?!\s*\d)|\s?[€£$](?![\w{(])|[a-z]{1,3}\b|\b)"
    r"|(?P<word>[^\W_]+(?:['’]t\b)?|,)"
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\D*)")
_BARE = {"s": (1.0, 1e3), "B": (1.0, 1e-3, 1e-6, 1e-9), "%": (1.0, 0.01)}
"""How many times a measure a number may be that is written without its unit: `timeout=5000` is 5 s."""


def words_and_numbers(text: str) -> tuple[list[str], list[str]]:
    """Returns the words in order, lower case, commas among them; and the numbers, each with its measure where it has one: `0.5`, `30s`, `5%`."""
    items = read_in_order(text)
    return [item for item, is_number in items if not is_number], [item for item, is_number in items if is_number]


def read_in_order(text: str) -> list[tuple[str, bool]]:
    """Returns the words and numbers of a text in order, each with whether it is a number."""
    items: list[tuple[str, bool]] = []
    waiting = ""
    for word, is_number in _tokens(text):
        unit = units().get(stem(word)) if waiting and not is_number else None
        if waiting:
            items.append((_measured(waiting, unit), True))
        if not is_number and unit is None:
            _append(items, word)
        waiting = word if is_number else ""
    return [*items, (waiting, True)] if waiting else items


def numerals() -> dict[str, str]:
    """Returns the English words of numbers, each with its digits."""
    return read_pairs("numbers")["numerals"]


@cache
def units() -> dict[str, tuple[float, str]]:
    """Returns the stems of units, each with how much of its measure it is: 60 seconds, 12 months."""
    named = ((name, value.partition(" ")) for name, value in read_pairs("numbers")["units"].items())
    return {stem(name): (float(factor), measure) for name, (factor, _, measure) in named}


def numbers_apart(one: Iterable[str], other: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the numbers of each text for which the other has none that may be the same: `5` may be `5s`, 1024 MB are 1 GB."""
    mine, theirs = dict.fromkeys(one), dict.fromkeys(other)
    return _missing(mine, theirs), _missing(theirs, mine)


def _missing(some: Iterable[str], others: Iterable[str]) -> list[str]:
    known = [*map(_amount, others)]
    return [one for one in some if one not in others and not any(_may_be_one(_amount(one), amount) for amount in known)]


@lru_cache(maxsize=1_024)
def _amount(number: str) -> tuple[float, str] | None:
    """A number and its measure; `None` for one such as a version."""
    found = _AMOUNT.fullmatch(number)
    return (float(found[1]), found[2]) if found else None


def _may_be_one(one: tuple[float, str] | None, other: tuple[float, str] | None) -> bool:
    if one is None or other is None:
        return False
    (mine, unit), (theirs, other_unit) = one, other
    if unit == other_unit:
        return mine == theirs
    measured, bare = (mine, theirs) if unit else (theirs, mine)
    factors = () if unit and other_unit else _BARE.get(unit or other_unit, (1.0,))
    return any(isclose(bare, measured * factor, rel_tol=1e-6) for factor in factors)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    plain = _BYTES.sub(r"\1b", _CURRENCY_FIRST.sub(r"\2\1", unicodedata.normalize("NFKC", text))).lower()
    known = numerals()
    for token in _TOKEN.finditer(plain):
        if token["number"]:
            yield token["number"].replace(",", ""), True
        word = token["word"] or (token["unit"] or "").strip()
        if word:
            yield known.get(word, word), word in known


def _measured(number: str, unit: tuple[float, str] | None) -> str:
    return number if unit is None or number.count(".") > 1 else f"{float(number) * unit[0]:g}{unit[1]}"


@cache
def _compounds() -> dict[tuple[str, str], str]:
    return {
        (stem(word[:end]), stem(word[end:])): word for word in read_lists("words")["compounds"] for end in range(1, len(word))
    }


def _append(items: list[tuple[str, bool]], word: str) -> None:
    joined = _compounds().get((stem(items[-1][0]), stem(word))) if items else None
    if joined:
        items.pop()
    items.append((joined or word, False))
