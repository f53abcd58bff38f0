"""The times and events that a question names. Pure: the present is passed in.

Times: "ten days ago", "last weekend", "in May 2023", "since 8 May". An interval is as wide as people are vague, and reaches beyond the day that is
named, since much is reported some days after it happened. Where a question names several times, or none, nothing is concluded.

Events set in time: "how long between A and B", "which came first, A or B", "how long ago did I …". Only questions about what happened are read: "How
long does the dough rest before baking?" and "Do I take it before or after meals?" name no events. Both are read by a grammar of English of our own.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from alma.text import DAYS, MONTHS, STOPWORDS, telling_words, words
from alma.types.timeline import Relation

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
    """Returns the pattern of the words before a time that reaches until now."""
    return re.compile(r"\bsince (?:(?:the|last|early|mid|late|about|around|this past|(?:start|beginning|end|middle) of) )*$")


@cache
def _two_ends() -> re.Pattern[str]:
    """Returns the pattern of the words that join the two ends of an interval."""
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


MOST_EVENTS = 8
"""A list of more is cut: each event is searched for on its own."""

LONGEST = 1_000
"""Characters of a question that is read. A longer text is no question about two events, and would take long to read."""

_UNITS = r"(?:second|minute|hour|day|night|week|weekend|month|year|decade)s?"
_HOW_LONG = rf"how (?:long|much time|many {_UNITS})"
_LENGTH = rf"(?:what (?:is|was|were)|what's) the (?:number of {_UNITS}|time|gap|interval|wait)"
_BEFORE_BETWEEN = (
    r"(?: (?:an?|are|been|days|did|do|elapsed|gap|gone?|by|ha[ds]|have|in|interval|is|it|lay|lies?|of|passed|period|span|that|the|there|time|total"
    r"|was|went|were))*"
)
_HAS_PASSED = r"(?: (?:has|have|had|is|was|it|been|passed|elapsed|gone|went|by))*"
_LISTED = r"(?:(?:these|the following|the)(?: \w+)? (?:events|things|trips|steps|ones)\s*:|these:|the following:)?"
_SORT = r"\b(?:sort|arrange|put|order|list)"

_NO_PAST = re.compile(
    r"\b(?:do|does|should|shall|must|can|could|will|would|is|are|am|comes|goes|happens|starts|begins)\b", re.IGNORECASE
)
_PAST = re.compile(r"\b(?:did|was|were|had|have|has)\b", re.IGNORECASE)
_TIME_ALONE = re.compile(
    r"\d\w*|noon|midnight|yesterday|today|tomorrow|breakfast|lunch|dinner|christmas|easter|" + "|".join((*DAYS, *MONTHS))
)
_BEGINS_AN_EVENT = re.compile(
    r"(?:the|my|our|your|his|her|their|its|an?|when|that|this|these|those|i|we|he|she|they|getting)\b", re.IGNORECASE
)
_DAY_OF = re.compile(
    r"^(?:(?:on|from|until|till) )?the (?:day|date|time|moment|week|month|year)(?: (?:that|when|of|on which))? (?=\S)",
    re.IGNORECASE,
)
_PRONOUN_AND_VERB = re.compile(r"^(?:i|we|you|he|she|they) \w+ ", re.IGNORECASE)
_OF_TIME = re.compile(
    r"\b(?:earliest|latest|oldest|newest|chronological\w*|from first to last|by (?:date|time)|most recent)\b", re.IGNORECASE
)
_END_OF_LIST = re.compile(
    r"[,;]? (?:(?:starting )?from (?:the )?(?:earliest|first|oldest|latest|newest)\b.*|happen(?:ed)?|occur(?:red)?|take place|come)$",
    re.IGNORECASE,
)
_NEXT_ITEM = re.compile(r"\s*[,;]\s*(?:(?:and|or) )?|\s+or\s+")
_LAST_ITEM = re.compile(r"[,;]\s*(?:and|or) |\sor\s")
_QUOTED = re.compile(r"(?<!\w)'[^']+'(?!\w)|\"[^\"]+\"")
_AROUND = " ,;:"


@dataclass(frozen=True, slots=True)
class NamedEvents:
    """The relation of events that a question asks about, and the events in the order of the question; none where it names only their kind."""

    relation: Relation
    events: tuple[str, ...] = ()


Reader = Callable[[re.Match[str]], NamedEvents | None]


def named_events(question: str) -> NamedEvents | None:
    """Returns the events that a question sets in time; `None` where it asks for something else."""
    if len(question) > LONGEST:
        return None
    text = " ".join(question.replace("’", "'").split()).rstrip(" ?.!")
    if not _event_clue().search(text):
        return None
    read = (reader(match) for pattern, reader in _readers() if (match := pattern.search(text)))
    return next(filter(None, read), None)


def _pair(match: re.Match[str]) -> NamedEvents | None:
    return _of(Relation.INTERVAL, match["a"], match["b"])


def _between(match: re.Match[str]) -> NamedEvents | None:
    return _of(Relation.INTERVAL, *_halves(match["pair"], "and"))


def _from_to(match: re.Match[str]) -> NamedEvents | None:
    word = next((word for word in ("until", "till") if f" {word} " in match["pair"]), "to")
    return _of(Relation.INTERVAL, *_halves(match["pair"], word))


def _first_of(match: re.Match[str]) -> NamedEvents | None:
    is_past = _PAST.search(match["lead"]) or not _NO_PAST.search(match["lead"])
    return _of(Relation.ORDER, *_items(match["list"])) if is_past else None


def _before_or_after(match: re.Match[str]) -> NamedEvents | None:
    if all(_TIME_ALONE.fullmatch(word) for word in telling_words(match["b"])):
        return None
    return _of(Relation.ORDER, match["a"], match["b"])


def _order(match: re.Match[str]) -> NamedEvents | None:
    first, *others = _items(match["list"])
    if others:
        return _of(Relation.ORDER, _PRONOUN_AND_VERB.sub("", first), *others)
    return NamedEvents(Relation.ORDER) if "did" in match.re.groupindex or _OF_TIME.search(match[0]) else None


def _sorted(match: re.Match[str]) -> NamedEvents | None:
    return _of(Relation.ORDER, *_items(match["list"]))


def _one(relation: Relation) -> Reader:
    return lambda match: _of(relation, match["a"])


def _of(relation: Relation, *events: str) -> NamedEvents | None:
    """The events without what only says that they have a day. `None` if one of them says nothing, or a single one is compared with nothing."""
    named = tuple(_DAY_OF.sub("", event.strip(_AROUND)).removeprefix("for ").strip(_AROUND) for event in events)
    is_compared = relation in (Relation.INTERVAL, Relation.ORDER)
    if (is_compared and len(named) < 2) or not all(words(event) for event in named):
        return None
    return NamedEvents(relation, named[:MOST_EVENTS])


def _items(text: str) -> list[str]:
    """The items of a list: "A, B, and C", "A or B". Commas within items cannot be distinguished from those between them."""
    text = _END_OF_LIST.sub("", text)
    items = [item for item in _NEXT_ITEM.split(text) if item.strip()]
    if not items:
        return [text]
    return items if len(items) > 1 and _LAST_ITEM.search(text) else [*items[:-1], *_halves(items[-1], "and")]


def _halves(text: str, word: str) -> Sequence[str]:
    """The two sides of the word that joins them; the text alone without one. Of several words the last after which the same begins as in front, else
    a noun or a clause."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    joints = [
        joint
        for joint in re.finditer(rf" {word} (?=\S)", text, re.IGNORECASE)
        if not any(start < joint.start() < end for start, end in quoted)
    ]
    if not joints:
        return [text]
    begin = text.split()[0].lower()
    likely = [joint for joint in joints if text[joint.end() :].split()[0].lower() == begin]
    likely = likely or [joint for joint in joints if _BEGINS_AN_EVENT.match(text, joint.end())] or joints
    return text[: likely[-1].start()], text[likely[-1].end() :]


