"""Check whether a shell command does what a pattern names: `git -C web push -f` is `git push --force`, `git push` is not."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

from alma_learning.shell import STOP, WRAPPERS, Command, Commands, Stage, is_bundle, is_flag, is_path, program_of, write_out
from alma_learning.word_lists import read_lists

REACH = 16
"""Number of words after a program that are read as part of its command."""

_WORDS, _LITTLE = read_lists("commands"), read_lists("words")["little"]
_ENDING = STOP | _WORDS["ending"]
_PIPED = re.compile(r"\bpiped?\s+(?:in)?to\b", re.IGNORECASE)
_AROUND = "`\"'(),:;"


class Likeness(IntEnum):
    """Likeness of an action to a pattern, ascending: another program, or the named one in another way; the named one; the same in the same way."""

    OTHER = 0
    PROGRAM = 1
    SAME = 2


@dataclass(frozen=True, slots=True)
class NamedCommand:
    """A command that a pattern may name: the words right after the program, the flags and places anywhere, and the flags that it must not have."""

    program: str
    wrapper: str
    words: tuple[str, ...]
    flags: tuple[str, ...]
    places: tuple[str, ...]
    excluded: tuple[str, ...]
    is_bare: bool
    """True if the pattern names the program and nothing else."""


Named = tuple[tuple[NamedCommand, ...], ...]
"""The commands that a pattern may name, stage by stage of a pipeline."""


def pattern_words(text: str) -> tuple[str, ...]:
    """Returns the words of a pattern as commands are compared with them, with a bar where something is piped."""
    words = (word.strip(_AROUND) for word in _PIPED.sub(" | ", text.replace("|", " | ")).split())
    return tuple(word.rstrip(".") if word.strip(".") else word for word in words if word)


def read_named(words: Sequence[str]) -> Named:
    """Returns the commands that the words of a pattern may name."""
    stages = (tuple(stage) for is_bar, stage in groupby(words, lambda word: word == "|") if not is_bar)
    return tuple(tuple(_named(stage, place) for place in range(len(stage)) if _may_begin(stage, place)) for stage in stages)


def compare(pattern: Named, action: Commands) -> Likeness:
    """Returns the most that one of the pipelines of an action does of what a pattern names."""
    return max((_of_pipeline(pattern, pipeline) for pipeline in action.pipelines), default=Likeness.OTHER)


def _may_begin(words: Sequence[str], place: int) -> bool:
    """Returns True if a command may begin at a place of a pattern: not in the middle of one, as `rm` stands in `aws s3 rm`."""
    before = words[place - 1] if place else ""
    is_middle = program_of(before) and before not in WRAPPERS | STOP | _LITTLE and not before.endswith("ing")
    return bool(program_of(words[place])) and words[place] not in STOP and not is_middle


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
    return NamedCommand(program, wrapper, tuple(words), flags, places, tuple(excluded), not (words or marked or is_excluding))


def _of_pipeline(pattern: Named, pipeline: Sequence[Stage]) -> Likeness:
    if len(pattern) == 1:
        return max(_of_stage(pattern[0], stage) for stage in pipeline)
    rest = iter(pipeline)
    return Likeness.SAME if all(any(_of_stage(named, stage) for stage in rest) for named in pattern) else Likeness.OTHER


def _of_stage(pattern: Iterable[NamedCommand], stage: Stage) -> Likeness:
    return max((_of_command(named, command) for named in pattern for command in stage), default=Likeness.OTHER)


def _of_command(named: NamedCommand, command: Command) -> Likeness:
    words = command.words
    is_any_shell = named.program == "shell" and command.program in _WORDS["shells"]  # "piped into a shell"
    is_same = (
        (named.program == command.program or is_any_shell)
        and (not named.wrapper or named.wrapper in command.wrappers)
        and not any(_has_flag(words, flag) for flag in named.excluded)
        and all(_has_flag(words, flag) for flag in named.flags)
        and all(any(_is_place(word, place) for word in words) for place in named.places)
        and _begins_with(words, named.words)
        and _rehearses(words) <= _rehearses(named.flags)
    )
    return (Likeness.PROGRAM if named.is_bare else Likeness.SAME) if is_same else Likeness.OTHER


def _begins_with(words: Sequence[str], named: Sequence[str]) -> bool:
    """Returns True if a command begins with these words, but for flags and what may be their values."""
    wanted, is_after_flag = [word.lower() for word in reversed(named)], False
    for word in words:
        if not wanted:
            break
        if is_flag(word):
            is_after_flag = True
        elif wanted[-1] in (word.lower(), word.lower().split("/")[0], word.lower().strip("./").split("/")[-1]):
            wanted.pop()  # `deployment/web` is a `deployment`, `./dist/` is `dist`
        elif is_after_flag:
            is_after_flag = False
        else:
            return False
    return not wanted


def _is_place(word: str, place: str) -> bool:
    return word == place or (place.isdigit() and word.lstrip("0") == place.lstrip("0"))


def _has_flag(words: Sequence[str], flag: str) -> bool:
    """Returns True if a flag is given as it is named, in a bundle (`-rf`), or long for short and the other way round (`-f`, `--force`).

    A letter that is followed by a file names that: `apply -f web.yaml`.
    """
    name, _, value = flag.partition("=")
    letters = set[str]()
    for word, following in zip(words, (*words[1:], ""), strict=False):
        given, _, its_value = word.partition("=")
        if given == name or (not value and given.startswith(f"{name}.")):
            return not value or value in (its_value, following)
        if is_bundle(word) and (is_bundle(name) or not {*following} & {*"./"}):
            letters |= {*word[1:]}
    if is_bundle(name):
        longs = {word[2] for word in words if _is_long(word)}
        return all(letter in letters or letter.lower() in longs for letter in name[1:])
    return not value and _is_long(name) and name[2] in {letter.lower() for letter in letters}


def _is_long(flag: str) -> bool:
    return flag.startswith("--") and flag[2:].isalpha()


def _rehearses(words: Iterable[str]) -> bool:
    return any(word.lstrip("-").partition("=")[0] in _WORDS["rehearsing"] for word in words if word.startswith("-"))
