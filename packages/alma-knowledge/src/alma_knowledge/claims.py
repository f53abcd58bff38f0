"""Sentences read as claims: what is spoken of, the values that are stated, and whether it is denied.

"The checkout timeout is 30 s" speaks of (checkout, timeout) and states 30 s.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from alma.text import one_line
from alma_knowledge.claim_words import (
    BESIDE,
    CHANGED,
    COUNTED,
    CURRENCIES,
    DAYS,
    DENYING,
    EXCLUDING,
    FILLERS,
    HEADLESS,
    MONTHS,
    OFFERING,
    OWNED,
    PAST,
    PLAIN,
    STATING,
    UNSURE_AFTER_NOT,
    VAGUE,
)
from alma_learning.numbers import numerals, units
from alma_learning.stems import stem

MOST_SENTENCES, MOST_WORDS, MOST_CHARS = 5, 40, 1_000

_NUMBERS = numerals() | {"double": "2", "doubled": "2", "doubling": "2", "triple": "3", "tripled": "3", "tripling": "3"}
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_EDGES = "()[]{}\"'“”‘’.,;!*`"
_NUMBER = re.compile(r"([$€£]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?([a-z%€$£]{0,12})")
_TIME = re.compile(r"\d{1,2}:\d\d(?:am|pm|h)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{4}")
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}|v\d+(?:\.\d+)*")
_TIMES = {"k": 1e3, "m": 1e6, "bn": 1e9}
_SHAPES = (
    ("address", re.compile(r"[^@\s]+@[^@\s]+\.[a-z]+|[a-z]+://.+|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?(?:/.*)?")),
    ("path", re.compile(r"(?:~|\.{1,2})?/[\w./~-]+")),
    ("colour", re.compile(r"#[0-9a-f]{3,8}")),
    ("pattern", re.compile(r"[dmyhs]+(?:[./:-][dmyhs]+)+")),
    ("code", re.compile(r"[a-z]+(?:-[a-z]+)*-\d+")),
)
_ELSEWHERE = frozenset("here it they this that these those he she it's that's there's what's".split())  # noqa: SIM905
"""First words of sentences that speak of something named before."""
_FRAGMENT = re.compile(r"[*•·\-–(\[{<|]|\d+[.)]\s|[^|{]*[|{]|(?:yes|no|well|ok),", re.IGNORECASE)
"""Beginning of an item of a list, a row of a table or a record: what it speaks of stands elsewhere."""
_REJECTING = re.compile(
    r",?\s+(?:not|never|instead of|rather than|no longer)\s+(?P<rejected>[\w./+#-]+(?:\s[\w./+#-]+)?)\s*[.!]?$", re.I
)


@dataclass(frozen=True, slots=True)
class Value:
    """Something that is stated of a subject: what sort of value, which one, and how it was written.

    `is_stated` says that it stands behind a verb in the present; `is_sole` that a name stands where only one is named.
    """

    sort: str
    is_: str
    written: str
    is_stated: bool = False
    is_sole: bool = True


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence. `about` are the stems of what it speaks of, sorted; `behind` those of them that stand behind its verb.

    `former` are values that it says no longer hold, or are rejected. `is_offering` says that it names one of several, `is_headless` that
    its subject is left out.
    """

    about: tuple[str, ...]
    behind: frozenset[str]
    values: tuple[Value, ...]
    is_denied: bool
    is_offering: bool
    former: frozenset[str]
    is_headless: bool


@lru_cache(maxsize=4_096)
def claims_in(text: str) -> tuple[Claim, ...]:
    """Returns the claims of a text. Questions, items of lists, and sentences that speak of something named before are left out."""
    sentences = [one_line(part) for part in _SENTENCE_END.split(unicodedata.normalize("NFKC", text[:MOST_CHARS])) if part.strip()]
    whole = (one for one in sentences[:MOST_SENTENCES] if not one.endswith("?") and not _FRAGMENT.match(one))
    found = map(_claim, whole)
    return tuple(claim for claim in found if claim is not None)


