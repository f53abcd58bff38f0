"""Times as they stand before or behind the names in chats: dates of several forms, with or without a time of day."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, timezone
from itertools import pairwise

_HALVES = "上午|下午|오전|오후|午前|午後"
_TIME = (
    rf"(?:(?:{_HALVES})\s?)?\d{{1,2}}[:.h]\d{{2}}(?:[:.]\d{{2}}(?:[.,]\d{{1,9}})?)?"
    rf"(?:\s?[AaPp]\.?\s?[Mm]\b\.?)?(?:\s?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}}))?"
)
_DATE = (
    r"(?:\d{4}[-/.]\s?\d{1,2}[-/.]\s?\d{1,2}\.?|\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?(?:\d{4}|\d{2})(?!\d)|\d{4}[年년]\s?\d{1,2}[月월]\s?\d{1,2}[日일]"
    r"|(?:[^\W\d]{2,10}\.?,?\s)?\d{1,2}\.?\s(?:de\s)?[^\W\d]{3,10}\.?,?\s(?:de\s)?\d{4}|(?:[^\W\d]{2,10}\.?,?\s)?[^\W\d]{3,10}\.?\s\d{1,2},?\s\d{4})"
    r"(?:\s?\([^()\d]{1,10}\))?"
)
STAMP = rf"(?:{_DATE}(?:(?:T|,?\s+|,)(?:at\s|um\s)?{_TIME})?|{_TIME}(?:,?\s+{_DATE})?)"
BRACKETED = rf"[\[(]\s*(?P<bracketed>{STAMP})\s*[\])]"
UNBRACKETED = rf"(?=\S*\d[:/年년]|\S*\d[-.]\s?\d{{1,2}}[-.]|[^:]*\b\d{{4}}\b)(?P<bare>{STAMP})(?=[\s,:|–—-]|$)"

_YEAR_FIRST = re.compile(r"(\d{4})\s?[-/.年년]\s?(\d{1,2})\s?[-/.月월]\s?(\d{1,2})")
_YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2})([-/.])\s?(\d{1,2})[-/.]\s?(\d{4}|\d{2})(?!\d)")
_WORDED = re.compile(
    r"(?:(?P<before>\d{1,2})\.?\s(?:de\s)?)?(?P<month>[^\W\d]{3,10})\.?,?\s(?:de\s)?(?:(?P<after>\d{1,2}),?\s)?(?P<year>\d{4})"
)
_CLOCK = re.compile(r"(?<!\d)(\d{1,2})[:.h](\d{2})(?:[:.](\d{2}))?(?:[.,]\d+)?(?!\d)")
_ZONE = re.compile(r"([+-])(\d{2}):?(\d{2})\s*$")
_AFTERNOON = re.compile(r"p\.?\s?m\b|下午|오후|午後", re.IGNORECASE)
_MORNING = re.compile(r"a\.?\s?m\b|上午|오전|午前", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_ALONE = re.compile(rf"[\W_]*(?:[^\W\d]{{2,10}},?\s)?{_DATE}(?:,?\s[^\W\d]{{1,10}})?[\W_]*")


def is_day(text: str) -> bool:
    """Returns True for a line that is nothing but a date, as between the days of a chat."""
    return _DAY_ALONE.fullmatch(text.strip()) is not None


def has_time(stamp: str) -> bool:
    """Returns True if a stamp has a time of day."""
    return _CLOCK.search(_without_date(stamp)) is not None


class Clock:
    """Reads the stamps of one chat in order. A time without a date is of the day of the stamp before it."""

    def __init__(self, *, is_day_first: bool) -> None:
        self._is_day_first = is_day_first
        self._day: date | None = None

    def at(self, stamp: str) -> float:
        """Returns seconds since 1970 (UTC, unless the stamp has an offset), 0 where no day is known."""
        self._day = _day(stamp, is_day_first=self._is_day_first) or self._day
        if self._day is None:
            return 0.0
        moment = datetime.combine(self._day, _time(stamp), _zone(stamp))
        return max(moment.timestamp(), 0.0)


def clock_of(stamps: Iterable[str]) -> Clock:
    """Returns the clock of a chat. 03/04/2024 is read so that all dates exist and go forward; in doubt the day comes first, unless a slash
    stands beside AM or PM."""
    listed = [stamp for stamp in stamps if _YEAR_LAST.search(stamp) and not _YEAR_FIRST.search(stamp)]
    fits = {order: _fits([_day(stamp, is_day_first=order) for stamp in listed]) for order in (True, False)}
    is_american = any("/" in stamp and (_AFTERNOON.search(stamp) or _MORNING.search(stamp)) for stamp in listed)
    return Clock(is_day_first=fits[True] > fits[False] if fits[True] != fits[False] else not is_american)


def _fits(days: list[date | None]) -> tuple[int, int]:
    """Returns how many dates exist, and, if all do, how few go backwards."""
    known = [day for day in days if day is not None]
    return len(known), -sum(later < earlier for earlier, later in pairwise(known))


def _day(stamp: str, *, is_day_first: bool) -> date | None:
    if found := _YEAR_FIRST.search(stamp):
        return _date(*map(int, found.groups()))
    if found := _YEAR_LAST.search(stamp):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        day, month = (first, second) if is_day_first else (second, first)
        return _date(year if year > 99 else 2000 + year, month, day)
    found = _WORDED.search(stamp)
    if found and found["month"][:3].lower() in _MONTHS and (day_text := found["before"] or found["after"]):
        return _date(int(found["year"]), _MONTHS.index(found["month"][:3].lower()) + 1, int(day_text))
    return None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _without_date(stamp: str) -> str:
    return _YEAR_LAST.sub(" ", _YEAR_FIRST.sub(" ", stamp))


def _time(stamp: str) -> time:
    found = _CLOCK.search(_without_date(stamp))
    if found is None:
        return time()
    hour, minute, second = (int(part or 0) for part in found.groups())
    if _AFTERNOON.search(stamp) and hour < 12:
        hour += 12
    elif _MORNING.search(stamp) and hour == 12:
        hour = 0
    try:
        return time(hour, minute, second)
    except ValueError:
        return time()


def _zone(stamp: str) -> timezone:
    found = _ZONE.search(stamp) if has_time(stamp) else None
    if found is None:
        return UTC
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(offset if found[1] == "+" else -offset) if offset < timedelta(hours=24) else UTC
