"""A tool call in words: which values of its arguments are told."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool

from alma.text import masked

SHORT_CHARS = 40
"""Texts up to this length are told as the way that was chosen."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool. `choices` names the arguments whose values are among those that the tool lists, or are true or false."""

    name: str
    arguments: Mapping[str, Any]
    choices: frozenset[str] = frozenset()


def tool_with_short_values(use: ToolUse) -> str:
    """A tool call with what it chose and its other short values, `deploy(service="auth", way="rolling")`.

    Longer texts, lists and the like are left out, for they vary too much to teach. What is named like a secret is told as `***`.
    """
    return _called(use, {name: value for name, value in use.arguments.items() if name in use.choices or _is_short(value)})


def tool_with_choices(use: ToolUse) -> str:
    """A tool call with its choices alone, `deploy(service, way="rolling")`, for tools whose other values are private."""
    return _called(use, {name: value for name, value in use.arguments.items() if name in use.choices})


def tool_with_arguments(use: ToolUse) -> str:
    """A tool call with all its values, for tools whose longer ones tell one way of working from another. Secrets are told as `***`."""
    return _called(use, use.arguments)


def choices_of(tool: BaseTool | None) -> dict[str, list[Any]]:
    """The arguments of a tool that take one of a few values, and these, by its schema."""
    if tool is None:
        return {}
    schema = _schema_of(tool)
    found = {name: _listed(part, schema.get("$defs", {})) for name, part in schema.get("properties", {}).items()}
    return {name: values for name, values in found.items() if values}


def used(name: str, arguments: Mapping[str, Any], choices: Mapping[str, list[Any]]) -> ToolUse:
    """A call, by what its tool lists."""
    chosen = {key for key, value in arguments.items() if isinstance(value, bool) or value in choices.get(key, ())}
    return ToolUse(name, arguments, frozenset(chosen))


def _schema_of(tool: BaseTool) -> dict[str, Any]:
    given: Any = tool.tool_call_schema
    if isinstance(given, dict):
        return given
    found: dict[str, Any] = given.model_json_schema() if hasattr(given, "model_json_schema") else given.schema()  # of pydantic 1
    return found


def _listed(part: Mapping[str, Any], defined: Mapping[str, Any]) -> list[Any]:
    """The values that a schema lists; none if it allows any other."""
    if "$ref" in part:
        return _listed(defined.get(str(part["$ref"]).rpartition("/")[2], {}), defined)
    if "const" in part:
        return [part["const"]]
    if "anyOf" in part:
        each = [_listed(one, defined) for one in part["anyOf"] if one.get("type") != "null"]
        return [value for values in each for value in values] if all(each) else []
    return [value for value in part.get("enum", ()) if isinstance(value, Hashable)]


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT_CHARS and value.isprintable()
    return value is None or isinstance(value, bool | int | float)


def _called(use: ToolUse, values: Mapping[str, Any]) -> str:
    told = masked(values)
    said = [
        f"{name}={json.dumps(told[name], default=str, ensure_ascii=False)}" if name in told else str(name)
        for name in sorted(use.arguments, key=str)
    ]
    return f"{use.name}({', '.join(said)})" if said else use.name
