"""Calls of functions, methods and tools in a text: `time.sleep(5)`, `refund(method="card")`, a tool call as JSON, a name such as `page.click`.

Read in one pass, in time linear in the text, whatever it holds. What stands in quotes or in a comment is mentioned, not called, unless it is
given to something that executes it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

READ_CHARS = 20_000
"""Calls are looked for in this many characters of a text."""

INSTRUCTIONS = frozenset(("cmd", "code", "command", "content", "new_string", "query", "script", "sql"))
"""Arguments whose value is itself what is done."""

Argument = tuple[str, str]
"""Name and value, in lower case and without quotes."""

_TOKEN = re.compile(
    r"""(?P<comment>(?:(?<=\s)|^)(?:\#|//|--)\s[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.?)*(?:"|$) | (?<!\w)'(?:[^'\\\n]|\\.?)*(?:'|$))
      | (?P<name>\.?[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*)
      | (?P<number>-?\d[\w.]*)
      | (?P<sign>[(){}\[\]=:])
    """,
    re.VERBOSE | re.MULTILINE,
)
_BACKTICKS = re.compile(r"`([^`\n]+)`")
_JOINTS = re.compile(r"\.|::|->|\?\.")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COMPOUND = re.compile(r"[a-z][a-z\d]*[A-Z]|\w*[A-Za-z\d]_[A-Za-z\d]")
"""GraphQL and JavaScript are names of things; names in code begin with a small letter."""
_WITHDRAWN = re.compile(
    r"""\b(?: never | not | \w+n't | without | no | avoid\w* | instead | rather\ than | in\ place\ of | rid\ of
          | (?:delet|drop|eliminat|forbid|purg|remov|replac|strip)\w*
          | describ\w* | detect\w* | document\w* | explain\w* | flag\w* | mention\w* | (?:grep|look|scan|search)\w*(?:\ \w+){0,3}\ for)
        [\w\s'-]{0,30}$""",
    re.VERBOSE | re.IGNORECASE,
)
_BEFORE = 60
"""Words that withdraw a call stand in so many characters before it."""

_EXECUTING = frozenset(("call", "check_call", "check_output", "exec", "execsync", "execute", "popen", "query", "raw", "run", "spawn", "system"))
_TOOL_NAMES = ("name", "tool_name", "tool", "function")
_TOOL_ARGUMENTS = ("arguments", "input", "args", "parameters", "params", "tool_input")
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
"""Names that methods of all sorts of things have: their receiver says what they do."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call, or the name of one. `receiver` is what it is called on, part by part.

    `is_made` says that it is called, assigned to, or the first word, as in `get_order 17`; `is_value` that it is only given to something, as
    `userText` is in `element.innerHTML = userText`.
    """

    name: str
    receiver: tuple[str, ...] = ()
    given: frozenset[Argument] = frozenset()
    is_made: bool = True
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a text in order; apart those that it denies, takes away or only speaks of.

    `instructions` are the texts that a call is given to execute, `given` the arguments that stand in no call.
    """

    calls: tuple[Call, ...] = ()
    withdrawn: tuple[Call, ...] = ()
    instructions: tuple[str, ...] = ()
    given: frozenset[Argument] = frozenset()
    has_code: bool = False


def calls_in(text: str) -> Calls:
    """Reads a text. JSON of tool calls is those calls."""
    return _tool_calls(text) or _calls(text[:READ_CHARS])


def parts_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case: those of `waitForTimeout` and `wait_for_timeout` are the same."""
    return tuple(part.lower() for part in _PARTS.findall(name))


def is_compound(name: str) -> bool:
    """Whether a name is made of several words, as those in code often are."""
    return _COMPOUND.match(name) is not None


def is_generic(name: str) -> bool:
    """Whether methods of all sorts of things have this name."""
    return name.lower() in _GENERIC


def is_same_call(pattern: Call, action: Call, words: frozenset[str] = frozenset()) -> bool:
    """Whether an action calls what a pattern names: on a like thing, and with all arguments that the pattern gives by name.

    `words` are those of the pattern, in lower case: one of them may name the thing.
    """
    if not (pattern.is_made or action.is_made):  # `config.yaml` may be the name of anything
        return False
    is_same_name = pattern.name == action.name or (is_compound(pattern.name) and parts_of(pattern.name) == parts_of(action.name))
    return is_same_name and pattern.given <= action.given and _are_alike(pattern, action, words)


def _are_alike(pattern: Call, action: Call, words: frozenset[str]) -> bool:
    """Whether two calls of one name are of the same thing, as far as their receivers show."""
    theirs = action.receiver[-1] if action.receiver else ""
    if not pattern.receiver:
        return not theirs or theirs.lower() in _OWN or not is_generic(action.name)
    ours = pattern.receiver[-1]
    if not theirs or ours == theirs or _abbreviates(ours, theirs) or not is_generic(action.name):
        return True
    is_type = ours[:1].isupper() and not ours.isupper()
    return is_type and (theirs == _RESULT or theirs.lower() in words)


def _abbreviates(one: str, other: str) -> bool:
    short, long = sorted((one.lower(), other.lower()), key=len)
    return len(short) <= 3 and long.startswith(short)


@dataclass(slots=True)
class _Draft:
    """A call whose arguments are still being read."""

    name: str
    receiver: tuple[str, ...] = ()
    is_called: bool = False
    is_made: bool = False
    is_value: bool = False
    is_withdrawn: bool = False
    given: set[Argument] = field(default_factory=set)

    @property
    def is_executing(self) -> bool:
        return self.name.lower() in _EXECUTING

    def done(self) -> Call:
        return Call(self.name, self.receiver, frozenset(self.given), self.is_made, self.is_value)


def _calls(text: str) -> Calls:
    tokens = list(_TOKEN.finditer(text.replace("`", " ")))
    outside = _Draft("")
    drafts, scopes = list[_Draft](), [outside]
    instructions = [quoted[1] for quoted in _BACKTICKS.finditer(text) if not _is_withdrawn(text, quoted.start())]
    opening: _Draft | None = None
    for place, token in enumerate(tokens):
        if token.lastgroup == "name":
            given = _given_by_name(tokens, place, is_outside=scopes[-1] is outside)
            if given:
                scopes[-1].given.add(given)
                instructions += [tokens[place + 2][0].strip("\"'")] if given[0] in INSTRUCTIONS else []
            is_called = text[token.end() : token.end() + 1] == "("
            if is_called or (not given and _is_name(token[0])):
                before, after = ("" if not 0 <= near < len(tokens) else tokens[near][0] for near in (place - 1, place + 1))
                is_given = scopes[-1] is not outside or before == "="
                opening = _draft(token, text, is_called=is_called)
                is_constant = is_given and _is_constant(token[0])
                opening.is_made = is_called or is_constant or after == "=" or not text[: token.start()].strip()
                opening.is_value = is_given and not is_called and not is_constant
                drafts.append(opening)
        elif token[0] in ("(", "[", "{"):
            scopes.append(opening if opening and opening.is_called and token[0] == "(" else scopes[-1])
            opening = None
        elif token[0] in (")", "]", "}") and len(scopes) > 1:
            scopes.pop()
        elif token.lastgroup == "string" and scopes[-1].is_executing:
            instructions.append(token[0].strip("\"'"))
    return Calls(
        tuple(draft.done() for draft in drafts if not draft.is_withdrawn),
        tuple(draft.done() for draft in drafts if draft.is_withdrawn),
        tuple(instructions),
        frozenset(outside.given),
        any(draft.is_called for draft in drafts),
    )


def _draft(token: re.Match[str], text: str, *, is_called: bool) -> _Draft:
    *receiver, name = (part for part in _JOINTS.split(token[0]) if part)
    if token[0].startswith("."):
        receiver.insert(0, _RESULT)
    return _Draft(name, tuple(receiver), is_called=is_called, is_withdrawn=_is_withdrawn(text, token.start()))


def _is_withdrawn(text: str, place: int) -> bool:
    """Whether the words before a place take away what stands there, or only speak of it."""
    return _WITHDRAWN.search(text, max(place - _BEFORE, 0), place) is not None


def _is_name(token: str) -> bool:
    return "." in token[1:] or is_compound(token)


def _is_constant(name: str) -> bool:
    return name.rpartition(".")[2].isupper()


def _given_by_name(tokens: Sequence[re.Match[str]], place: int, *, is_outside: bool) -> Argument | None:
    """The argument that begins with this name, if a plain value is given to it: outside of calls, one that can be no name."""
    if place + 2 >= len(tokens) or tokens[place + 1][0] not in ("=", ":") or "." in tokens[place][0]:
        return None
    kind, value = tokens[place + 2].lastgroup, tokens[place + 2][0].strip("\"'").lower()
    if kind not in ("string", "number", "name") or (is_outside and kind == "name" and value not in ("true", "false")):
        return None
    return tokens[place][0].lower(), value


def _tool_calls(text: str) -> Calls | None:
    if not text.startswith(("{", "[")):
        return None
    value = _decoded(text)
    found = [call for item in (value if isinstance(value, list) else [value]) if (call := _tool_call(item))]
    if not found:
        return None
    calls = tuple(call for call, _ in found)
    return Calls(calls, instructions=tuple(text for _, texts in found for text in texts), has_code=True)


def _tool_call(value: object) -> tuple[Call, Sequence[str]] | None:
    if not isinstance(value, dict):
        return None
    name: Any = next((value[key] for key in _TOOL_NAMES if key in value), None)
    if isinstance(name, dict):
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
    for name, value in arguments.items():
        if isinstance(value, str | int | float):
            yield name.lower(), str(value).lower()
