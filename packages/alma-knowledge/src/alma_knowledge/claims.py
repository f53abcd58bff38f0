"""Sentences read as claims: what is spoken of, the values that are stated, and whether it is denied.

"The checkout timeout is 30 s" speaks of (checkout, timeout) and states 30 s. The words that are opposites, numbers, units and denials are those of
`alma_learning`; the lists here are of words that say little, and of words that leave a sentence open.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from alma.text import DAYS, MONTHS, one_line
from alma_learning.numbers import numerals, read_in_order
from alma_learning.stems import stem
from alma_learning.word_lists import read_pairs

MOST_SENTENCES, MOST_WORDS, MOST_CHARS = 5, 40, 1_000

_SENTENCE_END, _EDGES = re.compile(r"(?<=[.!?;])\s+|\n+"), "()[]{}\"'“”‘’.,;:!*`"
_FRAGMENT = re.compile(r"[*•·\-–(\[{<|]|\d+[.)]\s|[^|{]*[|{]|(?:yes|no|well|ok),", re.IGNORECASE)
"""Beginning of an item of a list, a row of a table or a record: what it speaks of stands elsewhere."""
_NUMBER, _AMOUNT = re.compile(r"-?[$€£]?\d+(?:,\d+)*(?:\.\d+)?[a-z%€£$]*"), re.compile(r"(\d.*?)(\D*)")
_SHAPE = re.compile(r"(?=.*\d|\w*[/~@.#:_].)[a-z\d]*([^\w\s]|_)")
"""A path, an address, a time, a date, a version or an id: its sort is its first sign."""
_FILLERS = frozenset("""
a an the this that these those our my your his her their its we i you he she it they us me them each every
is are be being been am has have had having do does did would shall there here of in on at by to for from with into as and per via than so will
always now currently today please just really very also simply again still already must should can could may might need needs use uses using used
want wants wish like likes prefer prefers love loves keep keeps longer
""".split())  # noqa: SIM905  # fmt: skip
"""Words without which a claim says the same. Words such as "before", "without", "only" and "if" are not among them."""
_DENYING = frozenset("no not never cannot without cant wont dont doesnt isnt arent".split())  # noqa: SIM905
_STATING = frozenset("is are be has have must should can may cannot need needs will".split())  # noqa: SIM905
_OPEN = frozenset("about almost approximately around maybe perhaps probably roughly was were did had".split())  # noqa: SIM905
"""Words of a sentence that commits to no value, or that speaks of what happened once."""
_POINTING = frozenset("here it they this that these those he she it's that's there's what's".split())  # noqa: SIM905
"""First words of a sentence that speaks of something named before."""
_OWNED, _PLACING = frozenset(("the", "our", "my", "this")), frozenset(("is", "in", "at", "on", "by"))


@dataclass(frozen=True, slots=True)
class Value:
    """Something that is stated of a subject: what sort of value, which one, and how it was written.

    `is_stated` says that the sentence states it, and does not only name a thing by it as in "node 3". Values of one sort are equal however they were
    written.
    """

    sort: str
    is_: str
    written: str = field(compare=False)
    is_stated: bool = field(compare=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence. `about` are the stems of what it speaks of, sorted; `behind` those of them that stand behind its verb."""

    about: tuple[str, ...]
    behind: frozenset[str]
    values: tuple[Value, ...]
    is_denied: bool
    sentence: str


@lru_cache(maxsize=4_096)
def claims_in(text: str) -> tuple[Claim, ...]:
    """Returns the claims of a text. Questions, items of lists, and sentences that speak of something named before are left out."""
    sentences = [one_line(part) for part in _SENTENCE_END.split(unicodedata.normalize("NFKC", text[:MOST_CHARS])) if part.strip()]
    return tuple(
        claim for one in sentences[:MOST_SENTENCES] if not _FRAGMENT.match(one) and (claim := _read_claim(one)) is not None
    )


