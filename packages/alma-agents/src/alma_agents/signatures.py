"""The message of a failure, in a form that recognises it when it comes back: with other paths, numbers and order of words."""

import re

_ERROR = re.compile(
    r"^\s*(E\s{2,}.*|[\w.:]*(Error|Exception|Warning|Failure|Panic|Fault)\b.*|"
    r"\S+:\d+:\d+: .*|(?-i:[A-Z]{1,5}\d{3,4} (?=\S).*)|(--- FAIL:|FAIL:?\s|●\s|would reformat\s).*|"
    r".*\b(error|fatal|panic|failed|cannot|could(?: not|n't)|unable to|is not up to date|not found|undefined|denied|refused|"
    r"no such|missing|unresolved|invalid|unexpected)\b.*)$",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"^\s*(E\s{2,})?([A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit)\b|"
    r"error(\[\w+\])?:|fatal:|panic:|npm (ERR!|error))",
    re.IGNORECASE,
)
_ADVICE = re.compile(r"^\s*(run|try|use|see|to \w+|please|hint|help|note)\b", re.IGNORECASE)
_CONCLUSION = re.compile(
    r"^\W*(build failed|failure: build failed|error: build did not complete|error command failed|npm (err!|error) (code|errno|a complete|path|command"
    r"|lifecycle)|\w*make\S*: \*\*\*|-- configuring incomplete|execution halted|compilation terminated|error: (could not compile|aborting due)"
    r"|error: test failed, to rerun|test result: failed\b|failed \(\w+=|fail(\t.*)?$|exit status \d"
    r"|found \d+ errors?\b|\d+ (files?|problems?|errors?|failed|passed|warnings?|skipped|deselected)\b.*[).s]\W*$"
    r"|tests?( suites| files)?:?\s+\d+ (failed|passed))",
    re.IGNORECASE,
)
"""Lines that a program ends with whatever happened, as counts, and what it advises: they say nothing if another line does."""

_LABEL = re.compile(r"^(?:\[(?!(?:error|warn|info)\w*\])[\w:./@#-]+\]|[\w.-]+\s+[|>])\s+(?=\S)", re.IGNORECASE)
"""The name of a task that a runner writes before each line of it: `[test] …`, `web-1  | …`, `nox > …`."""

_STATUS = r"(?:N|[1-9]\d?|1\d\d|255)\b"
_EXITED = re.compile(
    rf"\bexit(?:s|ed|ing)?\b(?:\W+(?:with|exit|code|status|value|of|is|was))*\W{{0,3}}{_STATUS}(?!\.?\d)"
    rf"|(?<!error )\b(?:status|code)\b(?: code)?\W{{0,3}}{_STATUS}\W*(?:$|[\[(])|(?:\]|\*\*\*) error(?: code)? {_STATUS}$",
    re.IGNORECASE,
)
"""The status with which a program ended, in the words of the one that ran it. `tests/agents/test_error_lines.py` measures this and what follows
on lines that it was not made from."""

_FAILED = re.compile(r"\bfail|\babort|\bunsuccess", re.IGNORECASE)
_QUOTES = re.compile(r"""["'`][^"'`]*["'`]|\([^()]*\)|\[[^\]]*\]""")

