"""What LangChain's values say: the task in an input, the answer in an output, whether a tool did well."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

_TASK_KEYS = ("input", "question", "query", "task")
_ANSWER_KEYS = ("output", "answer", "result", "text", "response")
_HUMAN = ("user", "human")
_NO_TOOLS = ("invalid_tool", "_Exception")
TASK_CHARS = 2_000


def last_human_text(given: Any) -> str | None:
    """The task in what an agent or a chain is given: the last human message, a text under a usual key, or the only text there is."""
    said = _said_by_human(given)
    if said is not None:
        return said.strip() or None
    if not isinstance(given, Mapping):
        return _last_human(given) if isinstance(given, Sequence) else None
    if given.get("messages") is not None:
        return last_human_text(given["messages"])
    texts = {name: value for name, value in given.items() if isinstance(value, str) and value.strip()}
    for name in _TASK_KEYS:
        if name in texts:
            return texts[name].strip()
    return next(iter(texts.values())).strip() if len(texts) == 1 else None


def final_answer(outputs: Any) -> str:
    """What an agent or a chain said last; "" if it said nothing."""
    if isinstance(outputs, str):
        return outputs
    if isinstance(outputs, BaseMessage):
        return str(outputs.text)
    if not isinstance(outputs, Mapping):
        return ""
    if isinstance(messages := outputs.get("messages"), Sequence):
        return next((str(message.text) for message in reversed(messages) if isinstance(message, AIMessage)), "")
    return next((str(outputs[name]) for name in _ANSWER_KEYS if name in outputs), "")


def messages_since(messages: Sequence[Any], last_seen: str | None) -> tuple[BaseMessage, ...]:
    """The messages after the one of that id; if it is gone, say by a summary, those after the last human one."""
    known = [message for message in messages if isinstance(message, BaseMessage)]
    for place, message in enumerate(known):
        if last_seen is not None and message.id == last_seen:
            return tuple(known[place + 1 :])
    humans = [place for place, message in enumerate(known) if isinstance(message, HumanMessage)]
    return tuple(known[humans[-1] + 1 :] if humans else known)


def last_exchange(outputs: Any) -> tuple[BaseMessage, ...]:
    """The messages after the last human one in what a graph or an agent returned."""
    messages = (
        outputs.get("messages") if isinstance(outputs, Mapping) else [outputs] if isinstance(outputs, BaseMessage) else None
    )
    return messages_since(messages, None) if isinstance(messages, Sequence) else ()


def tool_verdict(name: str, result: Any) -> bool | None:
    """Whether a tool did well: not if its message has the status `error`, or if an executor put it in the place of one that there is not; else it
    did, since it returned.
    """
    return name not in _NO_TOOLS and not any(message.status == "error" for message in tool_messages(result))


def tool_messages(result: Any) -> list[ToolMessage]:
    """The tool messages in what a tool returned: itself, or those that its command adds."""
    if isinstance(result, ToolMessage):
        return [result]
    update = getattr(result, "update", None)
    messages = update.get("messages") if isinstance(update, Mapping) else None
    return [message for message in messages or () if isinstance(message, ToolMessage)]


def tool_error(result: Any) -> str | None:
    """What a tool that did badly said."""
    texts = [str(message.text) for message in tool_messages(result)] or ([result] if isinstance(result, str) else [])
    return "\n".join(texts).strip() or None


def said_by_model(messages: Iterable[Any]) -> str:
    """All that a model said, in its text and in the arguments of its tool calls: where citations may stand."""
    said = []
    for message in messages:
        if isinstance(message, AIMessage):
            said.append(str(message.text))
            said += [json.dumps(call["args"], default=str, ensure_ascii=False) for call in message.tool_calls]
    return "\n".join(said)


def _last_human(messages: Sequence[Any]) -> str | None:
    for message in reversed(messages):
        said = _said_by_human(message)
        if said is not None:
            return said.strip() or None
    return None


def _said_by_human(message: Any) -> str | None:
    """What a human message says, in any of the ways to write one; `None` if it is of somebody else."""
    if isinstance(message, HumanMessage):
        return str(message.text)
    if isinstance(message, str):  # graphs take a bare text as a human message
        return message
    if isinstance(message, Mapping) and "content" in message and message.get("role", message.get("type")) in _HUMAN:
        return _text_of(message["content"])
    if isinstance(message, tuple) and len(message) == 2 and message[0] in _HUMAN:
        return _text_of(message[1])
    return None


def _text_of(content: Any) -> str:
    """The text of a content, which may be blocks of which some hold no text."""
    return str(HumanMessage(content).text) if isinstance(content, str | list) else ""
