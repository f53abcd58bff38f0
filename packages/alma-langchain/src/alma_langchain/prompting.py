"""Inserts the notes into a model's prompt, and changes the texts of its answer."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

STATE_KEY = "alma_memory_runs"


def _merged(before: dict[str, Any] | None, given: dict[str, Any] | None) -> dict[str, Any]:
    return {**(before or {}), **(given or {})}


class ALMAState(AgentState[Any]):
    """State of a run beside its messages, by the middleware's name: ids only. The notes themselves are never in the state."""

    alma_memory_runs: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, _merged]]


def entry_of(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns the state's entry for the live run; empty if ALMA does not follow it."""
    return dict((state.get(STATE_KEY) or {}).get(name) or {})


def beside_message(request: ModelRequest[Any], notes: str, asked: str | None) -> ModelRequest[Any]:
    """Returns the request with the notes as a further block of the human message that the run began with. The thread does not store
    it."""
    humans = [place for place, message in enumerate(request.messages) if isinstance(message, HumanMessage)]
    if not humans:
        return in_system_prompt(request, notes)
    place = next((place for place in humans if asked is not None and request.messages[place].id == asked), humans[-1])
    messages = list(request.messages)
    messages[place] = _with_block(messages[place], f"\n\n{notes}")
    return request.override(messages=messages)


def in_system_prompt(request: ModelRequest[Any], notes: str) -> ModelRequest[Any]:
    """Returns the request with the notes as the last block of its system prompt."""
    old = request.system_message
    if old is None:
        return request.override(system_message=SystemMessage(content=[{"type": "text", "text": notes}]))
    return request.override(system_message=_with_block(old, f"\n\n{notes}"))


def finished(response: ModelResponse[Any], episode_id: str | None, change: Callable[[str], str]) -> ModelResponse[Any]:
    """Returns the response with its final answers as others may see them; messages that call tools are left as they are.

    Their metadata has the id of the episode, for later verdicts; their texts are changed.
    """
    label = {"alma": {"episode_id": episode_id}} if episode_id else {}
    result = list(response.result)
    for place, message in enumerate(result):
        if isinstance(message, AIMessage) and not message.tool_calls:
            metadata = {**message.response_metadata, **label}
            update = {"content": _changed(message.content, change), "response_metadata": metadata}
            result[place] = message.model_copy(update=update)
    return replace(response, result=result)


def _changed(content: Any, change: Callable[[str], str]) -> Any:
    if isinstance(content, str):
        return change(content)
    if isinstance(content, list):
        return [_changed(part, change) for part in content]
    return {**content, "text": change(content["text"])} if isinstance(content.get("text"), str) else content


def _with_block(message: Any, text: str) -> Any:
    before = [{"type": "text", "text": message.content}] if isinstance(message.content, str) else list(message.content)
    return message.model_copy(update={"content": [*before, {"type": "text", "text": text}]})
