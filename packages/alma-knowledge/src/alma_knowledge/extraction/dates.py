"""Dates that words as "yesterday" or "two weeks ago" mean, seen from when they were said."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from alma.text import DAYS, MONTHS
from alma_learning.numbers import numerals

_AGO = re.compile(r"\b(\d{1,3}|[a-z]+) (day|week|month|year)s? ago\b")
_NEAR = re.compile(r"\b(last|next) (week|month|year|" + "|".join(DAYS) + r")\b")
_DAYS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "tomorrow": 1,
}
_LENGTHS = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}


def spell_dates(text: str, at: datetime) -> Iterator[str]:
    """Yields what a text's relative dates mean, seen from `at`, in the usual spellings: "yesterday: 2023-05-07, 7 May 2023, May 7, 2023"."""
    lowered = text.lower()
    for words, days in _DAYS.items():
        if words in lowered:
            yield _spelt(words, at + timedelta(days=days), "day")
    for found in _AGO.finditer(lowered):
        number = numerals().get(found[1], "1" if found[1] in ("a", "an") else found[1])
        if number.isdigit():
            yield _spelt(found[0], _moved(at, -float(number), found[2]), found[2])
    for found in _NEAR.finditer(lowered):
        sign = -1 if found[1] == "last" else 1
        if found[2] in DAYS:
            days = ((DAYS.index(found[2]) - at.weekday()) * sign - 1) % 7 + 1
            yield _spelt(found[0], at + timedelta(days=days * sign), "day")
        else:
            yield _spelt(found[0], _moved(at, sign, found[2]), found[2])


def _moved(at: datetime, count: float, unit: str) -> datetime:
    try:
        return at + timedelta(days=count * _LENGTHS[unit])
    except OverflowError:
        return at


def _spelt(words: str, day: datetime, unit: str) -> str:
    month = MONTHS[day.month - 1].capitalize()
    spellings = {
        "day": f"{day:%Y-%m-%d}, {day.day} {month} {day.year}, {month} {day.day}, {day.year}",
        "week": f"{day:%Y-%m-%d}, {day.day} {month} {day.year}, {month} {day.day}, {day.year}",
        "month": f"{day:%Y-%m}, {month} {day.year}",
        "year": f"{day.year}",
    }
    return f"{words}: {spellings[unit]}"
