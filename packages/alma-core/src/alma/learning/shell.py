"""Shell commands in a text.

A text is read as shell only where it looks like it. What a command is given is data, unless the program runs it: `grep "rm -rf" notes` deletes
nothing, but `sudo rm -rf build`, `xargs rm -rf` and `sh -c "rm -rf build"` do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from alma.learning.vocabulary import NEGATORS
from alma.text import STOPWORDS

READ_CHARS = 20_000
"""Commands are looked for in this many characters of a text."""

MOST_COMMANDS = 200
"""How many different commands of a text are kept."""

WRAPPERS = frozenset(
    ("command", "doas", "env", "exec", "ionice", "nice", "nohup", "npx", "stdbuf", "sudo", "time", "timeout", "watch", "xargs")
)
"""Programs that run the command after them."""

SHELLS = frozenset(("bash", "dash", "fish", "ksh", "sh", "zsh"))

_ELSEWHERE = frozenset(("ssh",))
"""Programs that run the command after them, behind the name of a place."""
_RUNNING = frozenset(("bash", "eval", "mysql", "node", "perl", "psql", "python", "ruby", "sh", "sqlite", "ssh", "su", "zsh"))
"""Programs that run a text in quotes."""
_READING = frozenset(("ack", "ag", "cat", "echo", "egrep", "grep", "less", "man", "printf", "rg", "which"))
"""Programs that only read or show what they are given."""
_KEYWORDS = frozenset(("do", "else", "if", "then", "while", "!", "$", ">"))
"""Words that stand before a command; among them two prompts."""
_PROSE = STOPWORDS - frozenset("all d do down for get i if in m more no off on once out s same t up while".split())  # noqa: SIM905
"""Words that do not stand in commands."""

_LONG_OPTIONS = {
    "curl": {"k": "--insecure"},
    "git clean": {"n": "--dry-run"},
    "git commit": {"n": "--no-verify"},
    "make": {"n": "--dry-run"},
    "pytest": {"x": "--exitfirst"},
    "rsync": {"n": "--dry-run"},
}
"""Short options whose long ones begin with another letter, or have several words."""
_TAKING_VALUES = {"curl": "AbCdeEFhHmoQrTuwxXyYz", "git": "CcFmtu", "make": "CfIjloW", "pytest": "cknmoprW", "rsync": "BefMT"}
"""Short options behind which the rest of a word is their value: `-mfinal`."""
_LONG_WORDS = {
    "cargo": {"b": "build", "c": "check", "r": "run", "t": "test"},
    "npm": {"add": "install", "clean-install": "ci", "i": "install", "remove": "uninstall", "rm": "uninstall", "t": "test"},
    "pnpm": {"i": "install", "rm": "remove", "t": "test"},
}
"""Commands of programs in other spellings."""
_GIVEN_VALUES = {
    "cargo": frozenset(("-C", "-Z", "--color", "--config")),
    "kubectl": frozenset(
        """
        -c -f -k -l -n -o -p -s --as --as-group --cluster --container --context --field-selector --filename --grace-period --image --kubeconfig
        --kustomize --namespace --output --patch --replicas --selector --server --sort-by --timeout --token --user
        """.split()  # noqa: SIM905 - a list of words reads best as words
    ),
    "npm": frozenset(("-C", "-w", "--cache", "--loglevel", "--prefix", "--registry", "--tag", "--userconfig", "--workspace")),
    "pnpm": frozenset(("-C", "-F", "--dir", "--filter", "--prefix", "--registry", "--reporter")),
}
"""Options of which the next word is the value."""
_FOLLOWING = frozenset(("-f", "-p"))
"""Options that have no value in `kubectl logs`: follow, previous."""
_TWO_WORD_VERBS = frozenset(("rollout", "set"))
_RESOURCES = {
    "cm": "configmap", "deploy": "deployment", "ds": "daemonset", "ing": "ingress", "no": "node", "ns": "namespace", "po": "pod",
    "pvc": "persistentvolumeclaim", "sts": "statefulset", "svc": "service",
}  # fmt: skip
_RESOURCES |= {f"{name}s": name for name in _RESOURCES.values()}
"""Short names and plurals of what `kubectl` works on."""
_WRITTEN_AS = {"gradlew": "gradle", "mvnw": "mvn"}
"""Scripts in a project that stand for a program."""

_TOKEN = re.compile(
    r"""(?P<space>[^\S\n]+) | (?P<end>&&|\|\||[;&\n]|\$\(|[()]) | (?P<pipe>\|)
      | (?P<quoted>"(?:[^"\\]|\\.?)*(?:"|\Z) | (?<!\w)'[^']*(?:'|\Z))
      | (?P<plain>(?:[^\s"'|;&()\\$]|(?<=\w)'|\\.?|\$(?!\())+)
      | .
    """,
    re.VERBOSE | re.DOTALL,
)
_PROGRAM = re.compile(r"(?:[\w.~-]*/)*([a-z][\w+.-]*|[A-Z][a-z]+-[A-Z]\w+)")
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_BUNDLE = re.compile(r"-[A-Za-z\d]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_FLAG = re.compile(r"--?[A-Za-z\d]")
_PATH = re.compile(r"^[/~.$*]|/$|/.*[/.]|[<>]")
_SHORT = 4
"""A text of at most this many words may be a command though nothing marks it as one: `git stash drop`."""
_MOST_READINGS, _WRAPPED = 8, 3


@dataclass(frozen=True, slots=True)
class Command:
    """A program with what follows it in order, quotes taken away. `wrappers` are the programs that run it, `version` is that in its name."""

    program: str
    words: tuple[str, ...]
    wrappers: frozenset[str] = frozenset()
    version: str = ""


Stage = tuple[Command, ...]
"""One stage of a pipeline, in each way in which it can be read: as `sudo`, and as what that runs."""

Pipeline = tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a text.

    `instructions` are the texts that its programs run, `programs` all that may be run, `unquoted` the words outside of quotes but for what programs
    only read or show. `is_certain` says that the text can be nothing but shell.
    """

    pipelines: tuple[Pipeline, ...] = ()
    instructions: tuple[str, ...] = ()
    programs: frozenset[str] = frozenset()
    unquoted: str = ""
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    is_quoted: bool


def commands_in(text: str) -> Commands:
    """Reads a text; no commands where it does not look like shell."""
    read = [pipeline for pipeline in _pipelines(text[:READ_CHARS]) if _is_command(pipeline[0])]
    stages = [words for pipeline in read for words in pipeline]
    pipelines = tuple(islice(dict.fromkeys(tuple(map(_readings, pipeline)) for pipeline in read), MOST_COMMANDS))
    return Commands(
        pipelines,
        tuple(instruction for words in stages for instruction in _instructions(words)),
        programs=frozenset(command.program for pipeline in pipelines for stage in pipeline for command in stage),
        unquoted=" ".join(word.text for words in stages for word in _acting(words)),
        is_certain=any(len(pipeline) > 1 or _is_marked(pipeline[0]) for pipeline in read),
    )


def program_of(word: str) -> str:
    """The program that a word names, without path and version; "" if it cannot name one."""
    found = _PROGRAM.fullmatch(word)
    name = _VERSION.sub("", found[1]) if found else ""
    return _WRITTEN_AS.get(name, name)


def version_of(word: str) -> str:
    """Returns the version in the name of a program: "3.12" of `python3.12`."""
    found = _VERSION.search(word)
    return found[0] if found else ""


def written_out(program: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns the words after a program with what is short written out, where that is known: `i` for `install`, `-k` for `--insecure`."""
    return _with_long_options(program, _with_long_words(program, words))


def _with_long_words(program: str, words: Sequence[str]) -> Sequence[str]:
    if program == "kubectl":
        return _with_long_resources(words)
    known = _LONG_WORDS.get(program)
    if not known:
        return words
    place = next(_plain_places(words, _GIVEN_VALUES[program]), len(words))
    return [known.get(word, word) if at == place else word for at, word in enumerate(words)]


def _with_long_resources(words: Sequence[str]) -> Sequence[str]:
    """The words after `kubectl` with the names of resources written out: right behind the verb, and before a slash."""
    options = _GIVEN_VALUES["kubectl"]
    verb = next((words[place] for place in _plain_places(words, options)), "")
    places = [*_plain_places(words, options - _FOLLOWING if verb == "logs" else options)]
    after_verb = places[2 if verb in _TWO_WORD_VERBS else 1 :]
    result = [*words]
    for place in after_verb:
        sort, slash, name = words[place].partition("/")
        if slash or place == after_verb[0]:
            result[place] = _RESOURCES.get(sort, sort) + slash + name
    return result


def verb_of(command: Command) -> Sequence[str]:
    """The verb of a command: its first word that is no option, in `rollout undo` the first two, in `service nginx restart` the last one."""
    places = _plain_places(command.words, _GIVEN_VALUES.get(command.program, frozenset()))
    words = [command.words[place] for place in places]
    if command.program == "service":
        return words[-1:]
    return words[: 2 if words[:1] and words[0] in _TWO_WORD_VERBS else 1]


def _plain_places(words: Sequence[str], with_values: frozenset[str]) -> Iterator[int]:
    """The places of the words that are neither options nor their values, up to `--`; a toolchain, as in `cargo +nightly`, is an option."""
    is_value = False
    for place, word in enumerate(words):
        if word == "--":
            return
        if not (is_value or is_flag(word) or word.startswith("+")):
            yield place
        is_value = not is_value and word in with_values


def _with_long_options(program: str, words: Sequence[str]) -> tuple[str, ...]:
    known = next(
        (_LONG_OPTIONS[name] for name in (program, *(f"{program} {word}" for word in words)) if name in _LONG_OPTIONS), None
    )
    if not known:
        return tuple(words)
    result: list[str] = []
    for word in words:
        bundle = word[1:] if _BUNDLE.fullmatch(word) else ""
        flags = next((bundle[:place] for place, letter in enumerate(bundle) if letter in _TAKING_VALUES[program]), bundle)
        letters = [letter for letter in flags if letter in known]
        rest = (
            "-" * bool(bundle) + "".join(letter for letter in flags if letter not in letters) + bundle[len(flags) :]
            if bundle
            else word
        )
        result += [*([] if letters and rest == "-" else [rest]), *(known[letter] for letter in letters)]
    return tuple(result)


def is_flag(word: str) -> bool:
    """Returns True if a word is an option of a command."""
    return _FLAG.match(word) is not None


def is_path(word: str) -> bool:
    """Returns True if a word can hardly be anything but a path, a pattern of paths or a variable."""
    return _PATH.search(word) is not None


def _pipelines(text: str) -> Iterator[list[list[_Word]]]:
    """The words of each pipeline, stage by stage. A bracket right behind a name makes the rest of its line code, not shell."""
    stages: list[list[_Word]] = [[]]
    is_code = is_joined = False
    for token in _TOKEN.finditer(text):
        kind, piece = token.lastgroup, token[0]
        if kind in ("quoted", "plain"):
            _add(stages[-1], piece, is_quoted=kind == "quoted", is_joined=is_joined)
        elif kind == "pipe":
            stages.append([])
        elif kind == "end":
            is_code = is_code or (piece == "(" and is_joined)
            if stages[0] and not is_code:
                yield stages
            stages, is_code = [[]], is_code and piece != "\n"
        is_joined = kind in ("quoted", "plain")
    if stages[0] and not is_code:
        yield stages


def _add(words: list[_Word], piece: str, *, is_quoted: bool, is_joined: bool) -> None:
    """Adds a piece as a word of its own, or to the last one if no space is between them."""
    text = piece.strip("\"'") if is_quoted else piece
    if is_joined and words:
        words[-1] = _Word(words[-1].text + text, words[-1].is_quoted)
    else:
        words.append(_Word(text, is_quoted))


def _is_command(words: Sequence[_Word]) -> bool:
    rest = words[_beginning(words) :]
    if not rest or rest[0].is_quoted or not program_of(rest[0].text) or rest[0].text in NEGATORS:
        return False
    if any(word.text.lower() in _PROSE or word.text in ("=", "=>") for word in rest if not word.is_quoted):
        return False
    return len(rest) <= _SHORT or _is_marked(words)


def _is_marked(words: Sequence[_Word]) -> bool:
    """Returns True if something in a command can hardly stand in a sentence."""
    rest = words[_beginning(words) :]
    return program_of(rest[0].text) in _READING or any(
        word.is_quoted or is_flag(word.text) or is_path(word.text) for word in rest[1:]
    )


def _beginning(words: Sequence[_Word]) -> int:
    """Returns where the first program stands: after keywords, prompts and variables."""
    places = (place for place, word in enumerate(words) if word.text not in _KEYWORDS and not _ASSIGNMENT.match(word.text))
    return next(places, len(words))


def _readings(words: Sequence[_Word]) -> Stage:
    """A command as it stands, and as what it runs: that after `sudo`, `--` or `run`."""
    texts = tuple(word.text for word in words)
    waiting, found = [_beginning(words)], list[Command]()
    for place in waiting:
        program = "" if place >= len(words) or words[place].is_quoted else program_of(texts[place])
        if not program or len(found) >= _MOST_READINGS:
            continue
        wrappers = frozenset(command.program for command in found) & WRAPPERS
        found.append(Command(program, written_out(program, texts[place + 1 :]), wrappers, version_of(texts[place])))
        first, _, second = program.partition("-")
        if second:  # `docker-compose up` is `docker compose up`
            found.append(Command(first, (second, *texts[place + 1 :]), wrappers))
        waiting += [run for run in _run_places(program, texts, place + 1) if run not in waiting]
    return tuple(found)


def _run_places(program: str, texts: Sequence[str], start: int) -> Iterator[int]:
    """Returns where the command that a program runs may begin: after its own flags and their values, or after a word that says so."""
    if program in WRAPPERS or program in _ELSEWHERE:
        yield from islice(_no_flags(texts, start), _WRAPPED)
    for marker in ("--", "exec", "run", *(("-m",) if program == "python" else ())):
        if marker in texts[start:]:
            yield from islice(_no_flags(texts, texts.index(marker, start) + 1), 1)


def _no_flags(texts: Sequence[str], start: int) -> Iterator[int]:
    return (place for place in range(start, len(texts)) if not is_flag(texts[place]) and not _ASSIGNMENT.match(texts[place]))


def _acting(words: Sequence[_Word]) -> list[_Word]:
    """The words outside of quotes; of a program that only reads or shows, that program alone."""
    is_reading = any(program_of(word.text) in _READING for word in words[:1])
    return [word for word in words[: 1 if is_reading else None] if not word.is_quoted]


def _instructions(words: Sequence[_Word]) -> Iterator[str]:
    """The texts in quotes that one of the programs runs."""
    if any(program_of(word.text) in _RUNNING for word in words if not word.is_quoted):
        yield from (word.text for word in words if word.is_quoted)
