"""The time that a question names: "ten days ago", "last weekend", "in May 2023", "since 8 May". Pure: the present is passed in.

An interval is as wide as people are vague, and reaches beyond the day that is named, since much is reported some days after it happened. Where a
question names several times, or none, nothing is concluded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from alma.text import DAYS, MONTHS, STOPWORDS, words

_NUMBERS = {
    name: number
    for number, names in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for name in names.split()
} | {"couple": 2, "couple of": 2, "few": 3, "half a": 0.5, "half an": 0.5}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The months in which they begin, in the north."""
_FEASTS = {
    "christmas": (12, 25),
    "halloween": (10, 31),
    "new year's day": (1, 1),
    "new year's eve": (12, 31),
    "valentine's day": (2, 14),
}
_UNAMBIGUOUS = frozenset(MONTHS) - {"march", "april", "may", "august"}
"""Names that are nothing else: others are read as a time only behind a preposition or beside a number."""

_UNIT_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}
_VAGUENESS = {"hour": 0.5, "day": 1.0, "week": 3.5, "month": 10.0, "year": 60.0}
"""Days on either side of "N units ago"."""
_LONG_WEEKS, _LONG_WEEKS_VAGUENESS = 4, 5.0
_NAMED = {
    "the day before yesterday": (-3.0, -1.0),
    "the week before last": (-21.0, -7.0),
    "yesterday": (-2.0, 0.0),
    "last night": (-1.5, 0.0),
    "last week": (-14.0, -3.0),
    "last weekend": (-9.0, -1.0),
    "last month": (-62.0, -7.0),
}
_CURRENT = {"today": -1.0, "this morning": -1.0, "this week": -7.0, "this month": -31.0, "this year": -365.0}
"""Read as a time only where a question looks back, as days of the week and feasts are."""
_UNTELLING = frozenset(
    (
        *_NUMBERS, *MONTHS, *(month[:3] for month in MONTHS), "sept", *_SEASONS, *DAYS, *_UNIT_DAYS, *(f"{unit}s" for unit in _UNIT_DAYS),
        *(word for feast in _FEASTS for word in feast.split()), *("q1", "q2", "q3", "q4", "quarter", "weekend", "night", "morning", "evening"),
        *("ago", "back", "earlier", "past", "last", "yesterday", "today", "since", "around", "early", "late", "mid", "start", "beginning", "end"),
        *("happen", "happened", "went", "go", "going", "new", "tell", "told", "say", "said", "talk", "talked", "speak", "spoke", "mention"),
        *("mentioned", "discuss", "discussed", "remember", "know", "anything", "something", "everything", "things", "us"),
    )
)  # fmt: skip
"""Words of times, and words that say of nothing what it was, beside the stop words."""

_JOINTS = ("between", "from", "and", "to", "until")
_REPORTED_BEFORE, _REPORTED_AFTER = 1, 6
"""Days around a date on which what happened then is reported."""
_MONTH_REPORTED_AFTER = 5
_QUARTER = timedelta(days=91)


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
        named = [*_relative(text, now), *_dated(text, now)]
        found: dict[Interval, int] = {}
        for one, place in named:
            found.setdefault(Interval(one.start, max(now, one.end)) if _since().search(text[:place]) else one, place)
        if len(found) == 2 and _two_ends().search(text):
            return _joined(text, *sorted(found.items(), key=lambda item: item[1]))
    except (ValueError, OverflowError):  # a year that no calendar has
        return None
    return next(iter(found)) if len(found) == 1 else None


def _joined(text: str, first: tuple[Interval, int], second: tuple[Interval, int]) -> Interval:
    """The interval between two ends, each with its place in the text. The year of one end holds for the other, if that has none."""
    (one, start), (other, end) = first, second
    if _lacks_year(text[start:end]):
        while one.start > other.start:
            one = _a_year_before(one)
    elif _lacks_year(text[end:]):
        while (earlier := _a_year_before(other)).start >= one.start:
            other = earlier
    return Interval(min(one.start, other.start), max(one.end, other.end))


def _lacks_year(text: str) -> bool:
    """Returns True for a text that begins with a date or a month without a year."""
    match = _dates().match(text) or _months().match(text)
    return match is not None and not match["year"]


