"""Text that reads like an instruction to a model: gives orders, has code fetched and run, steps around a check, or writes to a memory.

It is kept as data all the same; a caller that shows it can say so.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import permutations

from alma_guard.disguised import as_read, disguised
from alma_guard.signs import BYPASS as BYPASS
from alma_guard.signs import DOUBTS as DOUBTS
from alma_guard.signs import INSTRUCTION, OTHER_SIGNS, SIGNS
from alma_guard.signs import MEMORY as MEMORY
from alma_guard.signs import REMOTE_CODE as REMOTE_CODE
from alma_guard.signs_abroad import SIGNS_ABROAD

_ALL_SIGNS = (*((INSTRUCTION, hints, sign) for hints, sign in (*SIGNS, *SIGNS_ABROAD)), *OTHER_SIGNS)
_PLACES: dict[str, tuple[int, ...]] = {
    hint: tuple(place for place, (_, hints, _) in enumerate(_ALL_SIGNS) if hint in hints)
    for _, hints, _ in _ALL_SIGNS
    for hint in hints
}
"""Of each hint the places of its signs."""

_BEGINNINGS = re.compile(r"\b\w{1,4}", re.ASCII)


def _by_beginning(hints: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for hint in hints:
        begun = _BEGINNINGS.match(hint)
        found.setdefault(begun.group() if begun else "", []).append(hint)
    return found


_BY_BEGINNING = _by_beginning(filter(str.isascii, _PLACES))
"""Hints by how their first word begins, which finds those of a text in one pass over its words."""

_BEGUN_OTHERWISE = _BY_BEGINNING.pop("")
_ABROAD = [hint for hint in _PLACES if not hint.isascii()]
_OF_TWO_WORDS = [hint for hint in _PLACES if " " in hint]
"""Hints that may begin in one text and end in the next, with the space between them."""

_LONGEST = max(map(len, _PLACES))


_EDGE = 200
"""Characters of a text that are looked at together with another one."""

_REACH = 320
"""Characters before and after a hint in which its sign is looked for."""

_OPENED = re.compile(r"(?<!\w)[\"'`“‘«„](?:[^\"'`“”‘’«»„\n]|(?<=\w)['’](?=\w)){0,60}$")
_CLOSED = re.compile(r"(?:[^\"'`“”‘’«»„\n]|(?<=\w)['’](?=\w)){0,80}[\"'`”’»](?!\w)")
"""A quotation around an order. An apostrophe is no quotation mark."""

_OF_ATTACKS = re.compile(
    r"\b(?:attack|injection|jailbreak|phrase|block|reject|refus|filter|detect|benchmark|guardrail|protect|red.team)\w*"
)
_CARRIED_OUT = re.compile(
    r"\b(?:obey|comply|follow|do (?:it|so|this|that|as)|now|reply|respond|answer|execute|carry|proceed|apply|act)\b"
)
"""Around a quoted order, asks to do what it says."""

_DESCRIBED = re.compile(
    r"\b(?:attackers?|adversar(?:y|ies)|hackers?|users?|people|someone|they|it|that|which|who|to|by|of|could|can|may|might|would|trying|attempts?)"
    r"\s(?:\w+\s){0,2}?(?:tell|ask|told|instruct|trick|persuad|command|get|forc)\w*\s(?:an?|the|any|some|its|their)\s(?:\w+\s)?"
    r"(?:ai|llms?|models?|assistants?|agents?|chatbots?|bots?)\s(?:to|into)\s$"
    r"|\b(?:that|which)\s(?:ask|tell|try|attempt|instruct|order)\w*\s[^.\n]{0,60}\bto\s$"
)
_AROUND = 120
"""Characters around an order in which it may be quoted or described."""


def reason_to_doubt(text: str) -> str | None:
    """Why a text is suspicious, one of `DOUBTS`, or `None`: it addresses the model, has code run, steps around a check or writes to a memory.

    Disguised words are read, too (`disguised`). An order that is only quoted or described in a text about attacks is none.
    A look at the words, no more: it warns of the plain cases, and is no wall against the clever ones.
    """
    read = as_read(text)
    reason = _reason_in(read)
    return reason or next(filter(None, map(_reason_in, disguised(text, read))), None)


def _reason_in(text: str) -> str | None:
    """Why a text in small letters is suspicious."""
    hinted: dict[int, list[str]] = {}
    for hint in _hints_in(text):
        for place in _PLACES[hint]:
            hinted.setdefault(place, []).append(hint)
    for place in sorted(hinted):
        reason, _, sign = _ALL_SIGNS[place]
        if any(_is_order(text, found) for found in _near(text, hinted[place], _compiled(sign))):
            return reason
    return None


def _hints_in(text: str) -> list[str]:
    """Returns the hints that stand in a text in small letters."""
    begun = _BY_BEGINNING.keys() & set(_BEGINNINGS.findall(text))
    likely = [hint for beginning in begun for hint in _BY_BEGINNING[beginning]] + _BEGUN_OTHERWISE
    return [hint for hint in (likely if text.isascii() else likely + _ABROAD) if hint in text]


def _near(text: str, hints: Sequence[str], sign: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Finds a sign where one of its hints is near, so that a long text with a few of them is read in parts."""
    for start, end in _reaches(text, hints):
        yield from sign.finditer(text, start, end)