def _claim(sentence: str) -> Claim | None:
    sentence, former = _without_rejected(sentence)
    tokens = list(_tokens(sentence))
    lowered = [token.lower() for token in tokens]
    if not tokens or len(tokens) > MOST_WORDS or lowered[0] in _ELSEWHERE or _is_unsure(lowered):
        return None
    tokens, lowered, changed = _as_it_is_now(tokens, lowered)
    if not PAST.isdisjoint(lowered):
        return None
    verb = next((place for place, word in enumerate(lowered) if word in STATING or word == ":"), len(tokens))
    about: list[str] = []
    values: list[Value] = []
    behind: set[str] = set()
    denials = 0
    place = 0
    while place < len(tokens):
        word = lowered[place]
        if word in DENYING or word.endswith(("n't", "n’t")):
            denials += 1
            place += 1
            continue
        value, length = _value(tokens, lowered, place, verb)
        if value is not None:
            values.append(value)
        elif word not in FILLERS and word != ":":
            about.append(stem(word))
            if place > verb:
                behind.add(stem(word))
        place += length
    return Claim(
        about=tuple(sorted(about)),
        behind=frozenset(behind),
        values=tuple(values),
        is_denied=denials % 2 == 1,
        is_offering=not OFFERING.isdisjoint(lowered),
        former=former | changed,
        is_headless=lowered[0] in HEADLESS,
    )


def _without_rejected(sentence: str) -> tuple[str, frozenset[str]]:
    """The sentence without "…, not this" at its end, and what is rejected there."""
    found = _REJECTING.search(sentence)
    if not found or (found[0].lstrip(", ").lower().startswith(("not", "never", "no ")) and not found[0].startswith(",")):
        return sentence, frozenset()
    return sentence[: found.start()], frozenset(map(_spelt, _tokens(found["rejected"])))


def _tokens(sentence: str) -> Iterator[str]:
    for chunk in sentence.replace("–", "-").split():
        word = chunk.strip(_EDGES)
        if not word:
            continue
        is_label = word.endswith(":")
        word = word.rstrip(":")
        if "-" in word and word.replace("-", "").isalpha() and word.lower() not in EXCLUDING:
            yield from filter(None, word.split("-"))
        elif word:
            yield word
        if is_label:
            yield ":"


def _is_unsure(words: Sequence[str]) -> bool:
    if not VAGUE.isdisjoint(words) or words.count(":") > 1:
        return True
    return any(word in DENYING and after in UNSURE_AFTER_NOT for word, after in pairwise(words))


def _as_it_is_now(tokens: list[str], lowered: list[str]) -> tuple[list[str], list[str], frozenset[str]]:
    """Of "was changed from this to that" the words "is that", and this."""
    place = next((at for at, word in enumerate(lowered) if word in CHANGED), None)
    if place is None or "to" not in lowered[place:]:
        return tokens, lowered, frozenset()
    to = lowered.index("to", place)
    between = lowered[place + 1 : to]
    if between and between[0] != "from":
        return tokens, lowered, frozenset()
    first = place
    while first and lowered[first - 1] in ("was", "were", "been", "has", "have", "is", "are", "got", "be"):
        first -= 1
    former = frozenset(map(_spelt, tokens[place + 2 : to]))
    now = [*tokens[:first], "is", *tokens[to + 1 :]]
    return now, [token.lower() for token in now], former


def _value(tokens: Sequence[str], lowered: Sequence[str], place: int, verb: int) -> tuple[Value | None, int]:
    """The value that begins at a place, if one does, and how many words it takes."""
    is_stated = place > verb
    span = _range(lowered, place)
    if span:
        ends = [_measure(lowered, place + 1), _measure(lowered, place + 2 + span[0])]
        if all(ends):
            length = 2 + span[0] + span[1]
            sort, is_ = f"from–to {ends[0][0]}", f"{ends[0][1]}–{ends[1][1]}"  # type: ignore[index] # both are there
            return Value(sort, is_, " ".join(tokens[place : place + length]), is_stated), length
    measure = _measure(lowered, place)
    if measure is not None:
        sort, is_, length = measure
        if sort == "number" and place and stem(lowered[place - 1]) in COUNTED:
            return None, 1
        return Value(sort, is_, " ".join(tokens[place : place + length]), is_stated), length
    word = lowered[place]
    if word in EXCLUDING:
        number, which = EXCLUDING[word]
        return Value(f"exclusive {number}", str(which), tokens[place], is_stated), 1
    for sort, shape in _SHAPES:
        if shape.fullmatch(word):
            return Value(sort, word, tokens[place], is_stated), 1
    return _name(tokens, lowered, place, verb)


