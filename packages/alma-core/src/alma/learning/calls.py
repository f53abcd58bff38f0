"""Calls of functions, methods and tools in a text: `time.sleep(5)`, `refund(method="card")`, a tool call as JSON, a name such as `page.click`.

Reading takes one pass, in time linear in the text. What stands in quotes or in a comment is mentioned, not called, unless it is given to something
that executes it.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

READ_CHARS = 20_000
"""Calls are looked for in this many characters of a text."""

MOST_CALLS = 300
"""How many different calls of a text are kept."""

INSTRUCTIONS = frozenset(("cmd", "code", "command", "content", "new_string", "query", "script", "sql"))
"""Arguments whose value is itself what is done."""

Argument = tuple[str, str]
"""Name and value, in lower case and without quotes. A quoted text that is given without a name has the name ""; other such values do not count."""

_TOKEN = re.compile(
    r"""(?P<comment>(?:(?<=\s)|^)(?:\#|//|--)\s[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.?)*(?:"|$) | (?<!\w)'(?:[^'\\\n]|\\.?)*(?:'|$))
      | (?P<name>\.?[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*)
      | (?P<number>-?\d[\w.]*)
      | (?P<opening>[(\[{]) | (?P<closing>[)\]}]) | (?P<giving>[=:])
    """,
    re.VERBOSE | re.MULTILINE,
)
_BACKTICKS = re.compile(r"`([^`\n]+)`")
_JOINTS = re.compile(r"\.|::|->|\?\.")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COMPOUND = re.compile(r"[a-z][a-z\d]*[A-Z]|\w*[A-Za-z\d]_[A-Za-z\d]")
"""GraphQL and JavaScript are names of things; names in code begin with a small letter."""
_WITHDRAWN = re.compile(
    r"""\b(?: stop\w*\ \w+ing | never | not | \w+n't | without | no | avoid\w* | instead | rather\ than | in\ place\ of | rid\ of
          | (?:delet|drop|eliminat|forbid|purg|remov|replac|strip)\w*
          | describ\w* | detect\w* | document\w* | explain\w* | flag\w* | mention\w* | (?:grep|look|scan|search)\w*(?:\ \w+){0,3}\ for)
        [\w\s'-]{0,30}$""",
    re.VERBOSE | re.IGNORECASE,
)
_BEFORE = 60
"""Within this number of characters before a call stand the words that withdraw it."""

_EXECUTING = frozenset(
    ("call", "check_call", "check_output", "exec", "execsync", "execute", "popen", "query", "raw", "run", "spawn", "system")
)
_TOOL_NAMES = ("name", "tool_name", "tool", "function")
_TOOL_ARGUMENTS = ("arguments", "input", "args", "parameters", "params", "tool_input")
_QUOTES = "\"'"
_SORTS = {"number", "string"}
_RESULT = "()"
"""The receiver of a call that is made on what another one returned."""

_OWN = frozenset(("self", "this", "window", "globalthis", "builtins"))
_GENERIC = frozenset(
    """
    add all append apply build call clear close connect copy count create delete dump eval evaluate exec execute exit fetch filter find first
    format get handle index init insert join last length list load loads log make map name next open parse pop post process push put query read
    remove render replace reset run save search select send set show size split start state status stop submit test time update value values wait
    write
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Names that methods of all sorts of things have: only their receiver says what they do."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call, or the name of one. `receiver` is what it is called on, part by part.

    `literals` are the sorts of its plain values without a name: "number", "string"; a string that begins with a digit is a number (`"5s"`).
    `is_made` says that it is called, assigned to, or the first word, as in `get_order 17`; `is_value` that it is only given to something, as
    `userText` is in `element.innerHTML = userText`.
    """

    name: str
    receiver: tuple[str, ...] = ()
    given: frozenset[Argument] = frozenset()
    is_made: bool = True
    is_value: bool = False
    literals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a text; apart those that it denies, takes away or only speaks of.

    `instructions` are the texts that a call is given to execute, `given` the arguments that stand in no call. `has_code` says that anything at all
    is called.
    """

    calls: tuple[Call, ...] = ()
    withdrawn: tuple[Call, ...] = ()
    instructions: tuple[str, ...] = ()
    given: frozenset[Argument] = frozenset()
    has_code: bool = False


def calls_in(text: str) -> Calls:
    """Reads a text. JSON of tool calls is those calls."""
    return _tool_calls(text) or _Reader(text[:READ_CHARS]).read()


def is_generic(name: str) -> bool:
    """Returns True if methods of all sorts of things have this name."""
    return name.lower() in _GENERIC


def is_same_call(pattern: Call, action: Call, words: frozenset[str] = frozenset()) -> bool:
    """Returns True if an action calls what a pattern names: on a like thing, and with all arguments that the pattern gives.

    `words` are those of the pattern, in lower case: one of them may name the thing.
    """
    is_call = pattern.is_made or action.is_made  # `config.yaml` may be the name of anything
    return is_call and names_the_same(pattern, action, words)


def names_the_same(pattern: Call, action: Call, words: frozenset[str] = frozenset()) -> bool:
    """As `is_same_call`, where neither need be called: `response.ok` is only read."""
    is_same_name = pattern.name == action.name or (_is_compound(pattern.name) and _parts(pattern.name) == _parts(action.name))
    is_other = {*pattern.literals, *action.literals} == _SORTS and len(pattern.literals) == len(action.literals) == 1
    return is_same_name and not is_other and pattern.given <= action.given and _are_alike(pattern, action, words)


def _are_alike(pattern: Call, action: Call, words: frozenset[str]) -> bool:
    """Returns True if two calls of one name are of the same thing, as far as their receivers show."""
    theirs = action.receiver[-1] if action.receiver else ""
    if not pattern.receiver:
        return not theirs or theirs.lower() in _OWN or not is_generic(action.name)
    ours = pattern.receiver[-1]
    if not theirs or _abbreviates(ours.lower(), theirs.lower()):
        return True
    if not is_generic(action.name):  # a variable may have any name, a module has its own
        return ours not in sys.stdlib_module_names
    is_type = ours[:1].isupper() and not ours.isupper()
    return is_type and (theirs == _RESULT or theirs.lower() in words)


def _abbreviates(one: str, other: str) -> bool:
    """Returns True if two names are equal or one is short for the other: `e` for `error`, `arr` for `array`."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) <= 3 and long.startswith(short))


def _parts(name: str) -> list[str]:
    """The words of a name in lower case: those of `waitForTimeout` and `wait_for_timeout` are the same."""
    return [part.lower() for part in _PARTS.findall(name)]


def _is_compound(name: str) -> bool:
    """Returns True if a name is made of several words, as those in code often are."""
    return _COMPOUND.match(name) is not None


@dataclass(slots=True)
class _Draft:
    """A call whose arguments are still being read."""

    name: str = ""
    receiver: tuple[str, ...] = ()
    is_made: bool = False
    is_value: bool = False
    is_withdrawn: bool = False
    given: set[Argument] = field(default_factory=set)
    literals: set[str] = field(default_factory=set)

    @property
    def is_executing(self) -> bool:
        return self.name.lower() in _EXECUTING

    def done(self) -> Call:
        return Call(self.name, self.receiver, frozenset(self.given), self.is_made, self.is_value, frozenset(self.literals))


class _Reader:
    """Reads the calls of one text that is not JSON. `_scopes` are the calls whose brackets are open, the innermost last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_TOKEN.finditer(text.replace("`", " ")))
        self._outside = _Draft()
        self._scopes = [self._outside]
        self._drafts: list[_Draft] = []
        self._called: _Draft | None = None
        self._instructions = [quoted[1] for quoted in _BACKTICKS.finditer(text) if not self._is_withdrawn(quoted.start())]

    def read(self) -> Calls:
        takes = {
            "name": self._take_name,
            "string": self._take_string,
            "number": self._take_number,
            "opening": self._open,
            "closing": self._close,
        }
        for place, token in enumerate(self._tokens):
            if token.lastgroup in takes:
                takes[token.lastgroup](place)
        return Calls(
            _different(draft.done() for draft in self._drafts if not draft.is_withdrawn),
            _different(draft.done() for draft in self._drafts if draft.is_withdrawn),
            tuple(self._instructions),
            frozenset(self._outside.given),
            has_code=any(token.lastgroup == "name" and self._is_called(token) for token in self._tokens),
        )

    def _take_name(self, place: int) -> None:
        token = self._tokens[place]
        given = self._given_by_name(place)
        if given:
            self._scopes[-1].given.add(given)
            if given[0] in INSTRUCTIONS:
                self._instructions.append(self._piece(place + 2).strip(_QUOTES))
        is_called = self._is_called(token)
        if is_called or (not given and ("." in token[0][1:] or _is_compound(token[0]) or self._is_chained(token))):
            draft = self._draft(place, is_called=is_called)
            self._drafts.append(draft)
            self._called = draft if is_called else None

    def _take_string(self, place: int) -> None:
        scope, text = self._scopes[-1], self._piece(place).strip(_QUOTES)
        if scope is self._outside or self._piece(place - 1) in ("=", ":"):
            return
        scope.given.add(("", text.lower()))
        scope.literals.add("number" if text[:1].isdigit() else "string")
        if scope.is_executing:
            self._instructions.append(text)

    def _take_number(self, place: int) -> None:
        if self._piece(place - 1) not in ("=", ":"):
            self._scopes[-1].literals.add("number")

    def _open(self, place: int) -> None:
        self._scopes.append(self._called if self._called and self._piece(place) == "(" else self._scopes[-1])
        self._called = None

    def _close(self, _: int) -> None:
        if len(self._scopes) > 1:
            self._scopes.pop()

    def _draft(self, place: int, *, is_called: bool) -> _Draft:
        token = self._tokens[place]
        *receiver, name = (part for part in _JOINTS.split(token[0]) if part)
        if token[0].startswith("."):
            receiver.insert(0, _RESULT)
        is_given = self._scopes[-1] is not self._outside or self._piece(place - 1) == "="
        is_constant = is_given and name.isupper()
        is_first = not self._text[: token.start()].strip()
        return _Draft(
            name,
            tuple(receiver),
            is_made=is_called or is_constant or is_first or self._piece(place + 1) == "=",
            is_value=is_given and not is_called and not is_constant,
            is_withdrawn=self._is_withdrawn(token.start()),
        )

    def _given_by_name(self, place: int) -> Argument | None:
        """The argument that begins with this name, if a plain value is given to it: outside of calls, one that can be no name."""
        if self._piece(place + 1) not in ("=", ":") or place + 2 >= len(self._tokens) or "." in self._piece(place):
            return None
        kind, value = self._tokens[place + 2].lastgroup, self._piece(place + 2).strip(_QUOTES).lower()
        is_name = kind == "name" and value not in ("true", "false")
        if kind not in ("string", "number", "name") or (is_name and self._scopes[-1] is self._outside):
            return None
        return self._piece(place).lower(), value

    def _piece(self, place: int) -> str:
        """The text of a token, "" where there is none."""
        return self._tokens[place][0] if 0 <= place < len(self._tokens) else ""

    def _is_called(self, token: re.Match[str]) -> bool:
        return self._text[token.end() : token.end() + 1] == "("

    def _is_chained(self, token: re.Match[str]) -> bool:
        """Returns True if a name is read from what a call returns: `exec` in `Runtime.getRuntime().exec`."""
        return token[0].startswith(".") and self._text[token.start() - 1 : token.start()] == ")"

    def _is_withdrawn(self, start: int) -> bool:
        """Returns True if the words before a place take away what stands there, or only speak of it."""
        return _WITHDRAWN.search(self._text, max(start - _BEFORE, 0), start) is not None


def _different(calls: Iterable[Call]) -> tuple[Call, ...]:
    return tuple(islice(dict.fromkeys(calls), MOST_CALLS))


def _tool_calls(text: str) -> Calls | None:
    """The tool calls that a text is the JSON of; `None` for any other text."""
    if not text.startswith(("{", "[")):
        return None
    value = _decoded(text)
    found = [call for item in (value if isinstance(value, list) else [value]) if (call := _tool_call(item))]
    if not found:
        return None
    instructions = tuple(instruction for _, given in found for instruction in given)
    return Calls(_different(call for call, _ in found), instructions=instructions, has_code=True)


def _tool_call(value: object) -> tuple[Call, Sequence[str]] | None:
    """One tool call with what it is given to execute."""
    if not isinstance(value, dict):
        return None
    name: Any = next((value[key] for key in _TOOL_NAMES if key in value), None)
    if isinstance(name, dict):  # {"function": {"name": …, "arguments": …}}
        return _tool_call(name)
    arguments: Any = next((value[key] for key in _TOOL_ARGUMENTS if key in value), None)
    given = _decoded(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(name, str) or not isinstance(given, dict):
        return None
    return Call(name, (), frozenset(_plain(given))), [str(given[key]) for key in given if key.lower() in INSTRUCTIONS]


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(arguments: Mapping[str, object]) -> Iterator[Argument]:
    return ((name.lower(), str(value).lower()) for name, value in arguments.items() if isinstance(value, str | int | float))