def _a_year_before(one: Interval) -> Interval:
    return Interval(one.start.replace(year=one.start.year - 1), one.end.replace(year=one.end.year - 1))


def names_only_a_time(question: str) -> bool:
    """Returns True for a question that asks what was at a time and says nothing else: "What did I do last week?"."""
    return all(word in _UNTELLING or word in STOPWORDS or word[0].isdigit() for word in words(question.lower()))


def _relative(text: str, now: datetime) -> Iterator[tuple[Interval, int]]:
    """The times that count from now, each with the place in the text where it begins."""
    for match in _ago().finditer(text):
        amount, unit = _amount(match["amount"]), match["unit"]
        vague = _LONG_WEEKS_VAGUENESS if unit == "week" and amount >= _LONG_WEEKS else _VAGUENESS[unit]
        yield _days(now, -amount * _UNIT_DAYS[unit] - vague, -amount * _UNIT_DAYS[unit] + vague), match.start()
    for match in _past().finditer(text):
        yield _days(now, -_amount(match["amount"] or "one") * _UNIT_DAYS[match["unit"]], 0.0), match.start()
    for match in re.finditer(rf"\b(?:{'|'.join(_NAMED)})\b", text):
        yield _days(now, *_NAMED[match[0]]), match.start()
    looks_back = _looks_back(text)
    for match in re.finditer(rf"\b(?P<before>last|on|since|this past) (?P<day>{'|'.join(DAYS)})\b", text):
        if looks_back or match["before"] != "on":
            back = (now.weekday() - DAYS.index(match["day"])) % 7 or 7
            yield _days(now, -back - 1.0, -back + 1.0), match.start("day")
    if looks_back:
        for match in re.finditer(rf"\b(?:{'|'.join(_CURRENT)})\b", text):
            yield _days(now, _CURRENT[match[0]], 0.0), match.start()


def _dated(text: str, now: datetime) -> Iterator[tuple[Interval, int]]:
    """The dates, months, seasons, quarters, feasts and years, each with the place in the text where it begins."""
    taken = []
    for reader in (_read_numbers, _read_long_spans, _read_feasts, _read_dates):
        for interval, match in reader(text, now):
            yield interval, match.start()
            taken.append(match.span())
    for match in _months().finditer(text):
        is_after = match["before"] and (match["before"].strip() not in _JOINTS or _two_ends().search(text))
        if _is_free(match, taken) and (is_after or match["year"] or match["month"] in _UNAMBIGUOUS):
            month = _month(match["month"])
            first = datetime(int(match["year"] or _year_of(now, month)), month, 1, tzinfo=UTC)
            yield _months_from(first, 1), match.start("month")
            taken.append(match.span())
    for match in re.finditer(r"\b(?:in|during|of|since|early|late|mid) (?P<year>(?:19|20)\d\d)\b", text):
        if _is_free(match, taken):
            year = int(match["year"])
            yield Interval(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)), match.start("year")


def _read_numbers(text: str, now: datetime) -> Iterator[tuple[Interval, re.Match[str]]]:
    for match in re.finditer(r"(?<![\w-])(?P<year>(?:19|20)\d\d)-(?P<month>[01]\d)-(?P<day>[0-3]\d)(?![\w-])", text):
        yield _reported(int(match["year"]), int(match["month"]), int(match["day"])), match


def _read_long_spans(text: str, now: datetime) -> Iterator[tuple[Interval, re.Match[str]]]:
    for match in _long_spans().finditer(text):
        if match["last"] or match["year"]:
            month = _SEASONS.get(match["season"] or "") or 3 * int(match["quarter"] or 1) - 2
            year = int(match["year"] or _year_of(now - _QUARTER, month))
            yield _months_from(datetime(year, month, 1, tzinfo=UTC), 3), match


def _read_feasts(text: str, now: datetime) -> Iterator[tuple[Interval, re.Match[str]]]:
    for match in _feasts().finditer(text):
        if match["year"] or _looks_back(text):
            month, day = _FEASTS[match["feast"]]
            last = now.year if (month, day) <= (now.month, now.day) else now.year - 1
            yield _reported(int(match["year"] or last), month, day), match


