"""Calls of functions, methods and tools in a text: `time.sleep(5)`, `refund(method="card")`, a tool call as JSON, a name such as `page.click`.

Reading takes one pass, in time linear in the text. What stands in quotes or in a comment is mentioned, not called, unless it is given to something
that executes it.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alma_learning.word_lists import read_lists

READ_CHARS, MOST_CALLS = 20_000, 300
"""Calls are looked for in so many characters of a text, and so many are kept."""

Argument = tuple[str, str]
"""Name and value, in lower case and without quotes. A quoted text that is given without a name has the name ""; other such values do not count."""

_WORDS = read_lists("calls")
_TOKEN = re.compile(
    r"""(?P<comment>(?:(?<=\s)|^)(?:\#|//|--)\s[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.?)*(?:"|$) | (?<!\w)'(?:[^'\\\n]|\\.?)*(?:'|$))
      | (?P<name>\.?[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*)
      | (?P<number>-?\d[\w.]*) | (?P<opening>[(\[{]) | (?P<closing>[)\]}]) | (?P<giving>[=:])""",
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
"""Within so many characters before a call stand the words that withdraw it."""
_RESULT = "()"
"""The receiver of a call that is made on what another one returned."""


@dataclass(slots=True)
class Call:
    """A call, or the name of one. `receiver` is what it is called on, part by part.

    `sorts` are those of its plain values without a name: "number", "string"; a string that begins with a digit is a number (`"5s"`). `is_made` says
    that it is called, assigned to, or the first word, as in `get_order 17`; `is_value` that it is only given to something, as `userText` is in
    `element.innerHTML = userText`.
    """

    name: str = ""
    receiver: tuple[str, ...] = ()
    given: set[Argument] = field(default_factory=set)
    is_made: bool = True
    is_value: bool = False
    sorts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Calls:
    """The calls of a text, and those that it denies, takes away or only speaks of.

    `instructions` are the texts that a call is given to execute, `given` the arguments that stand in no call; `has_code` says that anything at all
    is called.
    """

    calls: list[Call] = field(default_factory=list)
    withdrawn: list[Call] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)
    given: set[Argument] = field(default_factory=set)
    has_code: bool = False


def read_calls(text: str) -> Calls:
    """Returns the calls of a text. JSON of tool calls is those calls."""
    found = _tool_calls(text) or _Reader(text[:READ_CHARS]).read()
    return Calls(found.calls[:MOST_CALLS], found.withdrawn[:MOST_CALLS], found.instructions, found.given, found.has_code)


def is_generic(name: str) -> bool:
    """Returns True if methods of all sorts of things have this name."""
    return name.lower() in _WORDS["generic"]


def is_same_call(pattern: Call, action: Call, words: frozenset[str] = frozenset()) -> bool:
    """Returns True if an action calls what a pattern names: on a like thing, and with all arguments that the pattern gives.

    `words` are those of the pattern, in lower case: one of them may name the thing.
    """
    is_call = pattern.is_made or action.is_made  # `config.yaml` may be the name of anything
    return is_call and names_the_same(pattern, action, words)


def names_the_same(pattern: Call, action: Call, words: frozenset[str] = frozenset()) -> bool:
    """As `is_same_call`, where neither need be called: `response.ok` is only read."""
    is_same_name = pattern.name == action.name or (is_compound(pattern.name) and _parts(pattern.name) == _parts(action.name))
    is_other_sort = len(pattern.sorts) == len(action.sorts) == 1 and pattern.sorts != action.sorts
    return is_same_name and not is_other_sort and pattern.given <= action.given and _are_alike(pattern, action, words)


def is_compound(name: str) -> bool:
    """Returns True if a name is made of several words, as those in code often are."""
    return _COMPOUND.match(name) is not None


def _are_alike(pattern: Call, action: Call, words: frozenset[str]) -> bool:
    """Returns True if two calls of one name are of the same thing, as far as their receivers show."""
    theirs = action.receiver[-1] if action.receiver else ""
    if not pattern.receiver:
        return not theirs or theirs.lower() in _WORDS["own"] or not is_generic(action.name)
    ours = pattern.receiver[-1]
    short, long = sorted((ours.lower(), theirs.lower()), key=len)
    if short == long or (len(short) <= 3 and long.startswith(short)):  # `e` for `error`, `arr` for `array`
        return True
    if not is_generic(action.name):  # a variable may have any name, a module has its own
        return ours not in sys.stdlib_module_names
    return ours[:1].isupper() and not ours.isupper() and (theirs == _RESULT or theirs.lower() in words)


def _parts(name: str) -> list[str]:
    """The words of a name in lower case: those of `waitForTimeout` and `wait_for_timeout` are the same."""
    return [part.lower() for part in _PARTS.findall(name)]


class _Reader:
    """Reads the calls of one text that is not JSON. `_scopes` are the calls whose brackets are open, the innermost last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_TOKEN.finditer(text.replace("`", " ")))
        self._scopes = [Call()]
        self._called: Call | None = None
        quoted = (found for found in _BACKTICKS.finditer(text) if not self._is_withdrawn(found.start()))
        self._found = Calls(instructions=[found[1] for found in quoted])

    def read(self) -> Calls:
        for place, token in enumerate(self._tokens):
            match token.lastgroup:
                case "name":
                    self._take_name(place, token)
                case "string" | "number":
                    self._take_value(place, str(token.lastgroup))
                case "opening":
                    self._scopes.append(self._called if self._called and token[0] == "(" else self._scopes[-1])
                    self._called = None
                case "closing" if len(self._scopes) > 1:
                    self._scopes.pop()
        self._found.given = self._scopes[0].given
        return self._found

    def _take_name(self, place: int, token: re.Match[str]) -> None:
        argument, is_called = self._argument(place), self._text[token.end() : token.end() + 1] == "("
        if argument:
            self._scopes[-1].given.add(argument)
            if argument[0] in _WORDS["instructions"]:
                self._found.instructions.append(_unquoted(self._piece(place + 2)))
        is_chained = token[0][0] == "." and self._text[token.start() - 1 : token.start()] == ")"  # `exec` in `getRuntime().exec`
        if is_called or (not argument and ("." in token[0][1:] or is_compound(token[0]) or is_chained)):
            call = self._call(place, token, is_called=is_called)
            (self._found.withdrawn if self._is_withdrawn(token.start()) else self._found.calls).append(call)
            self._found.has_code |= is_called
            self._called = call if is_called else None

    def _take_value(self, place: int, sort: str) -> None:
        scope, text = self._scopes[-1], _unquoted(self._piece(place))
        if self._piece(place - 1) in ("=", ":") or len(self._scopes) == 1:
            return
        scope.sorts.add("number" if text[:1].isdigit() else sort)
        if sort == "string":
            scope.given.add(("", text.lower()))
            if scope.name.lower() in _WORDS["executing"]:
                self._found.instructions.append(text)

    def _call(self, place: int, token: re.Match[str], *, is_called: bool) -> Call:
        *receiver, name = (part for part in _JOINTS.split(token[0]) if part)
        is_given = self._scopes[-1] is not self._scopes[0] or self._piece(place - 1) == "="
        is_constant = is_given and name.isupper()
        is_first = not self._text[: token.start()].strip()
        return Call(
            name,
            (*([_RESULT] if token[0].startswith(".") else []), *receiver),
            is_made=is_called or is_constant or is_first or self._piece(place + 1) == "=",
            is_value=is_given and not is_called and not is_constant,
        )

    def _argument(self, place: int) -> Argument | None:
        """The argument that begins with this name, if a plain value is given to it: outside of calls, one that can be no name."""
        if self._piece(place + 1) not in ("=", ":") or place + 2 >= len(self._tokens) or "." in self._piece(place):
            return None
        kind, value = self._tokens[place + 2].lastgroup, _unquoted(self._piece(place + 2)).lower()
        is_name = kind == "name" and value not in ("true", "false") and len(self._scopes) == 1
        return (self._piece(place).lower(), value) if kind in ("string", "number", "name") and not is_name else None

    def _piece(self, place: int) -> str:
        return self._tokens[place][0] if 0 <= place < len(self._tokens) else ""

    def _is_withdrawn(self, start: int) -> bool:
        """Returns True if the words before a place take away what stands there, or only speak of it."""
        return _WITHDRAWN.search(self._text, max(start - _BEFORE, 0), start) is not None


def _unquoted(text: str) -> str:
    return text.strip("\"'")


def _tool_calls(text: str) -> Calls | None:
    """The tool calls that a text is the JSON of; `None` for any other text."""
    value = _decoded(text) if text.startswith(("{", "[")) else None
    found = [call for item in (value if isinstance(value, list) else [value]) if (call := _tool_call(item))]
    instructions = [instruction for _, given in found for instruction in given]
    return Calls([call for call, _ in found], instructions=instructions, has_code=True) if found else None


def _tool_call(value: object) -> tuple[Call, Sequence[str]] | None:
    """One tool call with what it is given to execute."""
    if not isinstance(value, Mapping):
        return None
    name: Any = next((value[key] for key in value if key in _WORDS["tool_names"]), None)
    if isinstance(name, Mapping):  # {"function": {"name": …, "arguments": …}}
        return _tool_call(name)
    arguments: Any = next((value[key] for key in value if key in _WORDS["tool_arguments"]), None)
    given = _decoded(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(name, str) or not isinstance(given, Mapping):
        return None
    plain = {(key.lower(), str(one).lower()) for key, one in given.items() if isinstance(one, str | int | float)}
    return Call(name, (), plain), [str(given[key]) for key in given if key.lower() in _WORDS["instructions"]]


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
