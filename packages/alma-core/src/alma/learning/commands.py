"""Whether a shell command does what a pattern names: `git -C web push -f` is `git push --force`, `git push` is not."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

from alma.learning.shell import (
    SHELLS,
    WRAPPERS,
    Command,
    Commands,
    Pipeline,
    is_flag,
    is_path,
    program_of,
    version_of,
    written_out,
)
from alma.learning.vocabulary import SAYING_LITTLE
from alma.text import STOPWORDS

REACH = 16
"""How many words after a program are read as part of its command."""

_PIPED = re.compile(r"\bpiped?\s+(?:in)?to\b", re.IGNORECASE)
_AROUND = "`\"'(),:;"
_ENDING = STOPWORDS | frozenset("across along around inside onto outside per toward towards upon via within".split())  # noqa: SIM905
"""Words in a pattern that do not belong to the command before them."""
_WHEN = frozenset("after at before during for in inside on until when while within".split())  # noqa: SIM905
_EXCLUDING = frozenset(("no", "without"))
_REHEARSALS = frozenset(("check", "dry-run", "dryrun", "help", "noop", "simulate", "version", "what-if", "whatif"))
"""Flags with which a command does not do what it does without."""
_LONGEST_BUNDLE = 5
_SINGLE_DASH = re.compile(r"^-(?=[a-z][a-z][a-z-]*(?:=|$))")
"""Programs written in Go take `-target=db` for `--target=db`."""
_LETTERS = {
    "all": "a", "delete": "d", "detach": "d", "follow": "f", "force": "f", "global": "g", "interactive": "i", "message": "m", "namespace": "n",
    "output": "o", "quiet": "q", "recursive": "r", "save": "S", "upgrade": "U", "verbose": "v", "yes": "y",
}  # fmt: skip
"""Long options with the letter that they have in nearly all programs."""
_LETTERS_OF = {
    "curl": {"data": "d", "fail": "f", "header": "H", "location": "L", "request": "X", "silent": "s"},
    "docker": {"env": "e", "file": "f", "publish": "p", "tag": "t", "user": "u", "volume": "v"},
    "git": {"create": "c", "set-upstream": "u"},
    "grep": {
        "count": "c",
        "files-with-matches": "l",
        "ignore-case": "i",
        "invert-match": "v",
        "line-number": "n",
        "word-regexp": "w",
    },
    "npm": {"save-dev": "D"},
    "pip": {"editable": "e", "requirement": "r"},
    "tar": {"create": "c", "extract": "x", "file": "f", "gzip": "z"},
}
"""And with that which they have in one program."""


class Likeness(IntEnum):
    """How far an action does what a pattern names: it runs another program, or that one in another way; that program; the same in the same way."""

    OTHER = 0
    PROGRAM = 1
    SAME = 2


@dataclass(frozen=True, slots=True)
class NamedCommand:
    """A command that a pattern may name: the words right after the program, the flags and places anywhere, and the flags that it must not have."""

    program: str
    version: str
    wrapper: str
    words: tuple[str, ...]
    flags: tuple[str, ...]
    places: tuple[str, ...]
    excluded: tuple[str, ...]
    is_excluding: bool

    @property
    def is_shell(self) -> bool:
        """Whether any shell is meant: "piped into a shell"."""
        return self.program == "shell" and self.is_bare

    @property
    def is_bare(self) -> bool:
        """Whether nothing is said but the program."""
        return not (self.words or self.flags or self.places or self.is_excluding)


NamedStage = tuple[NamedCommand, ...]


@dataclass(frozen=True, slots=True)
class NamedCommands:
    """The commands that a pattern may name in each of its spellings, stage by stage of a pipeline; `programs` are all of theirs."""

    spellings: tuple[tuple[NamedStage, ...], ...]
    programs: frozenset[str]


def words_in(text: str) -> tuple[str, ...]:
    """The words of a pattern as commands are compared with them, with a bar where something is piped."""
    words = (_bare(word) for word in _PIPED.sub(" | ", text.replace("|", " | ")).split())
    return tuple(word for word in words if word)


def named_in(words: Sequence[str]) -> NamedCommands:
    """Reads the words of a pattern."""
    spellings = tuple(tuple(map(_stage, _stages(spelling))) for spelling in dict.fromkeys((tuple(words), tuple(_apart(words)))))
    return NamedCommands(spellings, frozenset(named.program for stages in spellings for stage in stages for named in stage))


def likeness(pattern: NamedCommands, action: Commands) -> Likeness:
    """The most that one of the pipelines of an action does of what a pattern names."""
    if pattern.programs.isdisjoint(action.programs):
        return Likeness.OTHER
    found = (_of_pipeline(stages, pipeline) for stages in pattern.spellings for pipeline in action.pipelines)
    return max(found, default=Likeness.OTHER)


def _bare(word: str) -> str:
    stripped = word.strip(_AROUND)
    return stripped.rstrip(".") if len(stripped) > 1 and stripped.strip(".") else stripped


def _apart(words: Iterable[str]) -> Iterator[str]:
    """The words with those of programs that are written with a hyphen apart."""
    for word in words:
        first, _, second = word.partition("-")
        is_split = program_of(word) and "." not in word and second not in _ENDING  # `apt-get upgrade` is no `apt` alone
        yield from filter(None, (first, second) if is_split else (word,))


def _stages(words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(stage) for is_bar, stage in groupby(words, lambda word: word == "|") if not is_bar)


def _stage(words: Sequence[str]) -> NamedStage:
    programs = ((place, word) for place, word in enumerate(words) if program_of(word) and word not in STOPWORDS)
    places = (place for place, _ in programs if _may_begin(words, place))
    named = [(place, _named(words, place)) for place in places]
    full = next((place for place, command in named if not command.is_bare), len(words))
    end = next((place for place in range(full, len(words)) if words[place].lower() in _WHEN), len(words))
    # behind such a word no command is named: `rm -rf dist before each build`
    return tuple(command for place, command in named if place < end or not command.is_bare)


def _may_begin(words: Sequence[str], place: int) -> bool:
    """Returns True if a command may begin at a place of a pattern: not in the middle of one, as `rm` stands in `aws s3 rm`."""
    before = words[place - 1] if place else ""
    return (
        not program_of(before) or before in WRAPPERS or before in STOPWORDS or before in SAYING_LITTLE or before.endswith("ing")
    )


def _named(pattern: Sequence[str], place: int) -> NamedCommand:
    """The command that begins with the program at a place."""
    words, marked, excluded = list[str](), list[str](), list[str]()
    is_over = is_excluding = False
    program = program_of(pattern[place])
    for word in written_out(program, pattern[place + 1 : place + 1 + REACH]):
        if word.lower() in _EXCLUDING:
            is_excluding = True
        elif is_flag(word) or is_path(word) or word == "--":
            (excluded if is_excluding else marked).append(word)
        elif word.lower() in _ENDING:
            is_over = True
        elif not (is_over or is_excluding):
            (marked if word.isdigit() else words).append(word)
    wrapper = pattern[place - 1] if place and pattern[place - 1] in WRAPPERS else ""
    flags, places = (tuple(word for word in marked if is_flag(word) is wanted) for wanted in (True, False))
    return NamedCommand(program, version_of(pattern[place]), wrapper, tuple(words), flags, places, tuple(excluded), is_excluding)


def _of_pipeline(pattern: Sequence[NamedStage], pipeline: Pipeline) -> Likeness:
    if len(pattern) == 1:
        return max((_of_stage(pattern[0], command) for stage in pipeline for command in stage), default=Likeness.OTHER)
    rest = iter(pipeline)
    is_same = all(any(_of_stage(named, command) for stage in rest for command in stage) for named in pattern)
    return Likeness.SAME if is_same else Likeness.OTHER


def _of_stage(pattern: NamedStage, command: Command) -> Likeness:
    same = (named for named in pattern if named.program == command.program or (named.is_shell and command.program in SHELLS))
    return max((_of_command(named, command) for named in same), default=Likeness.OTHER)


def _of_command(named: NamedCommand, command: Command) -> Likeness:
    words = command.words
    is_other = (
        _differ(named.version, command.version)
        or (named.wrapper and named.wrapper not in command.wrappers)
        or any(_has_flag(words, flag) for flag in named.excluded)
        or not all(_has_flag(words, flag) for flag in named.flags)
        or not all(any(_is_place(word, place) for word in words) for place in named.places)
        or not _begins_with(words, named.words)
        or _rehearses(words) > _rehearses(named.flags)
    )
    if is_other:
        return Likeness.OTHER
    return Likeness.PROGRAM if named.is_bare else Likeness.SAME


def _differ(one: str, other: str) -> bool:
    """Returns True for two versions that exclude each other: 2 and 3, but not 3 and 3.12."""
    return bool(one and other) and not f"{one}.".startswith(f"{other}.") and not f"{other}.".startswith(f"{one}.")


def _begins_with(words: Sequence[str], named: Sequence[str]) -> bool:
    """Returns True if a command begins with these words, but for flags and what may be their values."""
    wanted = list(reversed(named))
    is_after_flag = False
    for word in words:
        if not wanted:
            break
        if is_flag(word):
            is_after_flag = True
        elif _is_word(word, wanted[-1]):
            wanted.pop()
        elif not is_after_flag:
            return False
        else:
            is_after_flag = False
    return not wanted


def _is_word(word: str, named: str) -> bool:
    """Returns True if a word of a command is the one that is named, a path to it, or short for it: `i` for `install`, `deployment/web` for
    `deployment`, `./dist/` for `dist`."""
    given, wanted = word.lower().split("/")[0] or word, named.lower()
    return (
        given == wanted
        or word.lower().rstrip("/").endswith(f"/{wanted}")
        or (len(given) <= 2 and given.isalpha() and wanted.startswith(given))
    )


def _is_place(word: str, place: str) -> bool:
    return word == place or (place.isdigit() and word.lstrip("0") == place.lstrip("0"))


def options_in(program: str, words: Sequence[str]) -> frozenset[str]:
    """The options of a command, each of a bundle apart, and long ones by their letter where that is known: `-af` and `--all --force` are the same.

    This takes no long option for a short one because both begin with one letter: `git commit -a` is not `git commit --amend`.
    """
    letters = _LETTERS | _LETTERS_OF.get(program, {})
    found: set[str] = set()
    for word in filter(is_flag, words):
        long = _SINGLE_DASH.sub("--", word)
        found |= {*word[1:]} if _is_bundle(word) else {letters.get(long.removeprefix("--"), long)}
    return frozenset(found)


def _has_flag(words: Sequence[str], flag: str) -> bool:
    """Returns True if a flag is given as it is named, in a bundle (`-rf`), or long for short and the other way round (`-f`, `--force`)."""
    name, _, value = flag.partition("=")
    for word, following in zip(words, (*words[1:], ""), strict=False):
        given, _, its_value = word.partition("=")
        if given == name or (not value and given.startswith(f"{name}.")):
            return not value or value in (its_value, following)
    return not value and (_is_bundled(words, name) if _is_bundle(name) else _is_shortened(words, name))


def _is_bundled(words: Sequence[str], bundle: str) -> bool:
    """Returns True if each letter of short flags is given: in any bundle, or as a long flag of one word that begins with it."""
    letters = {letter for word in words if _is_bundle(word) for letter in word[1:]}
    longs = {word[2] for word in words if _is_long(word)}
    return all(letter in letters or letter.lower() in longs for letter in bundle[1:])


def _is_shortened(words: Sequence[str], name: str) -> bool:
    """Returns True if the first letter of a long flag is given. One that is followed by a file names that: `apply -f web.yaml`."""
    return _is_long(name) and any(
        _is_bundle(word) and name[2] in word[1:].lower() and "." not in following and "/" not in following
        for word, following in zip(words, (*words[1:], ""), strict=False)
    )


def _is_long(flag: str) -> bool:
    return flag.startswith("--") and flag[2:].isalpha()


def _is_bundle(flag: str) -> bool:
    return 2 <= len(flag) <= _LONGEST_BUNDLE and flag[0] == "-" and flag[1:].isalnum()


def _rehearses(words: Sequence[str]) -> bool:
    return any(word.lstrip("-").partition("=")[0] in _REHEARSALS for word in words if word.startswith("-"))