def _read_dates(text: str, now: datetime) -> Iterator[tuple[Interval, re.Match[str]]]:
    for match in _dates().finditer(text):
        month = _month(match["month"] or match["month2"])
        yield _reported(int(match["year"] or _year_of(now, month)), month, int(match["day"] or match["day2"])), match


def _reported(year: int, month: int, day: int) -> Interval:
    """The days on which what happened at a date is reported."""
    return _days(datetime(year, month, day, tzinfo=UTC), -_REPORTED_BEFORE, _REPORTED_AFTER + 1)


def _days(moment: datetime, start: float, end: float) -> Interval:
    return Interval(moment + timedelta(days=start), moment + timedelta(days=end))


def _amount(text: str) -> float:
    return float(text) if text.isdigit() else float(_NUMBERS[text.removeprefix("a ") if text.startswith("a ") else text])


def _month(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(name.rstrip(".")[:3]))


def _year_of(now: datetime, month: int) -> int:
    """The year of the last month of that name that has begun."""
    return now.year if month <= now.month else now.year - 1


def _looks_back(text: str) -> bool:
    return re.search(r"\b(?:did|was|were|had|have|has)\b", text) is not None


def _months_from(first: datetime, count: int) -> Interval:
    """These months, and the days after them on which what happened then is reported."""
    number = first.month - 1 + count
    after = first.replace(year=first.year + number // 12, month=number % 12 + 1)
    return Interval(first, after + timedelta(days=_MONTH_REPORTED_AFTER))


def _is_free(match: re.Match[str], taken: list[tuple[int, int]]) -> bool:
    return all(match.end() <= start or match.start() >= end for start, end in taken)


_AMOUNT = (
    r"(?P<amount>\d{1,3}|half an?|a couple(?: of)?|a few|couple(?: of)?|few|"
    + "|".join(name for name in _NUMBERS if " " not in name)
    + ")"
)
_MONTH = "|".join(sorted({*MONTHS, *(month[:3] for month in MONTHS), "sept"}, key=len, reverse=True))


@cache
def _clue() -> re.Pattern[str]:
    """One of these words is in every text that the other patterns match: most questions have none, and need not be looked at by each."""
    words = "|".join(("ago", "back", "earlier", "past", "last", "yesterday", _MONTH, *DAYS, *_FEASTS))
    return re.compile(rf"\b(?:{words}|(?:19|20)\d\d)\b|{'|'.join(_CURRENT)}")


@cache
def _since() -> re.Pattern[str]:
    """What stands before a time that reaches until now."""
    return re.compile(r"\bsince (?:(?:the|last|early|mid|late|about|around|this past|(?:start|beginning|end|middle) of) )*$")


@cache
def _two_ends() -> re.Pattern[str]:
    """What joins the two ends of one interval."""
    return re.compile(r"\b(?:between|from) (?:\S+ ){1,5}?(?:and|to|until|till|through) ")


@cache
def _ago() -> re.Pattern[str]:
    return re.compile(rf"\b{_AMOUNT} (?P<unit>hour|day|week|month|year)s? (?:ago|back|earlier)\b")


@cache
def _past() -> re.Pattern[str]:
    return re.compile(rf"\b(?:in|over|during|within|for) the (?:past|last) (?:{_AMOUNT} )?(?P<unit>day|week|month|year)s?\b")


@cache
def _long_spans() -> re.Pattern[str]:
    """Seasons and quarters: with a year, or the last one."""
    named = rf"(?:(?P<season>{'|'.join(_SEASONS)})|q(?P<quarter>[1-4]))"
    return re.compile(rf"\b(?P<last>last )?{named}(?:(?: of)? (?P<year>(?:19|20)\d\d))?\b")


@cache
def _feasts() -> re.Pattern[str]:
    return re.compile(rf"\b(?P<feast>{'|'.join(_FEASTS)})\b(?:,? (?P<year>(?:19|20)\d\d)\b)?")


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
        r"\b(?P<before>(?:in|during|since|of|early|late|mid|last|this|between|from|and|to|until) )?"
        rf"(?P<month>{_MONTH})\b\.?(?:,? (?P<year>(?:19|20)\d\d)\b)?"
    )
