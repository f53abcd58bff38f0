"""Shell commands in a text.

A text is read as shell only where it looks like it. What a command is given is data, unless the program runs it: `grep "rm -rf" notes` deletes
nothing, but `sudo rm -rf build`, `xargs rm -rf` and `sh -c "rm -rf build"` do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from alma_learning.word_lists import read_lists, read_pairs

READ_CHARS, MOST_PIPELINES = 20_000, 200
"""Commands are looked for in so many characters of a text, and so many are kept."""

_WORDS = read_lists("commands")
WRAPPERS, STOP = _WORDS["wrappers"], read_lists("words")["stop"]
_PROSE = STOP - _WORDS["in_commands"]
_WRITTEN_AS = {"gradlew": "gradle", "mvnw": "mvn"}
_TOKEN = re.compile(
    r"""(?P<end>&&|\|\||[;&\n]|\$\(|[()]) | (?P<pipe>\|)
      | (?P<word>(?:"(?:[^"\\]|\\.?)*(?:"|\Z) | (?<!\w)'[^']*(?:'|\Z) | [^\s"'|;&()\\$] | (?<=\w)' | \\.? | \$(?!\())+)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTES = re.compile(r"\"|(?<!\w)'|'(?!\w)")
_PROGRAM = re.compile(r"(?:[\w.~-]*/)*([a-z][\w+.-]*|[A-Z][a-z]+-[A-Z]\w+)")
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_FLAG = re.compile(r"--?[A-Za-z\d]")
_BUNDLE = re.compile(r"-[A-Za-z\d]{1,4}")
_PATH = re.compile(r"^[/~.$*]|/$|/.*[/.]|[<>]")
_SHORT, _MOST_READINGS, _WRAPPED = 4, 8, 3
"""A text of at most so many words may be a command though nothing marks it as one: `git stash drop`; in how many ways a command is read; and how
many words behind a wrapper may be what that runs."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program with what follows it, quotes taken away. `wrappers` are the programs that run it."""

    program: str
    words: tuple[str, ...]
    wrappers: frozenset[str] = frozenset()


Stage = tuple[Command, ...]
"""One stage of a pipeline, in each way in which it can be read: as `sudo`, and as what that runs."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a text.

    `instructions` are the texts that its programs run, `unquoted` the words outside of quotes but for what programs only read or show. `is_certain`
    says that the text can be nothing but shell.
    """

    pipelines: tuple[tuple[Stage, ...], ...]
    instructions: tuple[str, ...]
    programs: frozenset[str]
    unquoted: str
    is_certain: bool


def read_commands(text: str) -> Commands:
    """Returns the commands of a text; none where it does not look like shell."""
    read = [stages for stages in _pipelines(text[:READ_CHARS]) if _is_command(stages[0])]
    pipelines = tuple(islice(dict.fromkeys(tuple(map(_readings, stages)) for stages in read), MOST_PIPELINES))
    stages = [words for pipeline in read for words in pipeline]
    return Commands(
        pipelines,
        tuple(word for words in stages for word in _instructions(words)),
        frozenset(command.program for pipeline in pipelines for stage in pipeline for command in stage),
        " ".join(word for words in stages for word in words[: 1 if _reads(words) else None] if not _is_quoted(word)),
        any(len(pipeline) > 1 or _is_marked(pipeline[0]) for pipeline in read),
    )


def program_of(word: str) -> str:
    """Returns the program that a word names, without path and version; "" if it cannot name one."""
    found = _PROGRAM.fullmatch(word)
    name = _VERSION.sub("", found[1]) if found else ""
    return _WRITTEN_AS.get(name, name)


def is_flag(word: str) -> bool:
    """Returns True if a word is an option of a command."""
    return _FLAG.match(word) is not None


def is_bundle(word: str) -> bool:
    """Returns True if a word is one or more options of a letter: `-rf`."""
    return _BUNDLE.fullmatch(word) is not None


def is_path(word: str) -> bool:
    """Returns True if a word can hardly be anything but a path, a pattern of paths or a variable."""
    return _PATH.search(word) is not None


def write_out(program: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns the words after a program with what is short written out, where that is known: `i` for `install`, `-k` for `--insecure`."""
    known = _long_forms().get(program, {})
    known = known | _long_forms().get(f"{program} {next((word for word in words if not is_flag(word)), '')}", {})
    verb = next((place for place, word in enumerate(words) if word in known and not is_flag(word)), None)
    written = [known[word] if place == verb else word for place, word in enumerate(words)]
    return tuple(form for word in written for form in _unbundled(word, known))


@cache
def _long_forms() -> dict[str, dict[str, str]]:
    forms: dict[str, dict[str, str]] = {}
    for key, long in read_pairs("options")["long"].items():
        program, _, short = key.rpartition(" ")
        forms.setdefault(program, {})[short] = long
    return forms


def _unbundled(word: str, known: dict[str, str]) -> list[str]:
    letters = [letter for letter in word[1:] if f"-{letter}" in known] if is_bundle(word) else []
    rest = "".join(letter for letter in word if letter not in letters)
    return [*([rest] if rest != "-" else []), *(known[f"-{letter}"] for letter in letters)] if letters else [word]


def _pipelines(text: str) -> Iterator[list[list[str]]]:
    """The words of each pipeline, stage by stage. A bracket right behind a word makes the rest of its line code, not shell."""
    stages: list[list[str]] = [[]]
    is_code, word_end = False, -1
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "word":
            stages[-1].append(token[0])
            word_end = token.end()
        elif token.lastgroup == "pipe":
            stages.append([])
        else:
            is_code = is_code or (token[0] == "(" and word_end == token.start())
            if stages[0] and not is_code:
                yield stages
            stages, is_code = [[]], is_code and token[0] != "\n"
    if stages[0] and not is_code:
        yield stages


def _is_quoted(word: str) -> bool:
    return word[0] in "\"'"


def _plain(word: str) -> str:
    return _QUOTES.sub("", word)


def _is_command(words: Sequence[str]) -> bool:
    rest = words[_beginning(words) :]
    if not rest or not program_of(rest[0]) or rest[0] in read_lists("denials")["denying"]:
        return False
    if any(word.lower() in _PROSE or word in ("=", "=>") for word in rest):
        return False
    return len(rest) <= _SHORT or _is_marked(words)


def _is_marked(words: Sequence[str]) -> bool:
    """Returns True if something in a command can hardly stand in a sentence."""
    rest = words[_beginning(words) :]
    return _reads(rest) or any(_is_quoted(word) or is_flag(word) or is_path(word) for word in rest[1:])


def _reads(words: Sequence[str]) -> bool:
    return bool(words) and program_of(words[0]) in _WORDS["reading"]


def _beginning(words: Sequence[str]) -> int:
    """Returns where the first program stands: after keywords, prompts and variables."""
    places = (place for place, word in enumerate(words) if word not in _WORDS["before"] and not _ASSIGNMENT.match(word))
    return next(places, len(words))


def _readings(words: Sequence[str]) -> Stage:
    """A command as it stands, and as what it runs: that after `sudo`, `--` or `run`."""
    texts = tuple(map(_plain, words))
    waiting, found = [_beginning(words)], list[Command]()
    for place in waiting:
        program = "" if place >= len(words) or _is_quoted(words[place]) else program_of(texts[place])
        if not program or len(found) >= _MOST_READINGS:
            continue
        wrappers = frozenset(command.program for command in found) & WRAPPERS
        found.append(Command(program, write_out(program, texts[place + 1 :]), wrappers))
        first, _, second = program.partition("-")
        if second:  # `docker-compose up` is `docker compose up`
            found.append(Command(first, (second, *texts[place + 1 :]), wrappers))
        waiting += [run for run in _run_places(program, texts, place + 1) if run not in waiting]
    return tuple(found)


def _run_places(program: str, texts: Sequence[str], start: int) -> Iterator[int]:
    """Returns where the command that a program runs may begin: after its own flags and their values, or after a word that says so."""
    if program in WRAPPERS:
        yield from islice(_no_flags(texts, start), _WRAPPED)
    for marker in ("--", "exec", "run", *(("-m",) if program == "python" else ())):
        if marker in texts[start:]:
            yield from islice(_no_flags(texts, texts.index(marker, start) + 1), 1)


def _no_flags(texts: Sequence[str], start: int) -> Iterator[int]:
    return (place for place in range(start, len(texts)) if not is_flag(texts[place]) and not _ASSIGNMENT.match(texts[place]))


def _instructions(words: Sequence[str]) -> list[str]:
    """The texts in quotes that one of the programs runs."""
    is_run = any(program_of(word) in _WORDS["running"] for word in words if not _is_quoted(word))
    return [_plain(word) for word in words if _is_quoted(word)] if is_run else []
