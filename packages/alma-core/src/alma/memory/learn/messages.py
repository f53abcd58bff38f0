"""Turns of the messages of model APIs, as mappings or objects: OpenAI chat and Responses, Anthropic, Gemini, Bedrock, LangChain, LlamaIndex."""

import json
import logging
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from alma.errors import ValidationError
from alma.text import quoted
from alma.types.memories import ROLES_OF_OTHERS, Turn

_LOG = logging.getLogger("alma")
INSTRUCTIONS = frozenset({"system", "developer"})
"""Roles that instruct the assistant. Nothing of it was said, so it is left out."""

TOOL = "tool"
_TYPES_OF_SPEAKERS = frozenset({"human", "ai", "system", "tool", "function", "AIMessageChunk", "HumanMessageChunk"})
_SILENT = frozenset({"reasoning", "function_call", "item_reference", "compaction"})
_UNSAID = frozenset({"reasoning", "thinking", "redacted_thinking"})
_ANSWERS = ("toolResult", "functionResponse", "function_response")


def read(value: object, *names: str) -> Any:
    """Returns the first member of these names that a mapping or an object has, `None` if it has none."""
    found = (value.get(name) if isinstance(value, Mapping) else getattr(value, name, None) for name in names)
    return next((each for each in found if each is not None), None)


def turns_of(messages: Iterator[tuple[str, object]]) -> Iterator[tuple[str, Turn]]:
    """Yields the turns of messages with their places. Items of an unknown type are left out, with one warning for all of them."""
    unknown: dict[str, int] = {}
    for place, given in messages:
        message = given
        if isinstance(message, Turn):
            yield place, message
            continue
        if read(message, "type") == "constructor" and isinstance(inner := read(message, "kwargs"), Mapping):
            message = inner  # LangChain's dumps
        role, kind = _role_of(message, place), str(_plain(read(message, "type")) or "")
        if role:
            yield from ((place, turn) for turn in _turns_of(message, role, place))
        elif (said := _answer(read(message, "output"), place).strip()) and kind:
            yield place, Turn(speaker=TOOL, text=said, is_own=False)
        elif not kind and read(message, "content", "text") is not None:
            raise ValidationError(f"{place} has no role")
        elif kind not in _SILENT and not kind.endswith("_call"):
            unknown[kind or "no type"] = unknown.get(kind or "no type", 0) + 1
    if unknown:
        named = ", ".join(f"{count} of {quoted(kind)}" for kind, count in unknown.items())
        _LOG.warning("messages of unknown types were left out of a conversation: %s", named)


def _role_of(message: object, place: str) -> str:
    """Returns the speaker of a message, "" for an item without one."""
    if isinstance(message, tuple | list) and len(message) == 2:
        role = _plain(message[0])
        if not isinstance(role, str) or not role.strip():
            raise ValidationError(f"{place} has no role")
        return role.strip()
    if isinstance(message, str | bytes | int | float | tuple | list | None):
        raise ValidationError(
            f"{place} must be a mapping with role and content, or a pair of speaker and text, not {quoted(message)}"
        )
    kind = _plain(read(message, "type"))
    role = _plain(read(message, "role", "speaker")) or (kind if kind in _TYPES_OF_SPEAKERS else None)
    if role is None and read(message, "parts") is not None:
        return "user"  # Gemini's default
    return role.removesuffix("MessageChunk").strip() if isinstance(role, str) else ""


def _plain(value: object) -> Any:
    return value.value if isinstance(value, Enum) else value


def _turns_of(message: object, role: str, place: str) -> Iterator[Turn]:
    """Yields the answers of tools that a message carries, and its own text. A call of a tool and an instruction have none."""
    if role.lower() in INSTRUCTIONS:
        return
    is_pair = isinstance(message, tuple | list)
    name = None if is_pair else read(message, "name")
    content = message[1] if isinstance(message, tuple | list) else read(message, "content", "parts", "blocks", "text")
    if content is None and not is_pair:
        content = read(read(message, "data"), "content")  # LangChain's dictionaries
    parts = content if isinstance(content, list | tuple) else ()
    # A user's message of Anthropic, Bedrock and Gemini carries the answers of tools: no words of that user.
    results = [answer for part in parts if (answer := _result(part)) is not None]
    if said := "\n".join(_answer(result, place) for result in results).strip():
        yield Turn(speaker=TOOL, text=said, is_own=False)
    if text := _text(content, place).strip():
        speaker = name if isinstance(name, str) and name.strip() else role
        yield Turn(speaker=speaker.strip(), text=text, is_own=role.lower() not in ROLES_OF_OTHERS)


def _result(part: object) -> Any:
    """Returns the answer of a tool in a part of a message, `None` for other parts."""
    if isinstance(part, str):
        return None
    if read(part, "type") == "tool_result":
        return read(part, "content")
    answer = read(part, *_ANSWERS)
    return None if answer is None else read(answer, "content", "response")


def _answer(content: Any, place: str) -> str:
    """Returns the text of the answer of a tool; what is no text, as JSON."""
    if isinstance(content, list | tuple) and any(read(part, "json") for part in content if isinstance(part, Mapping)):
        content = [json.dumps(part["json"], ensure_ascii=False, default=str) if "json" in part else part for part in content]
    if isinstance(content, Mapping):
        return _part(content) or ("" if "type" in content else json.dumps(dict(content), ensure_ascii=False, default=str))
    return _text(content, place)


def _text(content: object, place: str) -> str:
    """Returns the text of a content: a text, nothing, or a list of parts of which those with a text count."""
    if isinstance(content, list | tuple):
        return "\n".join(text for part in content if (text := _part(part)))
    if content is None or isinstance(content, str):
        return content or ""
    raise ValidationError(f"the content of {place} must be a text or a list of parts, not {quoted(content)}")


def _part(part: object) -> str:
    """Returns the words of a part; none of a part that only thinks."""
    if isinstance(part, str):
        return part
    if read(part, "type") in _UNSAID or read(part, "thought") is True:
        return ""
    text = read(part, "text", "refusal")
    return text if isinstance(text, str) else ""
