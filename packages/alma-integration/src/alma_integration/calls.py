"""Describes tool calls in words, the same in every framework.

Two calls that do the same thing for two tasks must read the same, or nothing is learned from them together. So a call is named without
the values that vary from task to task: words of the task itself, numbers, ids, paths, times, addresses and longer texts. What is left is
what the agent chose: `deploy(service, way="rolling")`.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from alma.text import cleaned, normalised, one_line, shortened

CHOICE_CHARS = 40
CHOICE_WORDS = 3
"""A text argument up to these lengths can be a choice."""
VALUE_CHARS = 200
"""`call_with_arguments` shortens each value to this length."""
MOST_SCHEMAS = 1_000
"""Limit on the tools whose schemas `schema_of` keeps."""

_PLAIN = (str, int, bool)
_SHORT_NUMBER = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile("passw|passphrase|pwd|secret|credential|authori[sz]ation|api_?key|(?:^|_)key(?:_|$)|token(?:_|$)")
_ADDRESS = re.compile(r"\S@\S|://")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool. `choices` names the arguments whose values the tool's schema lists; `task` is the task of the run."""

    name: str
    arguments: Mapping[str, Any]
    choices: frozenset[str] = frozenset()
    task: str = ""


def named_call(use: ToolUse) -> str:
    """Returns the call with the values chosen and without varying ones: `deploy(service, way="rolling")`. Secrets are shown as `***`."""
    return _called(
        use, {name: value for name, value in use.arguments.items() if name in use.choices or _is_choice(value, use.task)}
    )


def call_with_choices(use: ToolUse) -> str:
    """Returns the call with values from the tool's schema only, `deploy(service, way="rolling")`: for tools whose other values are
    private."""
    return _called(use, {name: value for name, value in use.arguments.items() if name in use.choices or isinstance(value, bool)})


def call_with_arguments(use: ToolUse) -> str:
    """Returns the call with all its values, each up to 200 characters. Secrets are shown as `***`."""
    return _called(use, use.arguments)


def tool_use(name: str, arguments: object, *, schema: Mapping[str, Any] | None = None, task: str = "") -> ToolUse:
    """Builds a call from what the framework provides: arguments as a mapping, or as the JSON text that the model wrote, without those of
    JSON that cannot be read; `schema` is the tool's JSON schema."""
    given = _read(arguments)
    listed = choices_of(schema or {})
    chosen = (key for key, value in given.items() if isinstance(value, _PLAIN) and value in listed.get(str(key), ()))
    return ToolUse(name, given, frozenset(chosen), task)


@lru_cache(MOST_SCHEMAS)
def schema_of(arguments: type[BaseModel]) -> Mapping[str, Any]:
    """Returns the JSON schema of a tool's arguments, which pydantic makes slowly: once for all calls and runs. It is read-only."""
    return MappingProxyType(arguments.model_json_schema())


def choices_of(schema: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Returns the arguments of a JSON schema that take one of a few values, with these values."""
    try:
        found = {name: _listed(part, schema.get("$defs", {})) for name, part in (schema.get("properties") or {}).items()}
    except (AttributeError, KeyError, RecursionError, TypeError):  # no JSON schema
        return {}
    return {name: values for name, values in found.items() if values}


def _listed(part: Any, defined: Mapping[str, Any]) -> list[Any]:
    """Returns the values that a schema lists; none if it allows any other."""
    if not isinstance(part, Mapping):
        return []
    if "$ref" in part:
        return _listed(defined.get(str(part["$ref"]).rpartition("/")[2], {}), defined)
    if "const" in part:
        return [part["const"]]
    if "anyOf" in part:
        each = [_listed(one, defined) for one in part["anyOf"] if one.get("type") != "null"]
        return [value for values in each for value in values] if all(each) else []
    return [value for value in part.get("enum", ()) if isinstance(value, _PLAIN)]


def _is_choice(value: Any, task: str) -> bool:
    if isinstance(value, bool):
        return True
    if not isinstance(value, str) or len(value) > CHOICE_CHARS or not value.isprintable():
        return False
    said = normalised(value)
    if not said or len(said.split()) > CHOICE_WORDS or _varies(value):
        return False
    return f" {said} " not in f" {normalised(task)} "


def _varies(value: str) -> bool:
    """Returns True when a text holds a time, a path, an id, an address or a longer number. Short numbers are part of names: `eu-west-1`,
    `gpt-4o`."""
    if any(mark in cleaned(value) for mark in ("<id>", "<path>", "<time>")) or _ADDRESS.search(value):
        return True
    without = _SHORT_NUMBER.sub("", value) if any(character.isalpha() for character in value) else value
    return cleaned(without) != one_line(without)


def _called(use: ToolUse, values: Mapping[str, Any]) -> str:
    shown = mask(values)
    said = [f"{name}={_value(shown[name])}" if name in shown else str(name) for name in sorted(use.arguments, key=str)]
    return f"{use.name}({', '.join(said)})" if said else use.name


def _value(value: Any) -> str:
    try:
        return shortened(json.dumps(value, default=type_of, ensure_ascii=False), VALUE_CHARS)
    except (TypeError, ValueError, RecursionError):
        return type_of(value)


def type_of(value: Any) -> str:
    """Returns the type of a value that is none of JSON, in its place."""
    return f"<{type(value).__name__}>"


def _read(arguments: object) -> Mapping[str, Any]:
    if isinstance(arguments, str) and arguments.strip():
        is_json = arguments.lstrip().startswith(("{", "["))
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {} if is_json else {"input": arguments}  # a secret in JSON that is cut short has no name by which to mask it
    if isinstance(arguments, Mapping):
        return arguments
    return {"input": arguments} if arguments else {}


def mask(arguments: Mapping[str, object]) -> dict[str, object]:
    """Returns the arguments of a call with `***` for values whose names look secret (`password`, `api_key`, `Authorization`), nested ones
    too."""
    return {name: "***" if _is_secret(str(name)) else _mask_inside(value) for name, value in arguments.items()}


def clean_values(value: Any, stored: Callable[[str], str]) -> Any:
    """Returns a value with `stored` applied to each text in it: before JSON escapes or a cut hide a secret from it."""
    if isinstance(value, str):
        return stored(value)
    if isinstance(value, Mapping):
        return {name: clean_values(item, stored) for name, item in value.items()}
    return [clean_values(item, stored) for item in value] if isinstance(value, list | tuple) else value


def _is_secret(name: str) -> bool:
    return _SECRET.search(_HUMP.sub("_", name).lower().replace("-", "_")) is not None


def _mask_inside(value: object) -> object:
    if isinstance(value, Mapping):
        return mask(value)
    return [_mask_inside(item) for item in value] if isinstance(value, list | tuple) else value