def _name(tokens: Sequence[str], lowered: Sequence[str], place: int, verb: int) -> tuple[Value | None, int]:
    if not place or not _is_name(tokens[place]):
        return None, 1
    length = 1
    while place + length < len(tokens) and length < 4 and _is_name(tokens[place + length]):
        length += 1
    written = " ".join(tokens[place : place + length])
    return Value("name", written.lower(), written, place > verb, _is_sole(lowered, place, verb)), length


def _is_sole(lowered: Sequence[str], place: int, verb: int) -> bool:
    """Returns True if a name stands behind "the … is", or behind a preposition that takes one."""
    before = lowered[place - 1]
    if before in BESIDE:
        return verb < place
    return (
        before in PLAIN
        and verb == place - 1
        and (lowered[0] in OWNED or any(word.endswith(("'s", "’s")) for word in lowered[:verb]))
    )


def _is_name(token: str) -> bool:
    return token[0].isupper() and token.lower() not in FILLERS and token.lower() not in DAYS and token.lower() not in EXCLUDING


def _range(lowered: Sequence[str], place: int) -> tuple[int, int] | None:
    """The lengths of both ends of "from … to …"."""
    if lowered[place] not in ("from", "between"):
        return None
    first = _measure(lowered, place + 1)
    if first is None:
        return None
    middle = place + 1 + first[2]
    if middle >= len(lowered) or lowered[middle] not in ("to", "until", "till", "and"):
        return None
    last = _measure(lowered, middle + 1)
    return None if last is None else (first[2], last[2])


def _measure(lowered: Sequence[str], place: int) -> tuple[str, str, int] | None:
    """Sort, value and number of words of a number with its unit, a time or a date that begins at a place."""
    if place >= len(lowered):
        return None
    word = lowered[place]
    after = lowered[place + 1] if place + 1 < len(lowered) else ""
    if word in DAYS:
        return "day", str(DAYS[word]), 1
    if _TIME.fullmatch(word):
        return "time", word.rstrip("h").lstrip("0"), 1
    if _DATE.fullmatch(word):
        return "date", word, 1
    if word in MONTHS:
        if after.rstrip("stndrh").isdigit():
            return "date", f"{MONTHS[word]}-{after.rstrip('stndrh')}", 2
        return "month", str(MONTHS[word]), 1
    day = word.rstrip("stndrh")
    if day.isdigit() and after in MONTHS:
        return "date", f"{MONTHS[after]}-{day}", 2
    if _VERSION.fullmatch(word):
        return "version", word.lstrip("v"), 1
    return _amount(_NUMBERS.get(word, word) if word not in EXCLUDING else word, after)


def _amount(word: str, after: str) -> tuple[str, str, int] | None:
    found = _NUMBER.fullmatch(word)
    if not found:
        return None
    sign, whole, rest, unit = found.groups()
    number = float(whole.replace(",", "") + (rest or ""))
    length = 1
    if unit in _TIMES:
        number, unit = number * _TIMES[unit], ""
    if not unit and not sign and after:
        unit, length = (after, 2) if after in CURRENCIES or stem(after) in units() or after == "%" else ("", 1)
    if sign or unit in CURRENCIES:
        return CURRENCIES[sign or unit], f"{number:g}", length
    if unit and (known := units().get(stem(unit))):
        factor, sort = known
        return sort, f"{number * factor:g}", length
    return ("number", f"{number:g}", 1) if not unit else None


def _spelt(token: str) -> str:
    word = token.lower()
    return ":".join(map(str, EXCLUDING[word])) if word in EXCLUDING else word


def spelt_value(value: Value) -> frozenset[str]:
    """Returns the words of a value as those that are rejected are spelt."""
    return frozenset(map(_spelt, value.written.split()))
