"""Shell commands in a text, and whether one does what a pattern names: `git -C web push -f` is `git push --force`, `git push` is not.

A text is read as shell only where it looks like it. What a command is given is data, unless the program runs it: `grep "rm -rf" notes` deletes
nothing, but `sudo rm -rf build`, `xargs rm -rf` and `sh -c "rm -rf build"` do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from alma.learning.vocabulary import NEGATORS, SAYING_LITTLE
from alma.text import STOPWORDS

READ_CHARS = 20_000
"""Commands are looked for in this many characters of a text."""

_TOKEN = re.compile(
    r"""(?P<space>[^\S\n]+) | (?P<end>&&|\|\||[;&\n]|\$\(|[()]) | (?P<pipe>\|)
      | (?P<quoted>"(?:[^"\\]|\\.?)*(?:"|\Z) | (?<!\w)'[^']*(?:'|\Z))
      | (?P<plain>(?:[^\s"'|;&()\\$]|(?<=\w)'|\\.?|\$(?!\())+) | .
    """,
    re.VERBOSE | re.DOTALL,
)
_PROGRAM = re.compile(r"(?:[\w.~-]*/)*([a-z][\w+.-]*|[A-Z][a-z]+-[A-Z]\w+)")
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_FLAG = re.compile(r"--?[A-Za-z\d]")
_PLACE = re.compile(r"[/~$*<>]|^\.")
_PIPED = re.compile(r"\bpiped?\s+(?:in)?to\b", re.IGNORECASE)
_AROUND = "`\"'(),:;"

_WRAPPERS = frozenset(("command", "doas", "env", "exec", "ionice", "nice", "nohup", "npx", "stdbuf", "sudo", "time", "timeout", "watch", "xargs"))
"""Programs that run the command after them."""
_RUNNING = frozenset(("bash", "eval", "mysql", "node", "perl", "psql", "python", "ruby", "sh", "sqlite", "ssh", "su", "zsh"))
"""Programs that run a text in quotes."""
_READING = frozenset(("ack", "ag", "cat", "echo", "egrep", "grep", "less", "man", "printf", "rg", "which"))
"""Programs that only read or show what they are given."""
_KEYWORDS = frozenset(("do", "else", "if", "then", "while", "!"))
_PROSE = STOPWORDS - frozenset("all d do down for i if in m more no off on once out s same t up while".split())  # noqa: SIM905
"""Words that do not stand in commands."""

_SHORT = 4
"""A text of at most this many words may be a command though nothing marks it as one: `git stash drop`."""
_REHEARSALS = frozenset(("check", "dry-run", "dryrun", "help", "noop", "simulate", "version", "what-if", "whatif"))
"""Flags with which a command does not do what it does without."""
_LONGEST_BUNDLE = 5
_MOST_READINGS, _WRAPPED = 8, 3


class Likeness(IntEnum):
    """How far a command does what a pattern names: it runs another program or in another way, the same program, or the same in the same way."""

    OTHER = 0
    PROGRAM = 1
    SAME = 2


@dataclass(frozen=True, slots=True)
class Command:
    """A program with what follows it in order, quotes taken away. `wrappers` are the programs that run it."""

    program: str
    words: tuple[str, ...]
    wrappers: frozenset[str] = frozenset()


Stage = tuple[Command, ...]
"""One stage of a pipeline, in each way in which it can be read: as `sudo`, and as what that runs."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The pipelines of a text, stage by stage, and the texts that its programs run. `is_certain` says that it can be nothing but shell."""

    pipelines: tuple[tuple[Stage, ...], ...] = ()
    instructions: tuple[str, ...] = ()
    is_certain: bool = False
    unquoted: str = ""
    """All words outside of quotes, but for what programs only read or show."""

    @property
    def programs(self) -> frozenset[str]:
        """All programs that may be run."""
        return frozenset(command.program for pipeline in self.pipelines for stage in pipeline for command in stage)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    is_quoted: bool


def commands_in(text: str) -> Commands:
    """Reads a text; no commands where it does not look like shell."""
    read = [pipeline for pipeline in _pipelines(text[:READ_CHARS]) if _is_command(pipeline[0])]
    instructions = (inner for pipeline in read for words in pipeline for inner in _run_texts(words))
    return Commands(
        tuple(tuple(tuple(_readings(words)) for words in pipeline) for pipeline in read),
        tuple(instructions),
        is_certain=any(len(pipeline) > 1 or _is_marked(pipeline[0]) for pipeline in read),
        unquoted=" ".join(word.text for pipeline in read for words in pipeline for word in _acting(words)),
    )


def pattern_words(text: str) -> tuple[str, ...]:
    """The words of a pattern as commands are compared with them."""
    words = (_bare(word) for word in _PIPED.sub(" | ", text.replace("|", " | ")).split())
    return tuple(word for word in words if word)


def likeness(pattern: Sequence[str], commands: Commands) -> Likeness:
    """The most that one of the pipelines does of what the words of a pattern name."""
    spellings = [_split(words) for words in dict.fromkeys((tuple(pattern), _apart(pattern)))]
    return max((_of_pipeline(stages, pipeline) for stages in spellings for pipeline in commands.pipelines), default=Likeness.OTHER)


def _apart(pattern: Sequence[str]) -> tuple[str, ...]:
    """The words with those of programs that are written with a hyphen apart."""
    return tuple(part for word in pattern for part in (word.split("-", 1) if _named(word) and "." not in word else (word,)) if part)


def _of_pipeline(pattern: Sequence[Sequence[str]], pipeline: Sequence[Stage]) -> Likeness:
    if len(pattern) == 1:
        return max((_of_command(pattern[0], command) for stage in pipeline for command in stage), default=Likeness.OTHER)
    rest = iter(pipeline)
    is_same = all(any(_of_command(words, command) for stage in rest for command in stage) for words in pattern)
    return Likeness.SAME if is_same else Likeness.OTHER


def _of_command(pattern: Sequence[str], command: Command) -> Likeness:
    places = (place for place, word in enumerate(pattern) if _named(word) == command.program and _may_begin(pattern, place))
    return max((_at(pattern, place, command) for place in places), default=Likeness.OTHER)


def _may_begin(pattern: Sequence[str], place: int) -> bool:
    """Whether a command may begin at a place of a pattern: not in the middle of one, as `rm` stands in `aws s3 rm`."""
    before = pattern[place - 1] if place else ""
    return not _named(before) or before in _WRAPPERS or before in STOPWORDS or before in SAYING_LITTLE or before.endswith("ing")


def _at(pattern: Sequence[str], place: int, command: Command) -> Likeness:
    """How far a command does what a pattern says from the program at this place on."""
    named, excluded, is_over, is_exclusion = list[str](), list[str](), False, False
    for word in pattern[place + 1 :]:
        if word.lower() in ("without", "no"):
            is_exclusion = True
        elif _FLAG.match(word) or _PLACE.search(word) or word == "--":
            (excluded if is_exclusion else named).append(word)
        elif word.lower() in STOPWORDS:
            is_over = True
        elif not (is_over or is_exclusion):
            named.append(word)
    before = pattern[place - 1] if place else ""
    if (before in _WRAPPERS and before not in command.wrappers) or any(_has_flag(command.words, word) for word in excluded):
        return Likeness.OTHER
    if not _has_all(command.words, named) or _rehearses(command.words) > _rehearses(named):
        return Likeness.OTHER
    return Likeness.SAME if named or is_exclusion else Likeness.PROGRAM


def _has_all(words: Sequence[str], named: Sequence[str]) -> bool:
    """Whether a command has the flags and places that are named, in any order, and begins with the words, but for flags and their values."""
    flags = [word for word in named if _FLAG.match(word)]
    places = [word for word in named if word not in flags and (_PLACE.search(word) or word == "--" or word.isdigit())]
    if not all(_has_flag(words, flag) for flag in flags):
        return False
    if not all(any(_is_place(word, place) for word in words) for place in places):
        return False
    return _begins_with(words, [word for word in named if word not in flags and word not in places])


def _begins_with(words: Sequence[str], named: Sequence[str]) -> bool:
    wanted = list(reversed(named))
    after_flag = False
    for word in words:
        if not wanted:
            return True
        if _FLAG.match(word):
            after_flag = True
        elif _is_word(word, wanted[-1]):
            wanted.pop()
        elif not after_flag:
            return False
        else:
            after_flag = False
    return not wanted


def _is_word(word: str, named: str) -> bool:
    """Whether a word of a command is the one that is named, or short for it: `i` for `install`, `deployment/web` for `deployment`."""
    given, wanted = word.lower().split("/")[0] or word, named.lower()
    return given == wanted or (len(given) <= 2 and given.isalpha() and wanted.startswith(given))


def _is_place(word: str, place: str) -> bool:
    return word == place or (place.isdigit() and word.lstrip("0") == place.lstrip("0"))


def _has_flag(words: Sequence[str], flag: str) -> bool:
    """Whether a flag is given as it is named, in a bundle (`-rf`), or long for short and the other way round (`-f`, `--force`)."""
    name, _, value = flag.partition("=")
    for place, word in enumerate(words):
        given, _, its_value = word.partition("=")
        if given == name or (not value and given.startswith(f"{name}.")):
            following = words[place + 1] if place + 1 < len(words) else ""
            return not value or value in (its_value, following)
    if value:
        return False
    letters = "".join(word[1:] for word in words if _is_bundle(word))
    if _is_bundle(name):
        longs = "".join(word[2] for word in words if word.startswith("--") and "-" not in word[2:])
        return all(letter in letters or letter.lower() in longs for letter in name[1:])
    if name.startswith("--") and "-" not in name[2:]:
        return any(_stands_for(words, place, name) for place, word in enumerate(words) if _is_bundle(word))
    return False


def _stands_for(words: Sequence[str], place: int, name: str) -> bool:
    """Whether the letters at this place stand for a long flag. One that is followed by a file names that: `apply -f web.yaml`."""
    following = words[place + 1] if place + 1 < len(words) else ""
    return name[2] in words[place][1:].lower() and not ("." in following or "/" in following)


def _is_bundle(word: str) -> bool:
    return 2 <= len(word) <= _LONGEST_BUNDLE and word[0] == "-" and word[1:].isalnum()


def _rehearses(words: Sequence[str]) -> bool:
    return any(word.lstrip("-").partition("=")[0] in _REHEARSALS for word in words if word.startswith("-"))


def _split(pattern: Sequence[str]) -> list[list[str]]:
    """The words of a pattern by the stages of a pipeline."""
    stages: list[list[str]] = [[]]
    for word in pattern:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return [stage for stage in stages if stage] or [[]]


def _bare(word: str) -> str:
    stripped = word.strip(_AROUND)
    return stripped.rstrip(".") if len(stripped) > 1 and stripped.strip(".") else stripped


def _named(word: str) -> str:
    """The program that a word names, "" if it cannot be one."""
    found = _PROGRAM.fullmatch(word)
    return _VERSION.sub("", found[1]) if found else ""


def _pipelines(text: str) -> Iterator[list[list[_Word]]]:
    """Words by the stages of each pipeline. Where a bracket follows a name at once it is no shell, and there is none."""
    stages, is_code, is_joined = [list[_Word]()], False, False
    for token in (*_TOKEN.finditer(text), None):
        kind = token.lastgroup if token else "end"
        piece = token[0] if token else ""
        if kind in ("quoted", "plain"):
            word = _Word(piece.strip("\"'") if kind == "quoted" else piece, kind == "quoted")
            if is_joined and stages[-1]:
                last = stages[-1].pop()
                word = _Word(last.text + word.text, last.is_quoted)
            stages[-1].append(word)
        elif kind == "pipe":
            stages.append([])
        elif kind == "end":
            is_code = is_code or (piece == "(" and is_joined)
            if piece in ("\n", ""):
                if not is_code and stages[0]:
                    yield stages
                is_code = False
            elif not is_code and stages[0]:
                yield stages
            stages = [[]]
        is_joined = kind in ("quoted", "plain")


def _is_command(words: Sequence[_Word]) -> bool:
    rest = words[_beginning(words) :]
    if not rest or rest[0].is_quoted or not _named(rest[0].text) or rest[0].text in NEGATORS:
        return False
    if any(word.text.lower() in _PROSE or word.text in ("=", "=>") for word in rest if not word.is_quoted):
        return False
    return len(rest) <= _SHORT or _is_marked(words)


def _is_marked(words: Sequence[_Word]) -> bool:
    """Whether something in a command can hardly stand in a sentence."""
    rest = words[_beginning(words) :]
    return _named(rest[0].text) in _READING or any(
        word.is_quoted or _FLAG.match(word.text) or _PLACE.search(word.text) for word in rest[1:]
    )


def _beginning(words: Sequence[_Word]) -> int:
    """Where the first program stands: after keywords, prompts and variables."""
    skipped = (place for place, word in enumerate(words) if word.text not in _KEYWORDS | {"$", ">"} and not _ASSIGNMENT.match(word.text))
    return next(skipped, len(words))


def _readings(words: Sequence[_Word]) -> Iterator[Command]:
    """A command as it stands, and as what it runs: that after `sudo`, `--` or `run`."""
    texts = tuple(word.text for word in words)
    wrappers = frozenset[str]()
    places = dict.fromkeys([_beginning(words)])
    for _ in range(_MOST_READINGS):
        place = next((place for place, is_read in places.items() if not is_read), None)
        if place is None:
            return
        places[place] = True
        program = "" if words[place].is_quoted else _named(texts[place])
        if program:
            yield Command(program, texts[place + 1 :], wrappers)
            first, _, second = program.partition("-")
            if second:  # `docker-compose up` is `docker compose up`
                yield Command(first, (second, *texts[place + 1 :]), wrappers)
            wrappers |= {program} & _WRAPPERS
            places = dict.fromkeys(_run_places(program, texts, place + 1)) | places


def _run_places(program: str, texts: Sequence[str], start: int) -> Iterator[int]:
    """Where the command that a program runs may begin: after its own flags and their values, or after a word that says so."""
    if program in _WRAPPERS:
        yield from islice(_no_flags(texts, start), _WRAPPED)
    for marker in ("--", "exec", "run", *(("-m",) if program == "python" else ())):
        if marker in texts[start:]:
            yield from islice(_no_flags(texts, texts.index(marker, start) + 1), 1)


def _no_flags(texts: Sequence[str], start: int) -> Iterator[int]:
    return (place for place in range(start, len(texts)) if not _FLAG.match(texts[place]) and not _ASSIGNMENT.match(texts[place]))


def _acting(words: Sequence[_Word]) -> list[_Word]:
    is_reading = any(_named(word.text) in _READING for word in words[:1])
    return [word for word in words[: 1 if is_reading else None] if not word.is_quoted]


def _run_texts(words: Sequence[_Word]) -> Iterator[str]:
    """The texts in quotes that one of the programs before them runs."""
    if any(_named(word.text) in _RUNNING for word in words if not word.is_quoted):
        yield from (word.text for word in words if word.is_quoted)
