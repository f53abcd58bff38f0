"""Command lines: which command an exit status judges, what kind it is, and when two are the same."""

import posixpath
import re

from alma_agents import options

TEST, BUILD, LINT, RUN, INSTALL = "test", "build", "lint", "run", "install"
READ, CHANGE = "read", "change"
JUDGED = frozenset((TEST, BUILD, LINT, RUN, INSTALL))
"""Kinds whose exit status is a verdict. The status of a search or a comparison is an answer."""

_INTERRUPTED = frozenset((124, 129, 130, 137, 141, 143))
"""Exit codes of a time limit and of signals from outside: they say nothing about the work. A crash (134, 139) does."""

_TESTS = r"(pytest|py\.test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|behave|ava)$"
_LINTS = r"(ruff|mypy|flake8|pylint|pyright|eslint|prettier|black|isort|tsc|clippy|golangci-lint|shellcheck|rubocop|stylelint|lint-imports)$"
_BUILDS = r"(make|cmake|ninja|gcc|g\+\+|clang|rustc|webpack|vite|rollup|esbuild|javac|msbuild|bazel|meson)$"
_READS = (
    r"(ls|cat|head|tail|less|more|grep|rg|egrep|fgrep|ag|ack|find|fd|diff|cmp|test|\[|wc|pwd|echo|printf|which|type|whereis|file|stat|du|df|ps|"
    r"env|date|whoami|id|uname|tree|jq|sort|uniq|true|false|sleep|read|history|man|awk|cut|tr|nl|hexdump|xxd|curl|wget|gh|kill|pgrep|lsof|exit|"
    r"command|tee|yes|column|wait|:)$"
)
_CHANGES = r"(cp|mv|rm|mkdir|touch|chmod|chown|ln|sed|patch|tar|unzip|git|docker|systemctl|service|export|source|\.|psql|sqlite3|redis-cli|pkill)$"
_TEST_SCRIPTS = r"(e2e|spec|unit|integration|coverage|cypress|playwright|smoke)"
_BY_WORD = {
    "test": TEST, "t": TEST, "check": LINT, "lint": LINT, "typecheck": LINT, "format": LINT, "fmt": LINT, "clippy": LINT, "vet": LINT,
    "build": BUILD, "compile": BUILD, "package": BUILD, "assemble": BUILD, "bundle": BUILD,
    "install": INSTALL, "add": INSTALL, "sync": INSTALL, "ci": INSTALL, "update": INSTALL, "upgrade": INSTALL, "i": INSTALL, "download": INSTALL,
    "restore": INSTALL, "mod": INSTALL, "lock": INSTALL, "pub": INSTALL, "uninstall": INSTALL, "remove": INSTALL, "get": INSTALL, "tidy": INSTALL,
    "start": RUN, "run": RUN, "dev": RUN, "serve": RUN, "exec": RUN, "migrate": RUN, "publish": RUN, "deploy": RUN,
}  # fmt: skip
_MANAGERS = frozenset(
    ("npm", "pnpm", "yarn", "bun", "cargo", "go", "dotnet", "mvn", "mvnw", "gradle", "gradlew", "pip", "pip3", "poetry", "uv", "pipenv",
     "apt", "apt-get", "brew", "gem", "bundle", "composer", "mix", "just", "rake", "make", "deno", "swift", "sbt", "conda", "flutter",
     "dart", "stack", "cabal")
)  # fmt: skip
_RUNNERS = {
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "npx": (),
    "bunx": (),
    "uvx": (),
    "bundle": ("exec",),
    "pnpm": ("exec",),
}
_PYTHON = re.compile(r"(python|python3|py)(\d?\.\d+)?")
_WRAPPERS = frozenset(("sudo", "time", "nohup", "command", "exec", "nice", "stdbuf", "env", "xvfb-run", "caffeinate"))
_QUIET = re.compile(
    r"(-q+|-v+|-s|-x|-ra|-rA|-l|--verbose|--quiet|--silent|--no-header|--color(=.*)?|--tb=.*|--maxfail=.*|--no-cov|--cache-clear|--reporter=.*"
    r"|--no-color|--disable-warnings|-W.*|--durations=.*|--runInBand|--exitfirst|--capture=.*)$"
)
_JOBS = re.compile(r"-[nj]\d*$")
_WORKERS = {"-n": ("pytest", "py.test"), "-j": ("make", "ninja", "cmake", "cargo", "ctest")}
"""Options that only say how much is done at once, with the programs of which that is true: `make -n` runs nothing."""
_TOKEN = re.compile(
    r"""(?:\d?[<>]+&?|&>+)\s*[^\s;&|<>()]*|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\;&|<>()])+|\|\||&&|[;&|()\n]"""
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_HARMLESS = frozenset(("echo", "printf", "pwd", "true", "sleep"))
_FILTERS = frozenset(("tail", "tee", "cat", "sort", "nl", "cut", "tr", "column", "wc"))
"""Last parts of a pipe that do not fail by themselves: not `grep`, which may find nothing, and not `head`, which ends a pipe early."""
_COMPOUND = frozenset(("if", "for", "while", "until", "case", "select", "function", "{", "then", "do", "else", "elif", "trap"))
_CONTAINERS = frozenset(("docker", "podman", "docker-compose"))
_SHELLS = frozenset(("sh", "bash", "zsh", "dash"))
_LONGEST = 20_000
"""Characters of a line that is read. What is longer writes a file or is data."""

_COMMENT = re.compile(r"""('[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s#'"\\][^\s'"\\]*)|(?<!\S)#[^\n]*""")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_SILENT = frozenset(("cd", "export", "source", ".", "set", "pushd", "popd", "unset", "alias", "ulimit", "activate"))


class Command:
    """A command whose exit status is that of the line. `kind` says what it is for, `words` names the program and its options, `targets` what it is
    applied to. `given` are all its words, `shown` is the line as a person reads it. `runner` is what ran it, as `uv run`, and `variables`
    are the names of those that were set for it: the same command called otherwise is the same work, but may fail where that passes."""

    __slots__ = ("given", "kind", "runner", "shown", "targets", "variables", "words")

    def __init__(
        self,
        kind: str,
        words: tuple[str, ...],
        targets: tuple[str, ...],
        shown: str,
        *,
        given: tuple[str, ...] = (),
        runner: str = "",
        variables: tuple[str, ...] = (),
    ) -> None:
        self.kind, self.words, self.targets, self.shown = kind, words, targets, shown
        self.given, self.runner, self.variables = given, runner, variables

    @property
    def key(self) -> str:
        """Names the command whatever its order of targets, and however much it prints."""
        return " ".join((*self.words, *self.targets))

    @property
    def by(self) -> str:
        """Way in which the command was called: the names of its variables, and its runner."""
        return " ".join((*(f"{name}=…" for name in self.variables), *([self.runner] if self.runner else ())))

    @property
    def call(self) -> str:
        """Names the command and how it was called."""
        return f"{self.by} {self.key}".strip()

    def ways_beside(self, other: "Command") -> list[str]:
        """Returns in what it was called otherwise than another, in words. Values of variables are not quoted: they may be secret."""
        run_as = [self._run_as] if self.runner != other.runner or self.places(other) else []
        return [*run_as, *(f"set {name}" for name in self.variables if name not in other.variables)]

    @property
    def _run_as(self) -> str:
        return f"run it as `{f'{self.runner} {self.shown}'.strip()}`"

    def is_called(self, strategy: str) -> bool:
        """Returns True when a strategy says to call it as it was called."""
        return set(strategy.split("; ")) <= {self._run_as, *(f"set {name}" for name in self.variables)}

    def covers(self, other: "Command") -> bool:
        """Returns True when passing means that the other passes, too: the same command on the same targets, or on all of theirs."""
        if self.words != other.words:
            return False
        if not self.targets or self.targets == other.targets:
            return self.kind == TEST or self.targets == other.targets
        if self.kind not in (TEST, LINT) or not other.targets:
            return False
        return all(any(_is_within(mine, theirs) for mine in self.targets) for theirs in other.targets)

    def places(self, other: "Command") -> bool:
        """Returns True when it is another command with options added that say with what and where it works."""
        added, rest = [], iter(other.given)
        expected = next(rest, None)
        for word in self.given:
            if word == expected:
                expected = next(rest, None)
            else:
                added.append(word)
        return expected is None and self.kind == other.kind and options.are_places(self.words[0], added)


def _is_within(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith((outer.rstrip("/") + "/", outer + "::"))


def read(line: str, root: str = "") -> tuple[list[tuple[str, list[str]]], bool]:
    """Returns the commands of a line with the operator before each: pairs of operator and words. `True`: the last one runs in the background."""
    text = _without_heredocs(line)[0].replace("\\\n", " ")
    text = _COMMENT.sub(lambda found: found[1] or "", text).strip()
    found: list[tuple[str, list[str]]] = []
    words: list[str] = []
    operator = ""
    for word in _TOKEN.findall(text.replace("|&", "|")):
        if word in ("&&", "||", ";", "|", "&", "\n"):
            if words:
                found.append((operator, words))
                words = []
                operator = word
            elif found and word != "\n":
                operator = word
        elif word in "()" or re.match(r"\d?[<>]|&>", word):
            continue
        else:
            words.append(_unquoted(word, root))
    if words:
        found.append((operator, words))
    trailing = text.rstrip().endswith("&") and not text.rstrip().endswith("&&")
    return found, trailing


def _without_heredocs(line: str) -> tuple[str, str]:
    """Returns a line without the bodies of its here-documents, and those bodies."""
    bodies = []
    while found := _HEREDOC.search(line):
        head, rest = line[: found.start()], line[found.end() :]
        first, _, body = rest.partition("\n")
        end = re.search(rf"^\s*{found[2]}\s*$", body, re.MULTILINE)
        bodies.append(body[: end.start()] if end else body)
        line = f"{head}{first}\n{body[end.end() :] if end else ''}"
    return line, "".join(bodies)


def _unquoted(part: str, root: str) -> str:
    plain = re.sub(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"", lambda found: found[1] if found[1] is not None else found[2], part)
    if root and plain.startswith(root.rstrip("/") + "/"):
        plain = plain[len(root.rstrip("/")) + 1 :]
    return plain


def judged(line: str, ok: bool, root: str = "", base: str = "") -> Command | None:
    """Returns the command that the exit status of a line judges, `None` if that is none or more than one could have failed.

    A pipe has the status of its last part, `;` and a line end that of the last command, unless `set -e` stops before; after `||` a success says
    nothing. What loops and conditions end with is not judged. `root` is the folder where it runs, `base` that of the repository.
    """
    found = _chosen(line, ok, root, base, 0)
    return found[0] if found else None


def settled(line: str, ok: bool | None, root: str = "", base: str = "") -> list[Command]:
    """Returns the commands of which a status says that they passed, or the one of which it says that it failed; `ok` is `None` without a status."""
    found = [] if ok is None else _chosen(line, ok, root, base, 0)
    return found if ok else found[:1]


def _chosen(line: str, ok: bool, root: str, base: str, depth: int) -> list[Command]:
    """Returns the commands that a status proves something about, the last one first."""
    if len(line) > _LONGEST:
        return []
    parts, in_background = read(line, root)
    whole: list[tuple[str, list[str]]] = [(operator, _Called(words)) for operator, words in parts]
    if not whole or in_background or any(words[:1] == ["!"] or (words[:1] and words[0] in _COMPOUND) for _, words in whole):
        return []
    if depth and ["exit", "$?"] in [words for _, words in whole]:  # between double quotes the outer shell fills in its own status
        return []
    if len(whole) > 1 and whole[-1][1] == ["exit", "$?"] and whole[-1][0] in (";", "\n"):
        whole = whole[:-1]
    if any(words[:1] == ["exit"] for _, words in whole[:-1]):
        return []
    settings = [words for _, words in whole if words[:1] == ["set"]]
    has_pipefail = any("pipefail" in words for words in settings)
    stops = any(re.match(r"-[a-z]*e", word) for words in settings for word in words[1:]) or any("errexit" in w for w in settings)
    chain = _last_list(whole, stops, ok)
    operators = {operator for operator, _ in chain[1:]}
    links: list[list[list[str]]] = []
    for number, (operator, words) in enumerate(chain):
        if number and operator == "|":
            links[-1].append(words)
        else:
            links.append([words])
    if "||" in operators:
        if operators - {"||", "|"} or (ok and (len(links) > 2 or not _always_fails(links[-1]))):
            return []
        of_links = [_of_pipe(link, ok, has_pipefail) for link in links]
        candidates = [words for words_of in of_links if ok or len(words_of) == 1 for words in words_of]
        serious = [words for words in candidates if words and kind_of(words) in JUDGED][:1]
    else:
        candidates = [words for link in links for words in _of_pipe(link, ok, has_pipefail) if words and words[0] not in _SILENT]
        serious = [words for words in candidates if kind_of(words) in JUDGED][::-1]
        if not ok and (len(serious) != 1 or any(words[0] not in _HARMLESS for words in candidates if words not in serious)):
            return []
    place = _place(whole, root, base)
    return [each for words in serious for each in _unfolded(words, ok, root, base, _without_heredocs(line)[1], place, depth)]


def _of_pipe(link: list[list[str]], ok: bool, has_pipefail: bool) -> list[list[str]]:
    """Returns the commands whose statuses make that of a pipe: with `pipefail` all, else the last one, unless it only reads what another says."""
    if len(link) == 1:
        return link
    if has_pipefail:
        return link if ok else [words for words in link if words and words[0] not in _FILTERS]
    is_fed = all(words and kind_of(words) == READ for words in link[:-1])
    return link[-1:] if is_fed else [[":"]]


def _always_fails(link: list[list[str]]) -> bool:
    (words, *rest) = link
    return not rest and (words == ["false"] or (words[:1] == ["exit"] and words[1:2] not in (["0"], [])))


def _unfolded(words: list[str], ok: bool, root: str, base: str, heredoc: str, place: str, depth: int) -> list[Command]:
    """Returns a command, or those of the script that it runs: `bash -c "pytest | tail"` has the status of a pipe."""
    is_shell = words[0] in _SHELLS and len(words) > 2 and re.fullmatch(r"-[a-z]*c", words[1])
    if (is_shell or words[0] == "eval") and depth < 3:
        return _chosen(words[2] if is_shell else " ".join(words[1:]), ok, root, base, depth + 1)
    return [_command(words, heredoc, place)]


def _place(whole: list[tuple[str, list[str]]], root: str, base: str) -> str:
    """Returns the folder in which a line ends: the same command in another folder is another one, but it is the same in two clones."""
    place = root
    for _, words in whole:
        if words[:1] in (["cd"], ["pushd"]) and len(words) > 1:
            place = posixpath.normpath(posixpath.join(place, words[-1]))
    inside = base.rstrip("/") + "/"
    return "" if base and place + "/" == inside else place.removeprefix(inside) if base else place


def place_of(line: str, root: str = "", base: str = "") -> str:
    """Returns the folder in which a line ends, within `base`, the repository, or within `root`, where it begins; "" for that folder itself."""
    parts = read(line, root)[0] if len(line) <= _LONGEST else []
    return _place([(operator, stripped(words)) for operator, words in parts], root, base or root)


def _last_list(whole: list[tuple[str, list[str]]], stops: bool, ok: bool) -> list[tuple[str, list[str]]]:
    """Returns the commands at the end of a line on which its status depends.

    After `set -e` (`stops`) these are all; but the failure of `a` in `a && b; c` does not stop, so a success says nothing of them. A failure
    after a command in the background may be that of one before it: then there are none.
    """
    ends = [place for place, (operator, _) in enumerate(whole) if place and operator not in ("&&", "||", "|")]
    start = ends[-1] if ends else 0
    while stops and start:
        before = max((place for place in ends if place < start), default=0)
        if whole[start][0] == "&" and not ok:
            return []
        if whole[start][0] == "&" or (ok and {operator for operator, _ in whole[before + 1 : start]} - {"|"}):
            break
        start = before
    return whole[start:]


class _Called(list[str]):
    """The words of a command without what they are wrapped in, and how it was called."""

    def __init__(self, words: list[str]) -> None:
        super().__init__(stripped(words))
        before = words[: len(words) - len(self)]
        self.variables = tuple(sorted({word.partition("=")[0] for word in before if _ASSIGNED.match(word)}))
        runners = [place for place, word in enumerate(before) if _is_runner(word)]
        self.runner = " ".join(word for word in before[runners[0] :] if not _ASSIGNED.match(word)) if runners else ""


def _is_runner(word: str) -> bool:
    head = word.rsplit("/", 1)[-1]
    return head in _RUNNERS or _PYTHON.fullmatch(head) is not None


def stripped(words: list[str]) -> list[str]:
    """Returns a command without assignments, `sudo`, `timeout 60` and the like, and without `uv run` and its kin."""
    words = list(words)
    while words:
        head = words[0].rsplit("/", 1)[-1]
        if head == "command" and words[1:2] in (["-v"], ["-V"]):
            break
        if head == "nice" and words[1:2] == ["-n"]:
            words = words[3:]
        elif _ASSIGNED.match(words[0]) or head in _WRAPPERS or head == "-E":
            words = words[1:]
        elif head == "timeout":
            words = words[1:]
            while words and (words[0].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?", words[0])):
                words = words[1:]
        elif head in _RUNNERS and (not _RUNNERS[head] or words[1:2] == list(_RUNNERS[head])):
            words = words[1 + len(_RUNNERS[head]) :]
            while words and words[0].startswith("-") and words[0] != "-m":
                words = words[1:]
            if words[:1] == ["-m"]:
                words = words[1:]
        elif _PYTHON.fullmatch(head) and words[1:2] == ["-m"]:
            words = words[2:]
        else:
            break
    return (
        [words[0].rsplit("/", 1)[-1] if "/" in words[0] and not words[0].endswith((".sh", ".py")) else words[0], *words[1:]]
        if words
        else []
    )


def commands_of(line: str) -> list[list[str]]:
    """Returns the commands of a line without what they are wrapped in."""
    return [
        words
        for _, given in (read(line)[0] if len(line) <= _LONGEST else ())
        if (words := stripped(given)) and words[0] not in _SILENT
    ]


def kind_of(words: list[str]) -> str:
    """Returns what a command is for, by its program and the first word after it."""
    head, rest = words[0], options.plain(words)
    word = rest[0] if rest else ""
    if re.match(_TESTS, head):
        return TEST
    if re.match(_LINTS, head):
        return LINT
    if head in _MANAGERS:
        if head in ("npm", "pnpm", "yarn", "bun") and word == "run" and len(rest) > 1:
            word = rest[1]
        word = re.split(r"[:\-]", word)[0]
        if word in _BY_WORD:
            return _BY_WORD[word]
        if rest[:1] == ["run"] and len(rest) > 1:
            return TEST if re.match(_TEST_SCRIPTS, word) else RUN
        if head == "uv" and word == "pip":
            return INSTALL
        return BUILD if head in ("make", "gradle", "gradlew", "mvn") else RUN if head in ("just", "rake") else READ
    if re.match(_BUILDS, head):
        return BUILD
    if re.match(_READS, head):
        return READ
    if head == "git":
        return (
            READ
            if word in ("status", "diff", "log", "show", "branch", "grep", "blame", "rev-parse", "remote", "ls-files")
            else CHANGE
        )
    if head in _CONTAINERS:
        rest = rest[1:] if word == "compose" else rest
        is_waited_for = rest[:1] in (["run"], ["exec"]) and not {"-d", "--detach"} & set(words)
        return BUILD if rest[:1] == ["build"] else RUN if is_waited_for else READ if rest[:1] in (["ps"], ["logs"]) else CHANGE
    if re.match(_CHANGES, head) or head in _SILENT:
        return CHANGE
    if re.search(r"(^|[/_.-])tests?([_.-]|$)", head) or (
        head in ("python", "python3", "bash", "sh", "node") and re.search(r"(^|/)(run_)?tests?[_.]", word)
    ):
        return TEST
    return RUN


def _command(words: list[str], heredoc: str = "", place: str = "") -> Command:
    kind = kind_of(words)
    head = words[0]
    chosen: list[str] = []
    targets: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if _JOBS.match(word) and head in _WORKERS[word[:2]]:
            counted = next(rest, "") if len(word) == 2 else ""
            targets += [counted] if counted and not counted.isdigit() and counted not in ("auto", "logical") else []
            continue
        if _QUIET.match(word):
            continue
        if word in ("-k", "-m", "-c", "-t", "--grep", "--filter", "-f", "-p", "--config", "-e") or options.takes_a_place(
            head, word
        ):
            chosen.append(f"{word} {next(rest, '')}")
        elif word.startswith("-"):
            chosen.append(word)
        else:
            targets.append(word.removeprefix("./") or word)
    if head in ("npm", "pnpm", "yarn", "bun") and targets[:1] == ["run"] and targets[1:2] in (["test"], ["start"]):
        targets = targets[1:]
    fixed = 1 if head in _MANAGERS and targets else 0
    if fixed and targets[0] == "run":
        fixed = 2
    named = [head.removeprefix("./"), *targets[:fixed], *sorted(chosen)]
    if heredoc:
        named.append(heredoc.strip()[:2000])
    if place:
        named.append(f"@{place}")
    shown = " ".join(words)
    runner, variables = (words.runner, words.variables) if isinstance(words, _Called) else ("", ())
    shown = shown if len(shown) <= 160 else shown[:159] + "…"
    return Command(
        kind, tuple(named), tuple(sorted(targets[fixed:])), shown, given=tuple(words), runner=runner, variables=variables
    )


def verdict(code: object) -> bool | None:
    """Returns True for 0, False for another exit code, `None` for none and for those of time limits and signals."""
    if code is None or isinstance(code, bool) or not isinstance(code, int) or code in _INTERRUPTED or code < 0:
        return None
    return code == 0
