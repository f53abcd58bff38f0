"""The events that a question sets in time: "how long between A and B", "which came first, A or B", "how long ago did I …". Pure.

A grammar of English of our own, as of `alma.retrieval.named_time`. It reads only questions about what happened: "How long does the dough rest before
baking?" and "Do I take it before or after meals?" name no events.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from alma.text import DAYS, MONTHS, telling_words, words
from alma.types.timeline import Relation

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
    """What is asked about some events, and the events in the order of the question; none where it says only what kind they are of."""

    relation: Relation
    events: tuple[str, ...] = ()


Reader = Callable[[re.Match[str]], NamedEvents | None]


def named_events(question: str) -> NamedEvents | None:
    """Returns the events that a question sets in time; `None` where it asks for something else."""
    if len(question) > LONGEST:
        return None
    text = " ".join(question.replace("’", "'").split()).rstrip(" ?.!")
    if not _clue().search(text):
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
def _clue() -> re.Pattern[str]:
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