_CHANGING = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{12,}\b"), "H"),
)
_POSITION = r"(?:line|col|column|char)\b"
_TELLING_NUMBERS = (
    re.compile(
        r"(?:\blocalhost|\bN|\b\d{1,3}(?:\.\d{1,3}){3}|://[\w.@-]{1,80}|[\]*]|::1?):(?P<number>\d{2,5})\b(?!:?\w)", re.IGNORECASE
    ),
    re.compile(r"(?<![\w.:/-])(?<!^)(?![\w.-]{1,80}\.\w{1,4}:)[A-Za-z][\w.-]{1,80}:(?P<number>\d{4,5})\b(?!:?\w)"),
    re.compile(
        rf"(?<![\w.-])(?!{_POSITION})(?P<name>[A-Za-z]\w*)(?:[ =#]|[:=#] | ?[<>~^]=? ?)(?P<number>v?\d{{3,5}}|v?\d+(?:\.\d+)+)"
        r"(?![\w%]|[.:]\w| ?(?:[!<>=]=|[a-z]{3,}s\b|m?s\b|of \d))",
        re.IGNORECASE,
    ),
    re.compile(r"\[(?P<name>[A-Za-z]\w*) (?P<number>\d+)\]"),
)
"""Telling numbers, by their shape: ports of hosts, a number of three to five digits or a version after a word, and
`[Errno 13]`. Not those of a place in a file, counts, times and sides of a comparison: of 104 such numbers 7 are kept, of 54 telling ones 48."""
_URL_PORT = re.compile(r"(://[^\s/:]{1,80}:\d{2,5})/")
_NUMBER = re.compile(r"\b\d+([.:]\d+)*(?:[mµn]?s)?\b")
_PATH = re.compile(r"[\w.@~+/\\-]+")
_IN_FOLDER = re.compile(r"[/\\](?=[\w.@+-])")
_QUOTED = re.compile(r"['\"`‘’“”]([^'\"`‘’“”\s]{2,80})['\"`‘’“”]")
_TAIL = re.compile(r":\s+(?:no such \w+:\s+)?([A-Za-z_][\w./@-]+)$")
"""The last word of a message that names what it is about: `no such table: orders`."""
_SUBJECTS = (
    re.compile(r"(?:^|[\s:])([\w.@+-]{2,80}): (?:command )?not found\b(?!:)"),
    re.compile(
        r"\b(?:command not found|missing script|environment variable|requirement|reference to|distribution found for):? ([\w.@+-]{2,80})"
    ),
    re.compile(r"\bpackage:? [`'\"]?([A-Za-z_][\w-]+)"),
    re.compile(r"\b(?:the|setting) (\w{2,80}) (?:setting|option|variable|field)\b", re.IGNORECASE),
    re.compile(r"\b(?:module named|environment variable|because|provides package) ([\w.@+/-]{2,80})(?=[\s;:@]|$)", re.IGNORECASE),
    re.compile(r"\b([A-Za-z_]\w*)\(\)"),
)
"""What names a thing without quotation marks."""

_VERBS = (
    ("denied", r"permission denied|access is denied|eacces|not permitted"),
    ("unexpected", r"unexpected keyword|unrecognized (option|argument)|unknown option"),
    ("busy", r"already in use|eaddrinuse|is locked"),
    ("refused", r"refused|econnrefused|unreachable"),
    ("unset", r"(is|are) not set|must not be empty|missing required|key error"),
    ("required", r"\brequires? (rustc|python|node)|is not supported by"),
    ("absent", r"not found|no such|(can ?not|can't|could not|unable to) (find|resolve|open|import)|does(n't| not) exist|has no|"
               r"not recognized|no module|undeclared|unresolved|undefined|is(n't| not) defined|missing|no (matching|rule|solution)|"
               r"provides package|not in std|not found in"),
)  # fmt: skip
_NOUNS = (
    ("fixture", r"\bfixture"),
    ("template", r"\btemplate"),
    ("table", r"\b(table|relation)\b"),
    ("database", r"\bdatabase\b"),
    ("import", r"cannot import name"),
    ("link", r"undefined (reference|symbol)|symbol\(s\)|undefined symbols"),
    ("script", r"\bscript|^error command \""),
    ("target", r"\btarget\b"),
    ("variable", r"environment variable|\bkey error"),
    ("argument", r"keyword argument"),
    ("attribute", r"\b(attribute|property|member)\b"),
    ("module", r"\b(module|package|crate|requirement|distribution|solution)s?\b"),
    ("file", r"\b(file|directory|include|enoent)\b"),
    ("command", r"\bcommand\b|\b(bash|zsh|sh):|/bin/\w*sh|operable program"),
    ("name", r"\b(name|value|symbol|variable|identifier|reference error)\b|is not defined|undefined:"),
)
"""What an error says happened, and to what sort of thing: the first of each that is found. Tools word these in few ways."""

