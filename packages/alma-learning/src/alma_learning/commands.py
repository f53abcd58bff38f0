"""Whether a shell command does what a pattern names: `git -C web push -f` is `git push --force`, `git push` is not."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

from alma_learning.shell import (
    STOP,
    WRAPPERS,
    Command,
    Commands,
    Stage,
    is_bundle,
    is_flag,
    is_path,
    program_of,
    version_of,
    write_out,
)
from alma_learning.word_lists import read_lists

REACH = 16
"""How many words after a program are read as part of its command."""

_WORDS, _LITTLE = read_lists("commands"), read_lists("words")["little"]
_ENDING = STOP | _WORDS["ending"]
_PIPED = re.compile(r"\bpiped?\s+(?:in)?to\b", re.IGNORECASE)
_AROUND = "`\"'(),:;"


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
    def is_bare(self) -> bool:
        """Whether nothing is said but the program."""
        return not (self.words or self.flags or self.places or self.is_excluding)

    def is_program(self, program: str) -> bool:
        """Returns True if this names a program. A bare "shell" is any shell: "piped into a shell"."""
        return self.program == program or (self.program == "shell" and self.is_bare and program in _WORDS["shells"])


Named = tuple[tuple[tuple[NamedCommand, ...], ...], ...]
"""The commands that a pattern may name in each of its spellings, stage by stage of a pipeline."""


def pattern_words(text: str) -> tuple[str, ...]:
    """Returns the words of a pattern as commands are compared with them, with a bar where something is piped."""
    words = (_strip(word) for word in _PIPED.sub(" | ", text.replace("|", " | ")).split())
    return tuple(word for word in words if word)


def read_named(words: Sequence[str]) -> Named:
    """Returns the commands that the words of a pattern may name."""
    return tuple(tuple(map(_stage, _stages(spelling))) for spelling in dict.fromkeys((tuple(words), tuple(_apart(words)))))


def compare(pattern: Named, action: Commands) -> Likeness:
    """Returns the most that one of the pipelines of an action does of what a pattern names."""
    return max((_of_pipeline(stages, pipeline) for stages in pattern for pipeline in action.pipelines), default=Likeness.OTHER)


def _strip(word: str) -> str:
    stripped = word.strip(_AROUND)
    return stripped.rstrip(".") if len(stripped) > 1 and stripped.strip(".") else stripped


def _apart(words: Iterable[str]) -> Iterator[str]:
    """The words with those of programs that are written with a hyphen apart."""
    for word in words:
        first, _, second = word.partition("-")
        is_split = program_of(word) and "." not in word and second not in _ENDING
        yield from filter(None, (first, second) if is_split else (word,))


def _stages(words: Iterable[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(stage) for is_bar, stage in groupby(words, lambda word: word == "|") if not is_bar)


def _stage(words: Sequence[str]) -> tuple[NamedCommand, ...]:
    """The commands that a stage may name. Behind what says when none is named: `rm -rf dist before each build`."""
    places = (place for place, word in enumerate(words) if program_of(word) and word not in STOP and _may_begin(words, place))
    named = [(place, _named(words, place)) for place in places]
    full = next((place for place, command in named if not command.is_bare), len(words))
    end = next((place for place in range(full, len(words)) if words[place].lower() in _WORDS["when"]), len(words))
    return tuple(command for place, command in named if place < end or not command.is_bare)


def _may_begin(words: Sequence[str], place: int) -> bool:
    """Returns True if a command may begin at a place of a pattern: not in the middle of one, as `rm` stands in `aws s3 rm`."""
    before = words[place - 1] if place else ""
    return not program_of(before) or before in WRAPPERS | STOP | _LITTLE or before.endswith("ing")


def _named(pattern: Sequence[str], place: int) -> NamedCommand:
    """The command that begins with the program at a place."""
    words, marked, excluded = list[str](), list[str](), list[str]()
    is_over = is_excluding = False
    program = program_of(pattern[place])
    for word in write_out(program, pattern[place + 1 : place + 1 + REACH]):
        if word.lower() in ("no", "without"):
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


def _of_pipeline(pattern: Sequence[tuple[NamedCommand, ...]], pipeline: Sequence[Stage]) -> Likeness:
    if len(pattern) == 1:
        return max((_of_stage(pattern[0], command) for stage in pipeline for command in stage), default=Likeness.OTHER)
    rest = iter(pipeline)
    is_same = all(any(_of_stage(named, command) for stage in rest for command in stage) for named in pattern)
    return Likeness.SAME if is_same else Likeness.OTHER


def _of_stage(pattern: Iterable[NamedCommand], command: Command) -> Likeness:
    same = (_of_command(named, command) for named in pattern if named.is_program(command.program))
    return max(same, default=Likeness.OTHER)


def _of_command(named: NamedCommand, command: Command) -> Likeness:
    words = command.words
    is_same = (
        _is_version(named.version, command.version)
        and (not named.wrapper or named.wrapper in command.wrappers)
        and not any(_has_flag(words, flag) for flag in named.excluded)
        and all(_has_flag(words, flag) for flag in named.flags)
        and all(any(_is_place(word, place) for word in words) for place in named.places)
        and _begins_with(words, named.words)
        and _rehearses(words) <= _rehearses(named.flags)
    )
    return (Likeness.PROGRAM if named.is_bare else Likeness.SAME) if is_same else Likeness.OTHER


def _is_version(one: str, other: str) -> bool:
    """Returns True unless two versions exclude each other: 2 and 3 do, 3 and 3.12 do not."""
    return not (one and other) or f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


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
        elif is_after_flag:
            is_after_flag = False
        else:
            return False
    return not wanted


def _is_word(word: str, named: str) -> bool:
    """Returns True if a word of a command is the one that is named or a path to it: `deployment/web` for `deployment`, `./dist/` for `dist`."""
    given, wanted = word.lower(), named.lower()
    return wanted in (given, given.split("/")[0]) or given.rstrip("/").endswith(f"/{wanted}")


def _is_place(word: str, place: str) -> bool:
    return word == place or (place.isdigit() and word.lstrip("0") == place.lstrip("0"))


def _has_flag(words: Sequence[str], flag: str) -> bool:
    """Returns True if a flag is given as it is named, in a bundle (`-rf`), or long for short and the other way round (`-f`, `--force`)."""
    name, _, value = flag.partition("=")
    for word, following in zip(words, (*words[1:], ""), strict=False):
        given, _, its_value = word.partition("=")
        if given == name or (not value and given.startswith(f"{name}.")):
            return not value or value in (its_value, following)
    letters = {letter for word in words if is_bundle(word) and not _names_file(words, word) for letter in word[1:]}
    if is_bundle(name):
        longs = {word[2] for word in words if _is_long(word)}
        bundled = {letter for word in words if is_bundle(word) for letter in word[1:]}
        return all(letter in bundled or letter.lower() in longs for letter in name[1:])
    return not value and _is_long(name) and name[2] in {letter.lower() for letter in letters}


def _names_file(words: Sequence[str], flag: str) -> bool:
    """Returns True if a flag is followed by a file: in `apply -f web.yaml` it is not short for `--force`."""
    following = words[words.index(flag) + 1 :][:1]
    return any("." in word or "/" in word for word in following)


def _is_long(flag: str) -> bool:
    return flag.startswith("--") and flag[2:].isalpha()


def _rehearses(words: Iterable[str]) -> bool:
    return any(word.lstrip("-").partition("=")[0] in _WORDS["rehearsing"] for word in words if word.startswith("-"))
