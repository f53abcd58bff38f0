"""The time that a question names: "ten days ago", "last weekend", "in May 2023", "on 8 May". Pure: the present is passed in.

An interval is as wide as people are vague, and reaches beyond the day that is named, since much is told some days after it happened. Where a question
names several times, or none, nothing is concluded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

_NUMBERS = {
    name: number
    for number, names in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for name in names.split()
} | {"couple": 2, "couple of": 2, "few": 3}
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AMBIGUOUS = frozenset({"may", "march", "mar"})
"""Names that are words of their own: read as a time only behind a preposition or beside a number."""

_UNIT_DAYS = {"day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}
_VAGUENESS = {"day": 1.0, "week": 3.5, "month": 10.0, "year": 60.0}
"""Days on either side of "N units ago"."""
_LONG_WEEKS, _LONG_WEEKS_VAGUENESS = 4, 5.0
_NAMED = {"yesterday": (-2.0, 0.0), "last week": (-14.0, -3.0), "last weekend": (-9.0, -1.0), "last month": (-62.0, -7.0)}
_TOLD_BEFORE, _TOLD_AFTER = 1, 6
"""Days around a date on which what happened then is told."""
_MONTH_TOLD_AFTER = 5


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start` to `end`, both included, in aware UTC."""

    start: datetime
    end: datetime


def named_time(question: str, now: datetime) -> Interval | None:
    """Returns the interval that a question names, seen from `now`; `None` if it names none or several different ones."""
    text = " ".join(question.lower().replace("’", "'").split())
    if not _clue().search(text):
        return None
    try:
        found = {*_relative(text, now), *_absolute(text, now)}
    except (ValueError, OverflowError):  # a year that no calendar has
        return None
    return found.pop() if len(found) == 1 else None


def _relative(text: str, now: datetime) -> Iterator[Interval]:
    for match in _ago().finditer(text):
        amount, unit = _amount(match["amount"]), match["unit"]
        vague = _LONG_WEEKS_VAGUENESS if unit == "week" and amount >= _LONG_WEEKS else _VAGUENESS[unit]
        yield _days(now, -amount * _UNIT_DAYS[unit] - vague, -amount * _UNIT_DAYS[unit] + vague)
    for match in _past().finditer(text):
        yield _days(now, -_amount(match["amount"] or "one") * _UNIT_DAYS[match["unit"]], 0.0)
    for name, (start, end) in _NAMED.items():
        if re.search(rf"\b{name}\b", text):
            yield _days(now, start, end)
    for match in re.finditer(rf"\blast ({'|'.join(_DAYS)})\b", text):
        back = (now.weekday() - _DAYS.index(match[1])) % 7 or 7
        yield _days(now, -back - 1.0, -back + 1.0)


def _absolute(text: str, now: datetime) -> Iterator[Interval]:
    taken = []
    for match in _dates().finditer(text):
        month = _month(match["month"] or match["month2"])
        day, year = int(match["day"] or match["day2"]), int(match["year"] or _year_of(now, month))
        yield _days(datetime(year, month, day, tzinfo=UTC), -_TOLD_BEFORE, _TOLD_AFTER + 1)
        taken.append(match.span())
    for match in _months().finditer(text):
        if _is_free(match, taken) and (match["before"] or match["year"] or match["month"] not in _AMBIGUOUS):
            month = _month(match["month"])
            first = datetime(int(match["year"] or _year_of(now, month)), month, 1, tzinfo=UTC)
            yield Interval(first, _next_month(first) + timedelta(days=_MONTH_TOLD_AFTER))
            taken.append(match.span())
    for match in re.finditer(r"\b(?:in|during|of|since) (?P<year>(?:19|20)\d\d)\b", text):
        if _is_free(match, taken):
            year = int(match["year"])
            yield Interval(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _days(moment: datetime, start: float, end: float) -> Interval:
    return Interval(moment + timedelta(days=start), moment + timedelta(days=end))


def _amount(text: str) -> float:
    return float(text) if text.isdigit() else float(_NUMBERS[text.removeprefix("a ") if text.startswith("a ") else text])


def _month(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.rstrip(".")[:3]))


def _year_of(now: datetime, month: int) -> int:
    """The year of the last month of that name that has begun."""
    return now.year if month <= now.month else now.year - 1


def _next_month(first: datetime) -> datetime:
    return (first + timedelta(days=32)).replace(day=1)


def _is_free(match: re.Match[str], taken: list[tuple[int, int]]) -> bool:
    return all(match.end() <= start or match.start() >= end for start, end in taken)


_AMOUNT = (
    r"(?P<amount>\d{1,3}|a couple(?: of)?|a few|couple(?: of)?|few|"
    + "|".join(name for name in _NUMBERS if " " not in name)
    + ")"
)
_MONTH = "|".join(sorted({*_MONTHS, *(month[:3] for month in _MONTHS), "sept"}, key=len, reverse=True))


@cache
def _clue() -> re.Pattern[str]:
    """One of these words is in every text that the other patterns match: most questions have none, and need not be looked at by each."""
    return re.compile(rf"\b(?:ago|back|earlier|past|last|yesterday|{_MONTH}|(?:19|20)\d\d)\b")


@cache
def _ago() -> re.Pattern[str]:
    return re.compile(rf"\b{_AMOUNT} (?P<unit>day|week|month|year)s? (?:ago|back|earlier)\b")


@cache
def _past() -> re.Pattern[str]:
    return re.compile(rf"\b(?:in|over|during|within|for) the (?:past|last) (?:{_AMOUNT} )?(?P<unit>day|week|month|year)s?\b")


@cache
def _dates() -> re.Pattern[str]:
    year = r"(?:,? (?P<year>(?:19|20)\d\d))?"
    return re.compile(
        rf"\b(?:(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\.?"
        rf"|(?P<month2>{_MONTH})\.? (?P<day2>[0-3]?\d)(?:st|nd|rd|th)?)\b{year}"
    )


@cache
def _months() -> re.Pattern[str]:
    return re.compile(
        rf"\b(?P<before>(?:in|during|since|of|early|late|mid|last|this) )?(?P<month>{_MONTH})\b\.?(?:,? (?P<year>(?:19|20)\d\d)\b)?"
    )