_SAME_EVENT, _LIKE_EVENT = 0.8, 0.65
"""Nearness, at least, of errors that name the same things and say the same of them, or nearly."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DOTTED = re.compile(r"\b\w++(?:\.\w++)++")
_MODULE, _CLASS = re.compile(r"[a-z_]"), re.compile(r"[A-Z]\w*[a-z]")
_BUILT_IN = frozenset(
    (
        "nonetype",
        "str",
        "int",
        "float",
        "list",
        "dict",
        "tuple",
        "set",
        "bytes",
        "bool",
        "object",
        "undefined",
        "null",
        "function",
    )
)
_NAME = re.compile(r"[A-Za-z_][\w.-]*[A-Za-z0-9_]|[A-Za-z]{2,}")
_COMMON = frozenset(
    "the a an of to in is was be it at on for with and or not no by from as this that line file exit code error failed failure".split()  # noqa: SIM905 - a list would take thirty lines
)


_TELLING, _CLEAR, _SAYING = 8.0, 5.0, 3.0
"""Weight at least of the words of an error that is about something, of a failure with its reason, and of one that says anything."""
_SHOWN = 300
"""Characters of an error that are kept."""
_MOST_WEIGHED = 50
"""Lines of an output of which the words are weighed, those of the best form: some milliseconds each."""
_MOST_OUTPUT, _LONGEST_LINE = 50_000, 1_000
"""Characters at either end of an output, and of a line, that are read: a pattern may take time that grows with the square of the length."""


def error_of(output: str) -> str:
    """Returns the line of a failed command's output that names the error, else its last line, at most 300 characters, as `without_places`."""
    if len(output) > _MOST_OUTPUT:
        output = f"{output[:_MOST_OUTPUT]}\n{output[-_MOST_OUTPUT:]}"
    lines = [
        line.strip()[:_LONGEST_LINE]
        for line in output.split("\n")
        if line.strip() and not line.startswith(("Exit code", "Exit Code:", "<exited"))
    ]
    lines = [_LABEL.sub("", line) for line in lines]
    named = [line for line in lines if (_STRONG.match(line) or _ERROR.match(line)) and not _EXITED.search(line)]
    likely = sorted(named, key=_form)[-_MOST_WEIGHED:]
    line = max(reversed(likely), key=_clearness, default=(lines or [""])[-1])
    return without_places(re.sub(r"^E\s{2,}", "", line))[:_SHOWN]


def _form(line: str) -> tuple[int, bool]:
    """Returns the rank of a line by its form: 0 for a conclusion, 1 for advice, 2 for an error; and True where it names the error."""
    return 0 if _CONCLUSION.match(line) else 1 if _ADVICE.match(line) else 2, bool(_STRONG.match(line))


def _clearness(line: str) -> tuple[int, bool]:
    """Returns how much a line says of an error. Of equal lines the last counts."""
    rank, is_named = _form(line)
    return rank + (rank == 2 and not _is_vague(_QUOTES.sub(" ", line[:_SHOWN]), _CLEAR)), is_named


def _is_vague(line: str, clear: float) -> bool:
    """Returns True for a line which says that something failed, in words that weigh less than those of a clear line."""
    return bool(_FAILED.search(line)) and sum(_weights(line).values()) < clear


def without_places(text: str) -> str:
    """Returns a text without what says nothing to another reader: colours, addresses in memory, folders."""
    for pattern, by in _CHANGING:
        text = pattern.sub(by, text)
    return " ".join(_without_folders(_URL_PORT.sub(r"\1 /", text)).split())


def masked(text: str) -> str:
    """Returns a text without the differences between two runs: `without_places`, and with numbers replaced. A telling number, such as a port,
    stays."""
    text = without_places(text)
    kept, end = list[str](), 0
    for _, start, stop in sorted(_telling(text), key=lambda found: found[1:]):
        if start >= end:
            kept += [_NUMBER.sub("N", text[end:start]), text[start:stop]]
            end = stop
    return " ".join(("".join(kept) + _NUMBER.sub("N", text[end:])).split())


def _telling(text: str) -> list[tuple[str, int, int]]:
    """Returns the telling numbers of a text: what each is a number of, and from where to where it stands."""
    found = (number for pattern in _TELLING_NUMBERS for number in pattern.finditer(text))
    return [(str(number.groupdict().get("name", "port")).lower(), *number.span("number")) for number in found]


def _without_folders(text: str) -> str:
    """Returns a text with each path as its last part. Every character is looked at a fixed number of times, however long a path is."""
    kept, end, is_drive = list[str](), 0, False
    for path in _PATH.finditer(text):
        between, whole = text[end : path.start()], path[0]
        slash = max((found.start() for found in _IN_FOLDER.finditer(whole)), default=None)
        if slash is not None:
            whole = whole[slash + 1 :]
            if between == ":" and is_drive:
                between, kept[-1] = "", ""
        kept += (between, whole)
        end, is_drive = path.end(), len(path[0]) == 1 and path[0].isascii() and path[0].isalpha()
    return "".join(kept) + text[end:]


def _without_modules(text: str) -> str:
    """Returns a text with each class that a module is written before as its name alone: `sqlalchemy.exc.NoSuchTableError`."""
    return _DOTTED.sub(lambda dotted: ".".join(_classes(dotted[0].split("."))), text)


def _classes(parts: list[str]) -> list[str]:
    kept, modules = list[str](), list[str]()
    for part in parts:
        if _MODULE.match(part):
            modules.append(part)
            continue
        kept += [part] if _CLASS.match(part) else [*modules, part]
        modules.clear()
    return kept + modules


