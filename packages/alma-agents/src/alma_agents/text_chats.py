"""Chats in plain text and Markdown: the speaker and the time of each turn, in any script. A line in doubt is a turn of its own."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple
from unicodedata import category

from alma_agents.stamps import BRACKETED, STAMP, UNBRACKETED, Clock, clock_of, has_time, is_day

PROGRAMS = frozenset(
    ("assistant", "ai", "bot", "chatbot", "chatgpt", "claude", "gemini", "copilot", "gpt", "llm", "model", "system", "tool")
)
PEOPLE = frozenset(("user", "human", "you", "me", "prompt"))
_ROLES = PROGRAMS | PEOPLE

_LONGEST_HEAD, _LONGEST_UNCASED = 400, 40
_MARKS = dict.fromkeys([*range(0x200E, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]) | {
    0x202F: " ",
    0xA0: " ",
}
_BEFORE = re.compile(rf"(?:{BRACKETED}|{UNBRACKETED})\s*[-–—|:,]?\s*(?P<rest>.*)")
_OTHER_BEFORE = re.compile(r"\[(?=[^\]]*\d)[^\]]{4,40}\]\s*(?P<rest>.*)")
_KAKAO = re.compile(rf"\[(?P<name>[^\]]+)\]\s*\[(?P<stamp>{STAMP})\]\s*(?P<said>.+)")
_IRC = re.compile(r"<(?P<name>[^<>]{1,200})>\s+(?P<said>\S.*)")
_TABS = re.compile(r"(?P<name>[^\t]{1,200})\t+(?P<said>.+)")
_BOLD = re.compile(
    r"(?:\*\*|__)(?P<name>[^*_:：][^*:：\n]{0,199}?)\s*(?:[:：](?:\*\*|__)|(?:\*\*|__)\s*[:：]|(?:\*\*|__)(?=$))\s*(?P<said>.*)"
)
_HEADING = re.compile(r"#{1,6}\s+(?P<name>[^#].{0,199}?)\s*[:：]?\s*#*")
_PLAIN = re.compile(r"(?P<name>[^:：\t]{1,200})(?P<colon>[:：])(?!//)(?P<gap>\s*)(?P<said>.*)")
_AFTER = re.compile(rf"(?P<name>[^:：]{{1,200}}?)[\[(](?P<stamp>{STAMP})[\])](?P<end>(?:\*\*)?(?:[:：].*)?)")
_NAME_AND_TIME = re.compile(rf"(?P<name>\S.{{0,199}}?)[ \t,–—•-]{{1,4}}[\[(]?(?P<stamp>{STAMP})[\])]?")
_ASIDE = re.compile(r"\s*[(\[（][^()\[\]（）]*[)\]）]$")
_PHONE = re.compile(r"(?:\+|00?|\()?\d[\d ()./\-\u2010\u2011]{5,20}\d")
_NO_NAME = re.compile(r"[<>{}|=#\"“”?!;`\\؟،。，、]|://|^[-–—•*>\d]")

PLAIN, MARKED, HEADED, STAMPED = "plain", "marked", "headed", "stamped"


class Spoken(NamedTuple):
    """One turn. `at` is in seconds since 1970, 0 if unknown; `is_program` is true of words that no person said."""

    speaker: str
    is_program: bool
    text: str
    at: float


class Read(NamedTuple):
    """A text as a chat. `unread` has the numbers of the lines, from 1, that no speaker is known of."""

    turns: tuple[Spoken, ...]
    unread: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line: how it names a speaker, if it does, and what it says. `begins` is true where a time stands first, `is_tight` where no space
    follows the colon."""

    number: int
    text: str
    way: str = PLAIN
    name: str = ""
    said: str = ""
    stamp: str = ""
    begins: bool = False
    is_tight: bool = False

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which the line names its speaker."""
        return (self.way, STAMPED) if self.stamp or self.begins else (self.way,)


def read_text(text: str) -> Read | None:
    """Returns the turns of a text that is a chat: at least three, of two speakers, outside of code. `None` for a document."""
    lines = list(_lines(text))
    names = _Names(lines)
    lines = [line if names.speaks(line) else replace(line, name="") for line in lines]
    turns = [line for line in lines if line.name]
    if len(turns) < 3 or len({_key(line.name) for line in turns}) < 2 or not names.is_chat(turns):
        return None
    clock = clock_of(line.stamp for line in lines if line.stamp)
    return _joined(lines, names, clock)


def _lines(text: str) -> Iterator[_Line]:
    is_code = False
    for number, raw in enumerate(re.split(r"\r\n?|\n", text), 1):
        is_code ^= raw.lstrip().startswith("```")
        yield _Line(number, raw) if is_code else _line(number, raw)


def _line(number: int, raw: str) -> _Line:
    plain = raw.translate(_MARKS).strip()
    line = _read(number, raw, plain[:_LONGEST_HEAD])
    return replace(line, said=line.said + plain[_LONGEST_HEAD:])


def _read(number: int, raw: str, plain: str) -> _Line:
    """Returns the line, as its first characters say: a name and a time stand among them, and patterns are slow on long texts."""
    if is_day(plain):
        return _Line(number, raw, stamp=plain)
    if found := _KAKAO.fullmatch(plain):
        return _Line(number, raw, MARKED, found["name"].strip(), found["said"], found["stamp"], begins=True)
    if before := _BEFORE.fullmatch(plain):
        return _named(_Line(number, raw, stamp=before["bracketed"] or before["bare"], begins=True), before["rest"])
    if other := _OTHER_BEFORE.fullmatch(plain):
        return _named(_Line(number, raw, begins=True), other["rest"])
    if after := _AFTER.fullmatch(plain):
        return _named(_Line(number, raw, stamp=after["stamp"]), after["name"] + (after["end"] or ":"))
    found = _NAME_AND_TIME.fullmatch(plain)
    if found and has_time(found["stamp"]):
        return _Line(number, raw, PLAIN, found["name"].strip(), "", found["stamp"])
    return _named(_Line(number, raw), plain)


def _named(line: _Line, rest: str) -> _Line:
    """Returns the line with the speaker that the rest of it names, if it does."""
    if line.begins and (found := _TABS.fullmatch(rest)):
        return replace(line, way=MARKED, name=found["name"].strip(), said=found["said"])
    if found := _HEADING.fullmatch(rest):
        return replace(line, way=HEADED, name=_bare(found["name"]))
    if found := _IRC.fullmatch(rest):
        return replace(line, way=MARKED, name=found["name"].strip(), said=found["said"])
    if found := _BOLD.fullmatch(rest):
        return replace(line, name=_bare(found["name"]), said=found["said"])
    if found := _PLAIN.fullmatch(rest):
        is_tight = found["colon"] == ":" and not found["gap"] and bool(found["said"])
        return replace(line, name=_bare(found["name"]), said=found["said"], is_tight=is_tight)
    return line


def _bare(name: str) -> str:
    return name.strip(" \t~*_,–—-")


def _key(name: str) -> str:
    return _ASIDE.sub("", name).strip(" ~@").casefold() or name.casefold()


class _Names:
    """The names before the colons of one text: those that speak in it."""

    def __init__(self, lines: list[_Line]) -> None:
        named = [line for line in lines if line.name]
        self._is_tight = not any(not line.is_tight and looks_like_name(line.name) for line in named)
        self._counts = Counter(_key(line.name) for line in named if self._is_tight or not line.is_tight)
        self._by_way = {way: Counter(_key(line.name) for line in named if way in line.ways) for way in (STAMPED, MARKED, HEADED)}
        self._clear = self._clear_way(sum(line.ways == (PLAIN,) and looks_like_name(line.name) for line in named))
        self._has_nicks = sum(count > 1 and " " not in key and key not in _ROLES for key, count in self._counts.items()) > 1
        self.are_stamped = self._clear == STAMPED
        self._has_program = any(name in PROGRAMS for name in self._counts)

    def _clear_way(self, plain: int) -> str:
        """Returns the one way in which the text names its speakers, "" for names before colons alone."""
        headed = Counter({name: count for name, count in self._by_way[HEADED].items() if name in _ROLES})
        if len(headed) > 1 and headed.total() > 2:
            return HEADED
        ways = (way for way in (STAMPED, MARKED) if len(self._by_way[way]) > 1)
        return next((way for way in ways if self._by_way[way].total() >= max(plain, 3)), "")

    def speaks(self, line: _Line) -> bool:
        """Returns True if the line is one of a speaker whom it names."""
        key, times = _key(line.name), self._counts[_key(line.name)]
        if not line.name:
            return False
        if line.way == HEADED:
            return self._clear == HEADED and key in _ROLES
        if self._clear in (HEADED, STAMPED) and self._clear not in line.ways:
            return self._by_way[self._clear][key] > 0
        if line.way == MARKED or key in _ROLES:
            return True
        if (line.is_tight and not self._is_tight) or not (line.said or line.stamp):
            return times > 1 and looks_like_name(line.name, is_known=True)
        if line.begins:
            return times > 1 or looks_like_name(line.name)
        is_nick = line.name.islower() and " " not in line.name and not _NO_NAME.search(line.name)
        return (is_nick and (self._has_nicks or times > 1)) or looks_like_name(line.name, is_known=times > 1)

    def is_chat(self, turns: list[_Line]) -> bool:
        """Returns True unless most names stand there once, as those of a list of fields do."""
        keys = Counter(_key(line.name) for line in turns)
        if self._clear or len(keys.keys() & _ROLES) > 1:
            return True
        return sum(count for count in keys.values() if count > 1) * 2 >= len(turns)

    def is_program(self, name: str, *, was: bool) -> bool:
        """Returns True for a program. A name that stands once in a chat with one is more likely a heading in the words before."""
        key = _key(name)
        if key in _ROLES:
            return key in PROGRAMS
        return was and self._has_program and self._counts[key] < 2


def looks_like_name(name: str, *, is_known: bool = False) -> bool:
    """Returns True for words that a person may be called, in any script, and for a phone number.

    Where a script has capitals, a name begins and ends with one. Of a name that stands once, smaller words inside are short ("de la").
    """
    bare = _ASIDE.sub("", name).strip(" ~@")
    if _PHONE.fullmatch(bare):
        return sum(map(str.isdigit, bare)) > 6
    words = [word for word in bare.split() if any(map(str.isalpha, word))]
    if not words or _NO_NAME.search(bare):
        return bool(bare) and all(category(character) in ("So", "Sk", "Mn", "Cf") for character in bare)  # an emoji
    if not any(character.lower() != character.upper() for character in bare):
        return is_known or len(bare) <= _LONGEST_UNCASED
    small = [word for word in words if word.islower()]
    return words[0] not in small and words[-1] not in small and (is_known or all(len(word.strip(".")) <= 3 for word in small))


def _joined(lines: Iterable[_Line], names: _Names, clock: Clock) -> Read:
    """Returns the turns, each with the lines that continue it, and the numbers of the lines without a speaker."""
    turns: list[Spoken] = []
    more: dict[int, list[str]] = {}
    unread: list[int] = []
    at, was_program, was_blank = 0.0, False, True
    for line in lines:
        is_day_line = not line.name and is_day(line.text) and (was_blank or names.are_stamped)
        was_blank = not line.text.strip()
        if line.stamp and (line.name or is_day_line):
            at = clock.at(line.stamp) or at
        if line.name:
            was_program = names.is_program(line.name, was=was_program)
            turns.append(Spoken(line.name, was_program, line.said, at))
        elif turns and not (names.are_stamped and (is_day_line or line.begins)):
            more.setdefault(len(turns) - 1, []).append(line.text)
        elif not was_blank and not is_day_line:
            unread.append(line.number)
    whole = (turn._replace(text="\n".join([turn.text, *more.get(place, ())])) for place, turn in enumerate(turns))
    return Read(tuple(whole), tuple(unread))