def _reaches(text: str, hints: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Returns the parts of a text around hints, in order and without overlap."""
    if len(text) <= 2 * _REACH:
        yield 0, len(text)
        return
    start = end = 0
    for at in sorted(at for hint in hints for at in _places_of(text, hint)):
        if at - _REACH > end:
            if end:
                yield start, end
            start = at - _REACH
        end = at + _REACH
    yield start, min(end, len(text))


def _places_of(text: str, hint: str) -> Iterator[int]:
    """Returns where a hint stands. Of many that stand close together the first and the last will do."""
    at = text.find(hint)
    while at >= 0:
        end = at + _REACH // 2
        last = text.rfind(hint, at, end)
        yield from (at, last)
        at = text.find(hint, last + len(hint))


def _is_order(text: str, found: re.Match[str]) -> bool:
    """Returns False for what a text about attacks quotes, and for what it says that a model is asked to do."""
    before, after = text[max(found.start() - _AROUND, 0) : found.start()], text[found.end() : found.end() + _AROUND]
    if _DESCRIBED.search(before):
        return False
    opened, closed = _OPENED.search(before), _CLOSED.match(after)
    if not opened or not closed:
        return True
    around = f"{before[: opened.start()]} {after[closed.end() :]}"
    return _OF_ATTACKS.search(around) is None or _CARRIED_OUT.search(around) is not None


def doubted_together(texts: Sequence[str]) -> dict[int, str]:
    """Returns the reasons to doubt texts that are shown together: those of which the end of one and the beginning of another make an order, by place.

    What is suspicious by itself is not looked for. An order over three texts is not found.
    """
    read = list(map(as_read, texts))
    ends, beginnings = [text[-_EDGE:] for text in read], [text[:_EDGE] for text in read]
    hinted = _signs_hinted_at({*ends, *beginnings})
    found: dict[int, str] = {}
    for first, second in permutations(range(len(read)), 2):
        if signs := hinted[ends[first]] | hinted[beginnings[second]]:
            reason = _reason_across(ends[first], beginnings[second], signs)
            if reason is not None:
                found |= {first: reason, second: reason}
    return found


def _signs_hinted_at(texts: Collection[str]) -> dict[str, set[int]]:
    """Returns for each text the places of the signs of which a hint stands in it."""
    hints = _hints_in("\n".join(texts))  # most hints are in no text, which one look shows
    return {text: {place for hint in hints if hint in text for place in _PLACES[hint]} for text in texts}


def _reason_across(end: str, beginning: str, signs: set[int]) -> str | None:
    """Why two texts are suspicious by what begins in the one and ends in the other. `signs` are those hinted at in one of them."""
    before = f"… {end}"  # so that a text that was cut begins no line
    text = f"{before} {beginning}"
    joint = text[max(len(before) - _LONGEST, 0) : len(before) + _LONGEST]
    across = (place for hint in _OF_TWO_WORDS if hint in joint for place in _PLACES[hint])
    for place in sorted(signs.union(across)):
        reason, _, sign = _ALL_SIGNS[place]
        found = _compiled(sign).finditer(text)
        if any(match.start() < len(before) and match.end() > len(before) + 1 for match in found):
            return reason
    return None


@cache
def _compiled(sign: str) -> re.Pattern[str]:
    """Compiled when it is needed first: that takes longer than all the rest of opening this file."""
    return re.compile(sign, re.VERBOSE | re.MULTILINE)
