"""Reads LangChain's values: the task in an input, the answer in an output, a tool's result, and exceptions that control a graph."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic_core import to_jsonable_python

_TASK_KEYS = ("input", "question", "query", "task")
_ANSWER_KEYS = ("output", "answer", "result", "text", "response")
_REJECTED = "User rejected the tool call for "
_REASON = " with reason: "
"""Wording of a rejection by `HumanInTheLoopMiddleware`; a test checks it."""


def last_human_text(given: Any) -> str | None:
    """Returns the task in the input of an agent or a chain: the last human message, a text under a usual key, or the only text there
    is."""
    if isinstance(given, Mapping) and given.get("messages") is not None:
        given = given["messages"]
    said = _said_by_human(given)
    if said is None and isinstance(given, Sequence):
        said = next((text for message in reversed(given) if (text := _said_by_human(message)) is not None), None)
    if said is None and isinstance(given, Mapping):
        texts = {name: value for name, value in given.items() if isinstance(value, str) and value.strip()}
        usual = [texts[name] for name in _TASK_KEYS if name in texts] or (list(texts.values()) if len(texts) == 1 else [])
        said = usual[0] if usual else None
    return (said or "").strip() or None


def text_under(key: str, given: Any) -> str | None:
    """Returns the text under this key of an input, or in this field of a state that is an object; of messages, the last human one."""
    value = given.get(key) if isinstance(given, Mapping) else getattr(given, key, None)
    said = str(value) if isinstance(value, int) and not isinstance(value, bool) else last_human_text(value)
    return (said or "").strip() or None


def names_of(given: Any) -> str:
    """Describes an input without its values, for a warning."""
    if isinstance(given, Mapping):
        return f"its input with the keys {', '.join(map(str, given))}"
    return f"its input, a {type(given).__name__},"


def final_answer(outputs: Any) -> str:
    """Returns the final answer of an agent or a chain; a structured answer as JSON, and a tool's text where that is the answer. "" if
    there is none."""
    if isinstance(outputs, str):
        return outputs
    if isinstance(outputs, BaseMessage):
        return str(outputs.text)
    if not isinstance(outputs, Mapping):
        return ""
    if isinstance(messages := outputs.get("messages"), Sequence) and not isinstance(messages, str):
        return _last_said(messages, outputs.get("structured_response"))
    if outputs.get("structured_response") is not None:
        return _as_json(outputs["structured_response"])
    return next((str(outputs[name]) for name in _ANSWER_KEYS if name in outputs), "")


def messages_since(messages: Sequence[Any], last_seen: str | None) -> tuple[BaseMessage, ...]:
    """Returns the messages after the one of that id; if it is gone, say by a summary, those after the last human one."""
    known = [message for message in messages if isinstance(message, BaseMessage)]
    for place, message in enumerate(known):
        if last_seen is not None and message.id == last_seen:
            return tuple(known[place + 1 :])
    humans = [place for place, message in enumerate(known) if isinstance(message, HumanMessage)]
    return tuple(known[humans[-1] + 1 :] if humans else known)


def last_exchange(outputs: Any, asked: str | None = None) -> tuple[BaseMessage, ...]:
    """Returns the messages after the one of that id, or after the last human one, in what a graph or an agent returned."""
    if isinstance(outputs, BaseMessage):
        return messages_since([outputs], None)
    messages = outputs.get("messages") if isinstance(outputs, Mapping) else None
    return messages_since(messages, asked) if isinstance(messages, Sequence) else ()


def tool_messages(result: Any) -> list[ToolMessage]:
    """Returns the tool messages in what a tool returned: itself, or those that its command adds."""
    if isinstance(result, ToolMessage):
        return [result]
    update = getattr(result, "update", None)
    messages = update.get("messages") if isinstance(update, Mapping) else None
    return [message for message in messages or () if isinstance(message, ToolMessage)]


def is_hand_over(result: Any) -> bool:
    """Returns True when a tool handed the run to another agent of an outer graph."""
    return getattr(result, "graph", None) is not None and hasattr(result, "goto")


def rejection(message: Any) -> str | None:
    """Returns why a person rejected a call ("" without a reason); `None` if this message is no rejection."""
    text = str(message.text) if isinstance(message, ToolMessage) and message.status == "error" else ""
    return text.partition(_REASON)[2] if text.startswith(_REJECTED) else None


def said_by_model(messages: Iterable[Any]) -> list[object]:
    """Returns the texts of a model in its messages, and the arguments of its tool calls."""
    own = [message for message in messages if isinstance(message, AIMessage)]
    return [said for message in own for said in (str(message.text), *(call["args"] for call in message.tool_calls))]


def is_steering(error: BaseException) -> bool:
    """Returns True when LangGraph itself raised this for control flow: an interrupt, or a command to an outer graph."""
    return _is_of(error, "GraphBubbleUp")


def is_leaving(error: BaseException) -> bool:
    """Returns True when a graph is left for an outer one."""
    return _is_of(error, "ParentCommand")


def _is_of(error: BaseException, name: str) -> bool:
    errors = sys.modules.get("langgraph.errors")  # without it no such error exists
    return errors is not None and isinstance(error, getattr(errors, name))


def _last_said(messages: Sequence[Any], structured: Any) -> str:
    """Returns the text of the last answer, or of a tool, if the run ended with its result."""
    said = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    text = str(said.text) if said is not None else ""
    if structured is not None and (said is None or said.tool_calls or not text):
        return _as_json(structured)
    last = messages[-1] if messages else None
    return str(last.text) if not text and isinstance(last, ToolMessage) and last.status != "error" else text


def _as_json(value: Any) -> str:
    if hasattr(value, "model_dump_json"):
        return str(value.model_dump_json())
    return json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False)


def _said_by_human(message: Any) -> str | None:
    """Returns the text of a human message, in any of the forms of one; `None` for another role."""
    if isinstance(message, HumanMessage):
        return str(message.text)
    if isinstance(message, str):  # graphs accept a bare text as a human message
        return message
    if isinstance(message, tuple) and len(message) == 2:
        message = {"role": message[0], "content": message[1]}
    if not isinstance(message, Mapping) or message.get("role", message.get("type")) not in ("user", "human"):
        return None
    return str(HumanMessage(content).text) if isinstance(content := message.get("content"), str | list) else None
