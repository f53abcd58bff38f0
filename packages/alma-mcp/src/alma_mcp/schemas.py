"""JSON schemas without what a model does not need: titles, nulls, defaults that are null."""

from collections.abc import Callable
from typing import Any

from alma_mcp.tools.arguments import HIDDEN


def input_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a tool's arguments, short. An argument that may be left out may also be null; that is not listed."""
    named = schema.get("$defs", {})
    short = _short(schema)
    properties = {
        name: _with_refs_inlined(value, named, input_schema)
        for name, value in short.get("properties", {}).items()
        if not value.get(HIDDEN)
    }
    return {"type": "object", **({"required": short["required"]} if "required" in short else {}), "properties": properties}


def output_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a tool's answer, short: field names and types, without the text of docstrings."""
    named = schema.get("$defs", {})
    short = _short(schema, drops=("title", "description", "additionalProperties", "default"))
    return {key: _with_refs_inlined(value, named, output_schema) for key, value in short.items() if key != "$defs"}


def _with_refs_inlined(schema: Any, named: dict[str, Any], shortened: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(schema, list):
        return [_with_refs_inlined(each, named, shortened) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return shortened({**named[schema["$ref"].rpartition("/")[2]], "$defs": named})
    return {key: _with_refs_inlined(value, named, shortened) for key, value in schema.items()}


def _short(schema: Any, drops: tuple[str, ...] = ("title", "additionalProperties")) -> Any:
    if isinstance(schema, list):
        return [_short(each, drops) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "anyOf" in schema:
        (kept,) = [each for each in schema["anyOf"] if each != {"type": "null"}][:1]
        schema = {**kept, **{key: value for key, value in schema.items() if key != "anyOf"}}
    return {
        key: value if key == "enum" else _properties(value, drops) if key == "properties" else _short(value, drops)
        for key, value in schema.items()
        if not (key in drops and not isinstance(value, dict)) and not (key == "default" and value is None)
    }


def _properties(named: dict[str, Any], drops: tuple[str, ...]) -> dict[str, Any]:
    return {name: _short(value, drops) for name, value in named.items()}
