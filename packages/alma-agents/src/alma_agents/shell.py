"""Command lines: which command an exit status judges, what kind it is, and when two are the same."""

import re

TEST, BUILD, LINT, RUN, INSTALL = "test", "build", "lint", "run", "install"
READ, CHANGE = "read", "change"
JUDGED = frozenset((TEST, BUILD, LINT, RUN, INSTALL))
"""Kinds whose exit status is a verdict. The status of a search or a comparison is an answer."""

_INTERRUPTED = frozenset((124, 130, 137, 143))
"""Exit codes of a time limit and of signals: they say nothing about the work."""

_TESTS = r"(pytest|py\.test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|behave|ava)$"
_LINTS = r"(ruff|mypy|flake8|pylint|pyright|eslint|prettier|black|isort|tsc|clippy|golangci-lint|shellcheck|rubocop|stylelint|lint-imports)$"
_BUILDS = r"(make|cmake|ninja|gcc|g\+\+|clang|rustc|webpack|vite|rollup|esbuild|javac|msbuild|bazel|meson)$"
_READS = (
    r"(ls|cat|head|tail|less|more|grep|rg|egrep|fgrep|ag|ack|find|fd|diff|cmp|test|\[|wc|pwd|echo|printf|which|type|whereis|file|stat|du|df|ps|"
    r"env|date|whoami|id|uname|tree|jq|sort|uniq|true|false|sleep|read|history|man|awk|cut|tr|nl|hexdump|xxd|curl|wget|gh|kill|pgrep|lsof|exit)$"
)
_CHANGES = r"(cp|mv|rm|mkdir|touch|chmod|chown|ln|sed|patch|tar|unzip|git|docker|systemctl|service|export|source|\.|psql|sqlite3|redis-cli|pkill)$"
_BY_WORD = {
    "test": TEST, "t": TEST, "check": LINT, "lint": LINT, "typecheck": LINT, "format": LINT, "fmt": LINT, "clippy": LINT, "vet": LINT,
    "build": BUILD, "compile": BUILD, "package": BUILD, "assemble": BUILD, "bundle": BUILD,
    "install": INSTALL, "add": INSTALL, "sync": INSTALL, "ci": INSTALL, "update": INSTALL, "upgrade": INSTALL, "i": INSTALL, "download": INSTALL,
    "restore": INSTALL, "uninstall": INSTALL, "remove": INSTALL, "get": INSTALL, "tidy": INSTALL,
    "start": RUN, "run": RUN, "dev": RUN, "serve": RUN, "exec": RUN, "migrate": RUN, "publish": RUN, "deploy": RUN,
}  # fmt: skip
_MANAGERS = frozenset(
    ("npm", "pnpm", "yarn", "bun", "cargo", "go", "dotnet", "mvn", "mvnw", "gradle", "gradlew", "pip", "pip3", "poetry", "uv", "pipenv",
     "apt", "apt-get", "brew", "gem", "bundle", "composer", "mix", "just", "rake", "make", "deno", "swift", "sbt", "conda")
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
_SILENT = frozenset(("cd", "export", "source", ".", "set", "pushd", "popd", "unset", "alias", "ulimit", "activate"))


class Command:
    """A command whose exit status is that of the line. `kind` says what it is for, `words` names the program and its options, `targets` what it is
    applied to. `shown` is the line as a person reads it."""

    __slots__ = ("kind", "shown", "targets", "words")

    def __init__(self, kind: str, words: tuple[str, ...], targets: tuple[str, ...], shown: str) -> None:
        self.kind, self.words, self.targets, self.shown = kind, words, targets, shown

    @property
    def key(self) -> str:
        """Names the command whatever its order of targets, and however much it prints."""
        return " ".join((*self.words, *self.targets))

    def covers(self, other: "Command") -> bool:
        """Returns True when passing means that the other passes, too: the same command on the same targets, or on all of theirs."""
        if self.words != other.words:
            return False
        if not self.targets or self.targets == other.targets:
            return self.kind == TEST or self.targets == other.targets
        if self.kind not in (TEST, LINT) or not other.targets:
            return False
        return all(any(_is_within(mine, theirs) for mine in self.targets) for theirs in other.targets)


def _is_within(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith((outer.rstrip("/") + "/", outer + "::"))


def read(line: str, root: str = "") -> tuple[list[tuple[str, list[str]]], bool]:
    """Returns the commands of a line with the operator before each: pairs of operator and words."""
    text = line.split("<<", 1)[0] if re.search(r"<<-?\s*['\"]?\w", line) else line
    text = text.replace("\\\n", " ").strip()
    found: list[tuple[str, list[str]]] = []
    words: list[str] = []
    operator = ""
    for word in _TOKEN.findall(text):
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


def _unquoted(part: str, root: str) -> str:
    plain = re.sub(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"", lambda found: found[1] if found[1] is not None else found[2], part)
    if root and plain.startswith(root.rstrip("/") + "/"):
        plain = plain[len(root.rstrip("/")) + 1 :]
    return plain


def judged(line: str, ok: bool, root: str = "") -> Command | None:
    """Returns the command that the exit status of a line judges, `None` if that is none or more than one could have failed.

    A pipe has the status of its last part, `;` and a line end that of the last command; after `||` a success says nothing.
    """
    parts, in_background = read(line, root)
    if not parts or in_background:
        return None
    whole = [(operator, stripped(words)) for operator, words in parts]
    if any(words[:1] == ["!"] for _, words in whole):
        return None
    pipes = any(words[:1] == ["set"] and "pipefail" in words for _, words in whole)
    last = len(whole) - 1
    start = last
    while start > 0 and whole[start][0] in ("&&", "||", "|"):
        start -= 1
    tail = whole[start:]
    operators = [operator for operator, _ in tail[1:]]
    if "||" in operators and (ok or set(operators) != {"||"}):
        return None
    if "||" in operators:
        tail = tail[:1]
    elif "|" in operators:
        if not pipes:
            return None
        if ok is False:
            return None
    candidates = [words for _, words in tail if words and words[0] not in _SILENT]
    serious = [words for words in candidates if kind_of(words) in JUDGED]
    chosen = serious[-1:]
    if not ok and len(candidates) > 1:
        harmless = all(words[0] in _HARMLESS for words in candidates if words not in serious)
        chosen = serious if len(serious) == 1 and harmless else []
    if not chosen or kind_of(chosen[0]) not in JUDGED:
        return None
    heredoc = line.split("<<", 1)[1] if "<<" in line else ""
    return _command(chosen[0], heredoc)


def passed(line: str, root: str = "") -> list[Command]:
    """Returns every command that a line with status 0 has passed: of `a && b` both."""
    parts, in_background = read(line, root)
    if in_background or not parts:
        return []
    final = judged(line, True, root)
    if final is None:
        return []
    found = []
    for operator, words in reversed(parts):
        bare = stripped(words)
        if bare and kind_of(bare) in JUDGED:
            found.append(_command(bare, line.split("<<", 1)[1] if "<<" in line else ""))
        if operator != "&&":
            break
    return found


def stripped(words: list[str]) -> list[str]:
    """Returns a command without assignments, `sudo`, `timeout 60` and the like, and without `uv run` and its kin."""
    words = list(words)
    while words:
        head = words[0].rsplit("/", 1)[-1]
        if _ASSIGNED.match(words[0]) or head in _WRAPPERS or head == "-E":
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
        elif re.fullmatch(r"(python|python3|py)(\d?\.\d+)?", head) and words[1:2] == ["-m"]:
            words = words[2:]
        else:
            break
    return (
        [words[0].rsplit("/", 1)[-1] if "/" in words[0] and not words[0].endswith((".sh", ".py")) else words[0], *words[1:]]
        if words
        else []
    )


def kind_of(words: list[str]) -> str:
    """Returns what a command is for, by its program and the first word after it."""
    head, rest = words[0], [word for word in words[1:] if not word.startswith("-")]
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
    if re.match(_CHANGES, head) or head in _SILENT:
        return CHANGE
    if re.search(r"(^|[/_.-])tests?([_.-]|$)", head) or (
        head in ("python", "python3", "bash", "sh", "node") and re.search(r"(^|/)(run_)?tests?[_.]", word)
    ):
        return TEST
    return RUN


def _command(words: list[str], heredoc: str = "") -> Command:
    kind = kind_of(words)
    head = words[0]
    options: list[str] = []
    targets: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if _JOBS.match(word) and head in _WORKERS[word[:2]]:
            counted = next(rest, "") if len(word) == 2 else ""
            targets += [counted] if counted and not counted.isdigit() and counted not in ("auto", "logical") else []
            continue
        if _QUIET.match(word):
            continue
        if word in ("-k", "-m", "-c", "-t", "--grep", "--filter", "-f", "-p", "--config", "-e"):
            options.append(f"{word} {next(rest, '')}")
        elif word.startswith("-"):
            options.append(word)
        else:
            targets.append(word.removeprefix("./") or word)
    if head in ("npm", "pnpm", "yarn", "bun") and targets[:1] == ["run"] and targets[1:2] in (["test"], ["start"]):
        targets = targets[1:]
    fixed = 1 if head in _MANAGERS and targets else 0
    if fixed and targets[0] == "run":
        fixed = 2
    named = [head.removeprefix("./"), *targets[:fixed], *sorted(options)]
    if heredoc:
        named.append(heredoc.strip()[:2000])
    shown = " ".join(words)
    return Command(kind, tuple(named), tuple(sorted(targets[fixed:])), shown if len(shown) <= 160 else shown[:159] + "…")


def verdict(code: object) -> bool | None:
    """Returns True for 0, False for another exit code, `None` for none and for those of time limits and signals."""
    if code is None or isinstance(code, bool) or not isinstance(code, int) or code in _INTERRUPTED or code < 0:
        return None
    return code == 0
