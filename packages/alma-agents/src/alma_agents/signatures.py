"""What a failure said, in a form that recognises it when it comes back: with other paths, numbers and order of words."""

import re

_ERROR = re.compile(
    r"^\s*(E\s{2,}.*|[\w.:]*(Error|Exception|Warning|Failure|Panic|Fault)\b.*|"
    r".*\b(error|fatal|panic|failed|cannot|not found|undefined|denied|refused|"
    r"no such|missing|unresolved|invalid|unexpected)\b.*)$",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"^\s*(E\s{2,})?([A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit)\b|"
    r"error(\[\w+\])?:|fatal:|panic:|npm (ERR!|error))",
    re.IGNORECASE,
)
_MASKS = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{12,}\b"), "H"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+([\w.@+-]+)"), r"\1"),
    (re.compile(r"\b\d+([.:]\d+)*\b"), "N"),
)
_QUOTED = re.compile(r"['\"`‘’“”]([^'\"`‘’“”\s]{2,80})['\"`‘’“”]")
_TAIL = re.compile(r":\s+(?:no such \w+:\s+)?([A-Za-z_][\w./@-]+)$")
"""The last word of a message that names what it is about: `no such table: orders`."""
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


_TELLING = 8.0


def error_of(output: str) -> str:
    """Returns the line of a failed command's output that names the error, else its last line, at most 300 characters, with masked paths and
    numbers."""
    lines = [
        line.strip()
        for line in output.split("\n")
        if line.strip() and not line.startswith(("Exit code", "Exit Code:", "<exited"))
    ]
    strong = [line for line in lines if _STRONG.match(line)]
    weak = [line for line in lines if _ERROR.match(line)]
    line = (strong or weak or lines or [""])[-1]
    return masked(re.sub(r"^E\s{2,}", "", line))[:300]


def masked(text: str) -> str:
    """Returns a text with what changes between two runs replaced: colours, addresses, folders, numbers."""
    for pattern, by in _MASKS:
        text = pattern.sub(by, text)
    return " ".join(text.split())


def words_of(text: str) -> dict[str, float]:
    """Returns the words of an error with their weights: quoted names and names of code weigh most."""
    plain = masked(text)
    named = {found.lower() for found in (*_QUOTED.findall(plain), *_TAIL.findall(plain))} - _BUILT_IN
    weights: dict[str, float] = {}
    for found in _NAME.findall(plain):
        word = found.lower().strip(".-")
        if len(word) < 2 or word in _COMMON:
            continue
        is_code = any(sign in found for sign in "._") or (found[1:] != found[1:].lower() and not found.isupper())
        weights[_stem(word)] = 3.0 if word in named else 2.0 if is_code else 1.0
    for word in named:
        weights[_stem(word)] = 3.0
    return weights


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "s"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") or word


def is_specific(words: dict[str, float]) -> bool:
    """Returns True when an error says what it is about. `AssertionError: assert 1 == 2` fits every test, so its fix belongs to one command."""
    is_about = any(weight >= 3.0 or "." in word or "_" in word for word, weight in words.items())
    return is_about or sum(words.values()) >= _TELLING


def nearness(asked: dict[str, float], known: dict[str, float]) -> float:
    """Returns how alike two errors are, 0 to 1. Where each names something that the other does not, they are about different things: 0."""
    shared = asked.keys() & known.keys()
    mine, theirs = ({word for word, weight in of.items() if weight >= 3.0} for of in (asked, known))
    if not shared or (mine - known.keys() and theirs - asked.keys()):
        return 0.0
    total = sum(max(asked.get(word, 0.0), known.get(word, 0.0)) for word in asked.keys() | known.keys())
    near = sum(max(asked[word], known[word]) for word in shared) / total
    is_same_thing = bool(mine) and mine == theirs and len(shared - mine) >= 2
    return (1.0 + near) / 2 if is_same_thing and not _are_opposed(asked, known) else near


def _are_opposed(asked: dict[str, float], known: dict[str, float]) -> bool:
    """Returns True when both errors name their class, and not the same one."""
    mine, theirs = ({word.rsplit(".", 1)[-1] for word in of if word.endswith(("error", "exception"))} for of in (asked, known))
    return bool(mine and theirs and not mine & theirs)
