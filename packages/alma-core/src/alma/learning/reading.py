"""A text read into words and numbers: `30s` and `thirty seconds` are one number, `roll out` and `rollout` one word, ids are left out."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import isclose

from alma.learning.stems import stem
from alma.learning.vocabulary import ABBREVIATIONS, AMOUNTS, COMPOUNDS, DOUBLED, NUMBERS, UNITS

COMMA = ","

Item = tuple[str, bool]
"""A word or a number of a text, and whether it is a number."""

_COMPOUNDS = {(stem(word[:end]), stem(word[end:])): word for word in COMPOUNDS for end in range(1, len(word))}
_COMPOUNDS |= {(stem(first), stem(second)): short for (first, second), short in ABBREVIATIONS.items()}
_SECOND_PARTS = {second for _, second in _COMPOUNDS}
_UNITS = {stem(name): unit for name, unit in UNITS.items()}
ARROW = re.compile(r"\s*[→⇒]\s*|\s+[-=]+>\s+")
"""Stands between steps, such as the names of tools in the order in which they were called: `search -> open_page`."""

_IN_PLACE_OF = re.compile(r"\bin (?:place|lieu) of\b")
_EXCEPTION = re.compile(r"\b(?:(?:apart|aside) from|other than|with the exception of)\b")
_ALL_BUT = re.compile(
    r"\b((?:all|any(?:body|one|thing)?|every(?:body|one|thing|where)?)\b[^,;.]{0,40}?) but"
    r"(?= (?:(?:an?|the|those|my|our|your|its|\d+|one|first|last)\b|(?!not\b)[\w'-]+\s*(?:$|[,;])))"
)
"""All with an exception: "all pods but the leader", not "check all pods but restart one"."""
_HALF = re.compile(r"\bhalf an? (?=second|minute|hour|day|year)")
_ONE = re.compile(r"\b(after|for|pause|sleep|wait|within) an? (?=(?:second|minute|hour|day|week|month|year)\b)")
""" "Wait a minute", not "5 requests a minute"."""
_MULTIPLES = ("double", "triple")
_DOUBLED = frozenset(map(stem, DOUBLED))
_BETWEEN = frozenset("additional another business calendar extra full further more whole working".split())  # noqa: SIM905
"""Words that may stand between a number and its unit."""
_LIKE_UNIT = {"s": (1.0, 1e3), "B": (1.0, 1e-3, 1e-6, 1e-9), "%": (1.0, 0.01)}
"""How many times a measure a number may be that is written without its unit: `timeout=5000` is 5 s, not the other way round."""
_BINARY = tuple(1.024**power for power in range(4))
"""How many times a number of bytes another one may be: 1024 MB are 1 GB."""
_CURRENCIES = {"€": "euro", "£": "pound", "$": "dollar"}
_BEFORE_AMOUNT = re.compile(r"([€£]|(?<![\w$])\$(?=\d\d|\d[.,]\d))\s?(\d+(?:[.,]\d+)*k?\b)")
"""`€5` and `$15`, but not `$1`, which names an argument."""
_CURRENCY = re.compile(r"[€£]|(?<=\d)\s?\$(?![\w{(])")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\D*)")

_TOKEN = re.compile(
    r"(?:#\w+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b)"  # an id
    r"|\b(\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)(\s?%(?!\s*\d)|[a-z]{1,3}\b|\b)"  # a number, and its unit
    r"|([^\W_]+(?:['’]t\b)?|,)"  # a word, or a comma
)


def words_and_numbers(text: str) -> tuple[list[str], list[str]]:
    """The words in order, lower case, commas among them; and the numbers, each with what it measures where that is said: `0.5`, `30s`, `5%`."""
    items = in_order(text)
    return [item for item, is_number in items if not is_number], [item for item, is_number in items if is_number]


def with_named_currencies(text: str) -> str:
    """Returns a text with names for signs of currencies, behind their amounts: `€15` and `15 €` are `15 euro`."""
    if text.isascii() and "$" not in text:
        return text
    behind = _BEFORE_AMOUNT.sub(lambda found: f" {found[2]}{found[1]}", text)
    return _CURRENCY.sub(lambda found: f" {_CURRENCIES[found[0].strip()]} ", behind)


def in_order(text: str) -> list[Item]:
    """The words and numbers of a text, as `words_and_numbers` gives them, in order."""
    items: list[Item] = []
    waiting = ""
    for number, word in _tokens(text):
        unit = _UNITS.get(stem(word)) if waiting else None
        is_between = waiting != "" and word in _BETWEEN
        if waiting and not is_between:
            items.append((_measured(waiting, unit), True))
        if word and unit is None:
            _append(items, word)
        waiting = waiting if is_between else number
    return [*items, (waiting, True)] if waiting else items


def numbers_apart(one: Iterable[str], other: Iterable[str]) -> tuple[list[str], list[str]]:
    """The numbers of each text, as `words_and_numbers` gives them, for which the other has none that may be the same: `5` may be `5s`."""
    mine, theirs = dict.fromkeys(one), dict.fromkeys(other)
    left, others = ([number for number in some if number not in known] for some, known in ((mine, theirs), (theirs, mine)))
    here, there = [*map(_amount, mine)], [*map(_amount, theirs)]  # read once: a text may be made of numbers alone
    return (
        [number for number in left if not any(_may_be_one(_amount(number), each) for each in there)],
        [number for number in others if not any(_may_be_one(_amount(number), each) for each in here)],
    )


@lru_cache(maxsize=1_024)
def _amount(number: str) -> tuple[float, str] | None:
    """A number and what it measures; `None` for one such as a version."""
    read = _NUMBER.fullmatch(number)
    return (float(read[1]), read[2]) if read else None


def _may_be_one(one: tuple[float, str] | None, other: tuple[float, str] | None) -> bool:
    if one is None or other is None:
        return False
    (mine, unit), (theirs, others_unit) = one, other
    if unit == others_unit:
        return mine == theirs or (unit == "B" and _are_near(mine, theirs))
    if unit and others_unit:
        return False
    measured, plain = (mine, theirs) if unit else (theirs, mine)
    return any(isclose(plain, measured * factor, rel_tol=1e-6) for factor in _LIKE_UNIT.get(unit or others_unit, (1.0,)))


def _are_near(mine: float, theirs: float) -> bool:
    more, less = max(mine, theirs), min(mine, theirs)
    return less > 0 and any(isclose(more / less, factor, rel_tol=1e-4) for factor in _BINARY)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Numbers and words in turn, one of the two empty."""
    plain = _IN_PLACE_OF.sub("instead of", _HALF.sub("0.5 ", unicodedata.normalize("NFKC", with_named_currencies(text)).lower()))
    plain = _ONE.sub(r"\1 1 ", plain)
    plain = _ALL_BUT.sub(r"\1 except", _EXCEPTION.sub("except", plain))
    found = _TOKEN.findall(plain)
    for (number, unit, word), (_, _, following) in zip(found, (*found[1:], ("", "", "")), strict=False):
        if number:
            yield number.replace(",", ""), ""
        token = word or unit.lstrip()
        if token:
            is_number = token in NUMBERS and not _is_name(token, following)
            yield (NUMBERS[token], token if token in AMOUNTS else "") if is_number else ("", token)


def _is_name(word: str, following: str) -> bool:
    """Returns True if a number belongs to the name of a thing: "single quotes", "double-click"."""
    if word == "single":
        return following.endswith("s") and not following.endswith(("ss", "us", "is"))
    return word in _MULTIPLES and stem(following) in _DOUBLED


def _measured(number: str, unit: tuple[str, float] | None) -> str:
    if unit is None or number.count(".") > 1:
        return number
    measures, factor = unit
    return f"{float(number) * factor:g}{measures}"


def _append(items: list[Item], word: str) -> None:
    if stem(word) in _SECOND_PARTS and items:
        joined = _COMPOUNDS.get((stem(items[-1][0]), stem(word)))
        if joined:
            items[-1] = joined, False
            return
    items.append((word, False))