def _read_claim(sentence: str) -> Claim | None:
    tokens = [word for chunk in sentence.replace("–", "-").split() for word in _split_chunk(chunk.strip(_EDGES))]
    lowered = [token.lower() for token in tokens]
    if not 0 < len(tokens) <= MOST_WORDS or sentence.endswith("?") or lowered[0] in _POINTING or not _OPEN.isdisjoint(lowered):
        return None
    verb = next((place for place, word in enumerate(lowered) if word in _STATING), None)
    if verb is None and any(word.endswith("ed") or word in read_pairs("stems")["irregular"] for word in lowered):
        return None
    about, behind, values, denials, place = list[str](), set[str](), list[Value](), 0, 0
    while place < len(tokens):
        value, length = _read_value(tokens, place, verb)
        if value is not None:
            values.append(value)
        elif lowered[place] in _DENYING or lowered[place].endswith(("n't", "n’t")):
            denials += 1
        elif lowered[place] not in _FILLERS:
            about.append(stem(lowered[place]))
        if place + 1 == len(tokens) or (verb is not None and place > verb):
            behind.add(stem(lowered[place]))
        place += length
    return Claim(tuple(sorted(about)), frozenset(behind), tuple(values), denials % 2 == 1, sentence)


def _split_chunk(chunk: str) -> list[str]:
    """Returns the words of "open-source", or a path, number or word as it is."""
    return [part for part in chunk.split("-") if part] if chunk.replace("-", "").isalpha() else [chunk] * bool(chunk)


def _read_value(tokens: Sequence[str], place: int, verb: int | None) -> tuple[Value | None, int]:
    """Returns the value that begins at a place, if one does, and how many words it takes."""
    word, after = (token.lower() for token in (*tokens[place : place + 2], "")[:2])
    sort, is_, length = "", word, 1
    if (day := word.rstrip("s")) in (*DAYS, *MONTHS):
        sort, is_ = "day" if day in DAYS else "month", day
    elif word in numerals() or _NUMBER.fullmatch(word):
        sort, is_, length = _read_amount(word, after)
    elif found := _SHAPE.match(word):
        sort, is_ = found[1], word.lstrip("0")
    elif place and tokens[place][0].isupper() and word not in _FILLERS:
        while place + length < len(tokens) and tokens[place + length][0].isupper():
            length += 1
        sort, is_ = "name", " ".join(tokens[place : place + length]).lower()
    if not sort:
        return None, 1
    is_stated = _is_placed(tokens, place, length) if sort == "name" else _is_stated(tokens, place, length, sort, verb)
    return Value(sort, is_, " ".join(tokens[place : place + length]), is_stated), length


def _is_placed(tokens: Sequence[str], place: int, length: int) -> bool:
    """Returns True if a name ends a sentence such as "the … is", where only one is named."""
    behind = (one for one in tokens[place + length :] if not one.isdigit())
    return not any(behind) and tokens[place - 1].lower() in _PLACING and tokens[0].lower() in _OWNED


def _is_stated(tokens: Sequence[str], place: int, length: int, sort: str, verb: int | None) -> bool:
    """Returns True if a value stands behind a verb: a listed one, or a word that looks like one of the third person."""
    if verb is not None:
        return place > verb
    before, behind = tokens[place - 1] if place else "", len(tokens) - place - length
    is_joined = before.lower() in _FILLERS
    if behind and before.islower() and _is_inflected(before):
        return True
    is_measure = sort.isalpha() and sort != "number"
    is_placed = place > 1 and tokens[place - 2].lower() in _PLACING  # "on port 8080"
    return behind <= is_joined and (is_joined or is_measure or is_placed) and any(map(_is_inflected, tokens[:place]))


def _is_inflected(word: str) -> bool:
    """Returns True for a word that may be a verb of the third person, or a plural before its verb. It may begin a sentence."""
    return word[1:].islower() and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _read_amount(word: str, after: str) -> tuple[str, str, int]:
    if after in ("am", "pm"):
        return "hour", f"{word} {after}", 2
    (number, is_number), *others = read_in_order(f"{word} {after}") or [("", False)]
    if not is_number or (found := _AMOUNT.fullmatch(number)) is None:
        return "", word, 1
    return found[2] or "number", "-" * word.startswith("-") + found[1], 1 + (not others and after != "")