@cache
def _event_clue() -> re.Pattern[str]:
    """One of these is in every question that the other patterns match: most questions have none, and need not be looked at by each."""
    clues = (
        "between|since|ago|order|first|last|earlier|later|recent|recently|before|after|take|had|when|date|day|sort|arrange|put|list|soon|month|week|year"
        "|until|till"
    )
    return re.compile(rf"\b(?:{clues})\b", re.IGNORECASE)


@cache
def _readers() -> Sequence[tuple[re.Pattern[str], Reader]]:
    return [(re.compile(pattern, re.IGNORECASE), reader) for pattern, reader in _forms()]


def _forms() -> Iterator[tuple[str, Reader]]:
    """The forms of questions, those that say most first, each with what reads it."""
    yield rf"\b(?:{_HOW_LONG}|{_LENGTH}){_BEFORE_BETWEEN} between (?P<pair>.+)$", _between
    yield rf"^between (?P<pair>.+), (?:{_HOW_LONG}|{_LENGTH})\b(?! (?:do|does|should|can|is|are)\b).*$", _between
    yield rf"^from (?P<pair>.+ (?:until|till|to) .+), (?:{_HOW_LONG})\b(?! (?:do|does|should|can|is|are)\b).*$", _from_to
    yield rf"\b{_HOW_LONG} (?:was|were|did|had) (?:i|we|you|he|she|they|it)(?: \w+){{0,2}} between (?P<pair>.+)$", _between
    yield rf"\b{_HOW_LONG} (?:earlier|later|sooner) (?:did|was|were|had) (?P<a>.+) than (?P<b>.+)$", _pair
    yield r"\bhow soon (?:after|before) (?P<a>.+?) (?:was|were|did|had) (?P<b>.+)$", _pair
    yield r"^(?:when|the day) (?P<a>.+), how (?:long|many \w+) had (?P<b>.+)$", _pair
    yield rf"\b{_HOW_LONG}{_HAS_PASSED} since (?P<a>.+) (?:when|by the time|before) (?P<b>.+)$", _pair
    yield rf"\b{_HOW_LONG}{_HAS_PASSED} since (?P<a>.+)$", _one(Relation.AGE)
    yield rf"\b{_HOW_LONG} ago (?:did|was|were|had) (?P<a>.+)$", _one(Relation.AGE)
    yield rf"\b{_HOW_LONG} had (?P<a>.+?) (?:when|before|by the time) (?P<b>.+)$", _pair
    yield rf"\b{_HOW_LONG} (?:after|before) (?P<a>.+?) did (?P<b>.+)$", _pair
    yield rf"\b{_HOW_LONG} (?:after|before) (?P<a>.+?) (?:was|were|had) (?P<b>.+)$", _pair
    yield rf"\b{_HOW_LONG} did it take(?: \w+)? from (?P<pair>.+)$", _from_to
    yield r"^since when (?:do|have|did|has|am|are) (?P<a>.+)$", _one(Relation.AGE)
    yield rf"\b{_HOW_LONG} did it take (?P<a>.+?) after (?P<b>.+)$", _pair
    first = r"(?:first|last|earlier|later|more recent|most recently|longer ago)(?: (?:in|on|at|during|of|this|last) [^,:]*)?"
    yield rf"\b(?:which|what|whom?)\b(?P<lead>[^,:]*?)\b{first}\s*[,:] (?P<list>.+ or .+)$", _first_of
    came = r"(?:came|happened|started|began) (?:first|earlier)"
    yield rf"\b(?:which|what|whom?)\b(?P<lead>[^,:]*) {came} (?P<list>.+ or .+)$", _first_of
    yield r"^was it (?:before or after|before|after) (?P<a>.+?) that (?P<b>.+)$", _before_or_after
    yield r"^had (?P<a>.+?) when (?P<b>.+)$", _before_or_after
    yield r"^(?:did|was|were|had) (?P<a>.+?) (?:before or after|after or before|before|after) (?P<b>.+)$", _before_or_after
    yield r"\bin (?:what|which) order (?P<did>did|were|was) (?P<list>.+)$", _order
    yield rf"\b(?:what (?:is|was)|what's|give me|tell me) the (?:\w+ )?order of {_LISTED} ?(?P<list>.+)$", _order
    by = r"(?:by date|by time|in (?:chronological )?order)"
    yield rf"{_SORT} (?:these|the following)(?: \w+)* {by}\s*: (?P<list>.+)$", _sorted
    yield rf"{_SORT} (?P<list>.+?) (?:in|into) chronological order$", _sorted
    when = r"(?:when|(?:on |in )?(?:what|which) (?:date|day|week|month|year))"
    yield rf"^{when}(?: exactly)? (?:did|was|were|had)(?: it that)? (?P<a>.+)$", _one(Relation.DATE)
    happened = r"\w+(?:ed|t|d|ght|ew|ent|me|an|on|ook|ave)"
    yield (
        rf"^(?:(?:do|can) you )?(?:still )?(?:remember|recall|know|tell me) {when} (?P<a>(?:i|we) {happened} .+)$",
        _one(Relation.DATE),
    )
