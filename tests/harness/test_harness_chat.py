"""Chat loops with tools, of two families of APIs: a conversation is a run, its tool results are steps."""

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from alma import ALMA, ConfigurationError, ValidationError, Verdict
from alma.harness import remembered_client

TASK = "Deploy the auth service"


def deploy(way: str) -> str:
    return "Error: 502 bad gateway" if way == "rolling" else f"live by {way}"


class Model:
    """A scripted client of either family. It avoids what its notes warn of, and keeps the requests."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.requests: list[list[Any]] = []
        self.api_key = "kept"
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create)) if family == "openai" else None
        self.messages = SimpleNamespace(create=self.create) if family == "anthropic" else None

    def create(self, *, messages: list[Any], stream: bool = False, **_: Any) -> Any:
        self.requests.append(messages)
        said = json.dumps(messages)
        number = len(self.requests)
        way = None if "live by" in said.rpartition(TASK)[2] else "blue-green" if "502" in said else "rolling"
        if self.family == "openai":
            return _openai_chunks(way, number) if stream else _openai(way, number)
        return _anthropic_events(way, number) if stream else _anthropic(way, number)


def _openai(way: str | None, number: int) -> Any:
    called = {"name": "deploy", "arguments": json.dumps({"way": way})}
    calls = [{"id": f"c{number}", "type": "function", "function": called}] if way else None
    return {"choices": [{"message": {"role": "assistant", "content": None if way else "It is live.", "tool_calls": calls}}]}


def _openai_chunks(way: str | None, number: int) -> Iterator[Any]:
    deltas: list[dict[str, Any]] = [{"content": "It is "}, {"content": "live."}]
    if way:
        text = json.dumps({"way": way})
        first = {"index": 0, "id": f"c{number}", "function": {"name": "deploy", "arguments": text[:4]}}
        deltas = [{"tool_calls": [first]}, {"tool_calls": [{"index": 0, "function": {"arguments": text[4:]}}]}]
    yield from ({"choices": [{"delta": delta}]} for delta in deltas)
    yield {"choices": [], "usage": {}}


def _anthropic(way: str | None, number: int) -> Any:
    call = {"type": "tool_use", "id": f"c{number}", "name": "deploy", "input": {"way": way}}
    return SimpleNamespace(content=[call if way else {"type": "text", "text": "It is live."}])


def _anthropic_events(way: str | None, number: int) -> Iterator[Any]:
    yield {"type": "message_start"}
    if way:
        text = json.dumps({"way": way})
        block = {"type": "tool_use", "id": f"c{number}", "name": "deploy", "input": {}}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        for part in (text[:4], text[4:]):
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}}
    else:
        for part in ("It is ", "live."):
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
    yield {"type": "message_stop"}


def loop_openai(client: Any) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for _ in range(5):
        message = client.chat.completions.create(model="m", messages=messages)["choices"][0]["message"]
        messages.append(message)
        for call in message["tool_calls"] or ():
            result = deploy(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if not message["tool_calls"]:
            break
    return messages


def loop_anthropic(client: Any) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]
    for _ in range(5):
        content = client.messages.create(model="m", max_tokens=9, messages=messages).content
        messages.append({"role": "assistant", "content": content})
        calls = [part for part in content if part["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": deploy(**call["input"])} for call in calls]
        if not calls:
            break
        messages.append({"role": "user", "content": results})
    return messages


LOOPS = {"openai": loop_openai, "anthropic": loop_anthropic}


@pytest.mark.parametrize("family", LOOPS)
def test_a_loop_with_tools_is_one_run_and_the_next_is_warned(alma: ALMA, family: str) -> None:
    model = Model(family)
    client = remembered_client(alma, model, agent="dev", evaluator=lambda run: "live" in run.answer)
    loop: Callable[[Any], list[Any]] = LOOPS[family]

    first, second = loop(client), loop(client)

    assert client.api_key == "kept"
    assert (len(first), len(second)) == (6, 4)
    assert "ALMA" not in json.dumps([first, second])
    episodes = alma.recent_episodes()
    assert [episode.outcome for episode in episodes] == [Verdict.SUCCESS] * 2
    assert {episode.strategy for episode in episodes} == {'deploy(way="blue-green")'}
    assert {episode.task for episode in episodes} == {TASK}
    assert sorted(len(episode.steps) for episode in episodes) == [1, 2]
    assert all('deploy(way=\\"rolling\\")' in json.dumps(request) for request in model.requests[3:])


@pytest.mark.parametrize("family", LOOPS)
def test_streams_are_passed_on_and_read(alma: ALMA, family: str) -> None:
    model = Model(family)
    client = remembered_client(alma, model, agent="dev", evaluator=lambda run: run.answer == "It is live.")
    create = client.chat.completions.create if family == "openai" else client.messages.create
    asked: list[Any] = [{"role": "user", "content": TASK}]
    results = {
        "openai": lambda number, text: {"role": "tool", "tool_call_id": f"c{number}", "content": text},
        "anthropic": lambda number, text: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": text, "is_error": "502" in text}],
        },
    }[family]

    assert len(list(create(messages=asked, stream=True))) >= 3
    list(create(messages=[*asked, results(1, deploy("rolling"))], stream=True))
    list(create(messages=[*asked, results(1, deploy("rolling")), results(2, deploy("blue-green"))], stream=True))

    (episode,) = alma.recent_episodes()
    assert (episode.outcome, [step.ok for step in episode.steps]) == (Verdict.SUCCESS, [False, True])
    assert [step.action for step in episode.steps] == ['deploy(way="rolling")', 'deploy(way="blue-green")']


def test_an_error_of_the_api_ends_the_run_and_is_raised(alma: ALMA) -> None:
    def create(**_: Any) -> None:
        raise ConnectionError("overloaded")

    client = remembered_client(alma, SimpleNamespace(messages=SimpleNamespace(create=create)), agent="dev")

    with pytest.raises(ConnectionError, match="overloaded"):
        client.messages.create(messages=[{"role": "user", "content": TASK}])
    assert [episode.outcome for episode in alma.recent_episodes()] == [Verdict.FAILURE]


def test_what_is_no_client_is_refused(alma: ALMA) -> None:
    with pytest.raises(ConfigurationError, match="neither"):
        remembered_client(alma, object(), agent="dev")
    with pytest.raises(ValidationError, match="messages"):
        remembered_client(alma, Model("openai"), agent="dev").chat.completions.create(messages="hello")
