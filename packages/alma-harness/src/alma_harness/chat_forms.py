"""The shapes of requests and answers of two families of chat APIs, as mappings or as objects."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Result = tuple[str, Any, bool]
"""Id of a call, its result, and whether the caller says that it failed."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model: its text, and its calls as (id, name, arguments)."""

    text: str
    calls: tuple[tuple[str, str, Any], ...] = ()


class Streamed(Protocol):
    """Collects an answer from its chunks."""

    def add(self, chunk: Any) -> None:
        """Adds a chunk."""

    def whole(self) -> Turn:
        """Returns the answer."""


@dataclass(frozen=True, slots=True)
class Form:
    """Form in which one family of APIs writes requests and answers."""

    path: tuple[str, ...]
    turn: Callable[[Any], Turn]
    results: Callable[[Sequence[Any]], Iterator[Result]]
    streamed: Callable[[], Streamed]

    def task(self, messages: Sequence[Any]) -> str:
        """Returns the last text of the user; "" if there is none."""
        place = _asked(messages)
        return "" if place is None else _text(read(messages[place], "content"))

    def with_notes(self, messages: Sequence[Any], notes: str) -> list[Any]:
        """Returns the messages with the notes before the user's last text; the given ones are unchanged."""
        place = _asked(messages)
        if not notes or place is None or not isinstance(messages[place], Mapping):
            return list(messages)
        content = messages[place]["content"]
        both = f"{notes}\n\n{content}" if isinstance(content, str) else [{"type": "text", "text": notes}, *content]
        return [*messages[:place], {**messages[place], "content": both}, *messages[place + 1 :]]


def read(value: Any, *names: str) -> Any:
    """Returns a member, or a member of it, of a mapping or an object; `None` if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def _parts(content: Any) -> list[Any]:
    return list(content) if isinstance(content, list | tuple) else []


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = (read(part, "text") for part in _parts(content) if read(part, "type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _asked(messages: Sequence[Any]) -> int | None:
    """Returns the place of the last message that the user wrote, and no program."""
    for place in range(len(messages) - 1, -1, -1):
        content = read(messages[place], "content")
        has_results = any(read(part, "type") == "tool_result" for part in _parts(content))
        if read(messages[place], "role") == "user" and not has_results and _text(content).strip():
            return place
    return None


def _openai_turn(answer: Any) -> Turn:
    choices = _parts(read(answer, "choices"))
    message = read(choices[0], "message") if choices else None
    calls = _parts(read(message, "tool_calls"))
    named = [(read(call, "id"), read(call, "function", "name"), read(call, "function", "arguments")) for call in calls]
    return Turn(_text(read(message, "content")), tuple(_checked(named)))


def _openai_results(messages: Sequence[Any]) -> Iterator[Result]:
    for message in messages:
        if read(message, "role") == "tool":
            yield str(read(message, "tool_call_id")), _text(read(message, "content")), False


def _anthropic_turn(answer: Any) -> Turn:
    content = read(answer, "content")
    calls = [part for part in _parts(content) if read(part, "type") == "tool_use"]
    return Turn(_text(content), tuple(_checked([(read(call, "id"), read(call, "name"), read(call, "input")) for call in calls])))


def _anthropic_results(messages: Sequence[Any]) -> Iterator[Result]:
    for message in messages:
        for part in _parts(read(message, "content")):
            if read(part, "type") == "tool_result":
                content = read(part, "content")
                yield str(read(part, "tool_use_id")), _text(content), read(part, "is_error") is True


def _checked(calls: Sequence[tuple[Any, Any, Any]]) -> Iterator[tuple[str, str, Any]]:
    for call_id, name, arguments in calls:
        if isinstance(call_id, str) and isinstance(name, str):
            yield call_id, name, arguments


@dataclass(slots=True)
class _Collected:
    """Text, and calls by their place in the answer: id, name and JSON text."""

    texts: list[str] = field(default_factory=list)
    calls: dict[Any, list[Any]] = field(default_factory=dict)

    def whole(self) -> Turn:
        """Returns the answer."""
        return Turn(
            "".join(self.texts), tuple(_checked([(one, name, "".join(said)) for one, name, *said in self.calls.values()]))
        )


class _OpenAIStream(_Collected):
    def add(self, chunk: Any) -> None:
        choices = _parts(read(chunk, "choices"))
        delta = read(choices[0], "delta") if choices else None
        if isinstance(text := read(delta, "content"), str):
            self.texts.append(text)
        for call in _parts(read(delta, "tool_calls")):
            found = self.calls.setdefault(read(call, "index"), [None, None])
            found[0] = found[0] or read(call, "id")
            found[1] = found[1] or read(call, "function", "name")
            found.append(str(read(call, "function", "arguments") or ""))


class _AnthropicStream(_Collected):
    def add(self, chunk: Any) -> None:
        block, delta = read(chunk, "content_block"), read(chunk, "delta")
        if read(block, "type") == "tool_use":
            self.calls[read(chunk, "index")] = [read(block, "id"), read(block, "name")]
        if read(delta, "type") == "text_delta":
            self.texts.append(str(read(delta, "text") or ""))
        if read(delta, "type") == "input_json_delta" and read(chunk, "index") in self.calls:
            self.calls[read(chunk, "index")].append(str(read(delta, "partial_json") or ""))


OPENAI = Form(("chat", "completions", "create"), _openai_turn, _openai_results, _OpenAIStream)
ANTHROPIC = Form(("messages", "create"), _anthropic_turn, _anthropic_results, _AnthropicStream)