def words_of(text: str) -> dict[str, float]:
    """Returns the words of an error with their weights: quoted names and names of code weigh most. There are none of a line which says only that
    something failed."""
    return {} if _EXITED.search(text) or _is_vague(text, _SAYING) else _weights(text)


def _weights(text: str) -> dict[str, float]:
    plain = _without_modules(masked(text))
    bare = [found for pattern in _SUBJECTS for found in pattern.findall(plain)]
    named = {found.lower() for found in (*_QUOTED.findall(plain), *_TAIL.findall(plain), *bare)} - _BUILT_IN - _COMMON
    named = {found.strip(".-") for found in named}
    weights: dict[str, float] = {}
    for found in _NAME.findall(plain):
        word = found.lower().strip(".-")
        if len(word) < 2 or word in _COMMON:
            continue
        is_code = any(sign in found for sign in "._") or (found[1:] != found[1:].lower() and not found.isupper())
        weights[_stem(word)] = 3.0 if word in named else 2.0 if is_code else 1.0
    for word in named:
        weights[_stem(word)] = 3.0
    if concept := concept_of(plain):
        weights[f"={concept}"] = 0.0
    return weights | {f"#{name} {plain[start:stop]}": 0.0 for name, start, stop in _telling(plain)}


def concept_of(text: str) -> str:
    """Returns what an error says happened and to what sort of thing, as "absent:module"; a part that it does not say is empty, all: ""."""
    plain = _CAMEL.sub(" ", text).lower()
    verb, noun = (next((name for name, pattern in of if re.search(pattern, plain)), "") for of in (_VERBS, _NOUNS))
    return f"{verb}:{noun}" if verb else ""


def _concepts(asked: dict[str, float], known: dict[str, float]) -> tuple[str, str]:
    first, second = (next((word[1:] for word in of if word.startswith("=")), "") for of in (asked, known))
    return first, second


def _are_alike(event: str, other: str) -> bool:
    """Returns True when two errors say that the same happened, and at most one says to what."""
    verb, _, noun = event.partition(":")
    other_verb, _, other_noun = other.partition(":")
    return bool(verb) and verb == other_verb and (not noun or not other_noun)


def _stem(word: str) -> str:
    word = word.strip("_") or word
    for ending in ("ing", "ed", "s"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") or word


def is_specific(words: dict[str, float]) -> bool:
    """Returns True when an error says what it is about. `AssertionError: assert 1 == 2` fits every test, so its fix belongs to one command."""
    is_about = any(weight >= 3.0 or (weight and ("." in word or "_" in word)) for word, weight in words.items())
    return is_about or sum(words.values()) >= _TELLING


def nearness(asked: dict[str, float], known: dict[str, float]) -> float:
    """Returns how alike two errors are, 0 to 1. Where each names something that the other does not, they are about different things: 0."""
    shared = {word for word in asked.keys() & known.keys() if not word.startswith("#")}
    mine, theirs = ({word for word, weight in of.items() if weight >= 3.0} for of in (asked, known))
    if not shared or (mine - known.keys() and theirs - asked.keys()) or _differ_in_number(asked, known):
        return 0.0
    event, other_event = _concepts(asked, known)
    is_same_event = bool(event) and event == other_event
    is_like_event = _are_alike(event, other_event)
    if event and other_event and not is_same_event and not is_like_event:
        return 0.0
    total = sum(max(asked.get(word, 0.0), known.get(word, 0.0)) for word in asked.keys() | known.keys())
    near = sum(max(asked[word], known[word]) for word in shared) / total
    if is_same_event and theirs and theirs <= asked.keys() and mine <= known.keys():
        return max(near, _SAME_EVENT + near / 5)
    if is_like_event and theirs and theirs <= asked.keys() and mine <= known.keys():
        return max(near, _LIKE_EVENT + near / 5)
    is_same_thing = bool(mine) and mine == theirs and len(shared - mine) >= 2
    return (1.0 + near) / 2 if is_same_thing and not _are_opposed(asked, known) else near


def _differ_in_number(asked: dict[str, float], known: dict[str, float]) -> bool:
    """Returns True when both errors have a number of the same thing, as a port, and share none."""
    mine, theirs = ({word for word in of if word.startswith("#")} for of in (asked, known))
    names = {word.split()[0] for word in mine} & {word.split()[0] for word in theirs}
    return not names <= {word.split()[0] for word in mine & theirs}


def _are_opposed(asked: dict[str, float], known: dict[str, float]) -> bool:
    """Returns True when both errors name their class, and not the same one."""
    mine, theirs = ({word.rsplit(".", 1)[-1] for word in of if word.endswith(("error", "exception"))} for of in (asked, known))
    return bool(mine and theirs and not mine & theirs)
