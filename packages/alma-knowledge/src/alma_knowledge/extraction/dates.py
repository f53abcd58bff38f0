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
            yield from _spelt(words, at, days, "day")
    for found in _AGO.finditer(lowered):
        number = numerals().get(found[1], "1" if found[1] in ("a", "an") else found[1])
        if number.isdigit():
            yield from _spelt(found[0], at, -float(number) * _LENGTHS[found[2]], found[2])
    for found in _NEAR.finditer(lowered):
        sign = -1 if found[1] == "last" else 1
        if found[2] in DAYS:
            days = ((DAYS.index(found[2]) - at.weekday()) * sign - 1) % 7 + 1
            yield from _spelt(found[0], at, days * sign, "day")
        else:
            yield from _spelt(found[0], at, sign * _LENGTHS[found[2]], found[2])


def _spelt(words: str, at: datetime, days: float, unit: str) -> Iterator[str]:
    """Yields the spellings of the date so many days after `at`; nothing for one before year 1 or after year 9999."""
    try:
        day = at + timedelta(days=days)
    except OverflowError:
        return
    month = MONTHS[day.month - 1].capitalize()
    spellings = {
        "day": f"{day:%Y-%m-%d}, {day.day} {month} {day.year}, {month} {day.day}, {day.year}",
        "week": f"{day:%Y-%m-%d}, {day.day} {month} {day.year}, {month} {day.day}, {day.year}",
        "month": f"{day:%Y-%m}, {month} {day.year}",
        "year": f"{day.year}",
    }
    yield f"{words}: {spellings[unit]}"
