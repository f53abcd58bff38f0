"""A text read into words and numbers: `30s` and `thirty seconds` are one number, `roll out` and `rollout` one word, ids are left out."""

import re
import unicodedata
from collections.abc import Iterator

from alma.learning.stems import stem
from alma.learning.vocabulary import ABBREVIATIONS, COMPOUNDS, NUMBERS, UNITS

COMMA = ","

_COMPOUNDS = {(stem(word[:end]), stem(word[end:])): word for word in COMPOUNDS for end in range(1, len(word))}
_COMPOUNDS |= {(stem(first), stem(second)): short for (first, second), short in ABBREVIATIONS.items()}
_SECOND_PARTS = {second for _, second in _COMPOUNDS}
_UNITS = {stem(name): unit for name, unit in UNITS.items()}
ARROW = re.compile(r"\s*[→⇒]\s*|\s+[-=]+>\s+")
"""Stands between steps, such as the names of tools in the order in which they were called: `search -> open_page`."""

_TOKEN = re.compile(
    r"(?:#\w+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b)"  # an id
    r"|\b(\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)(\s?%|[a-z]{1,3}\b|\b)"  # a number, and its unit
    r"|([^\W_]+(?:['’]t\b)?|,)"  # a word, or a comma
)


def words_and_numbers(text: str) -> tuple[list[str], list[str]]:
    """The words in order, lower case, commas among them; and the numbers, each with what it measures where that is said: `0.5`, `30s`, `5%`."""
    words: list[str] = []
    numbers: list[str] = []
    waiting = ""
    for number, word in _tokens(text):
        unit = _UNITS.get(stem(word)) if waiting else None
        if waiting:
            numbers.append(_measured(waiting, unit))
        if word and unit is None:
            _append(words, word)
        waiting = number
    return words, [*numbers, *filter(None, [waiting])]


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Numbers and words in turn, one of the two empty."""
    for number, unit, word in _TOKEN.findall(unicodedata.normalize("NFKC", text).lower()):
        if number:
            yield number.replace(",", ""), ""
        token = word or unit.lstrip()
        if token:
            yield (NUMBERS[token], "") if token in NUMBERS else ("", token)


def _measured(number: str, unit: tuple[str, float] | None) -> str:
    if unit is None or number.count(".") > 1:
        return number
    measures, factor = unit
    return f"{float(number) * factor:g}{measures}"


def _append(words: list[str], word: str) -> None:
    if stem(word) in _SECOND_PARTS and words:
        joined = _COMPOUNDS.get((stem(words[-1]), stem(word)))
        if joined:
            words[-1] = joined
            return
    words.append(word)
