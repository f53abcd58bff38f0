"""Messages of model APIs and frameworks: the words of each speaker are kept, whatever the shape."""

import logging
from enum import Enum
from pathlib import Path
from types import SimpleNamespace as Thing

import pytest

from alma import ALMA, ValidationError


@pytest.fixture
def alma(tmp_path: Path):
    with ALMA.open(tmp_path / "memory", project_id="p", embedding_provider="hash") as opened:
        yield opened


class Role(str, Enum):  # noqa: UP042 - as frameworks define theirs
    USER = "user"
    MODEL = "assistant"


CALL = {"type": "function", "id": "1", "function": {"name": "f", "arguments": "{}"}}
USER, TOOL, MODEL = ("user", "Is it dry?", True), ("tool", "rain", False), ("assistant", "It rains.", False)
SHAPES = {
    "openai chat": (
        [
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "Is it dry?"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "1", "content": "rain"},
            {"role": "assistant", "content": "It rains."},
        ],
        [USER, TOOL, MODEL],
    ),
    "openai responses": (
        [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Is it dry?"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "web_search_call", "id": "w", "status": "completed"},
            {"type": "custom_tool_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "rain"}]},
            Thing(type="message", role="assistant", content=[Thing(type="output_text", text="It rains.")]),
        ],
        [USER, TOOL, MODEL],
    ),
    "anthropic": (
        [
            {"role": "user", "content": "Is it dry?"},
            Thing(type="message", role="assistant", content=[Thing(type="tool_use", id="1", name="f", input={})]),
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "rain"}]},
            Thing(role="assistant", content=[Thing(type="thinking", thinking="hm"), Thing(type="text", text="It rains.")]),
        ],
        [USER, TOOL, MODEL],
    ),
    "gemini": (
        [
            {"parts": [{"text": "Is it dry?"}]},
            {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"sky": "rain"}}}]},
            Thing(role="model", parts=[Thing(text="It rains.", thought=None, function_response=None)]),
        ],
        [USER, ("tool", '{"sky": "rain"}', False), ("model", "It rains.", False)],
    ),
    "bedrock": (
        [
            {"role": "user", "content": [{"text": "Is it dry?"}]},
            {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"toolUse": {"name": "f"}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"json": {"sky": "rain"}}, {"text": "!"}]}}]},
            {"role": "assistant", "content": [{"text": "It rains."}]},
        ],
        [USER, ("tool", '{"sky": "rain"}\n!', False), MODEL],
    ),
    "langchain": (
        [
            Thing(type="human", content="Is it dry?", name=None),
            {"type": "tool", "data": {"content": "rain", "tool_call_id": "1"}},
            {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"type": "ai", "content": "It rains."}},
        ],
        [("human", "Is it dry?", True), TOOL, ("ai", "It rains.", False)],
    ),
    "llamaindex": (
        [
            {"role": Role.USER, "blocks": [{"block_type": "text", "text": "Is it dry?"}], "additional_kwargs": {}},
            Thing(role=Role.MODEL, content="It rains.", blocks=[]),
        ],
        [USER, MODEL],
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_the_words_of_each_speaker_are_kept(shape: str, alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    messages, said = SHAPES[shape]
    with caplog.at_level(logging.WARNING, "alma"):
        made = alma.add_conversation(messages, "h", "s")

    assert [tuple(turn) for turn in made.turns] == said
    assert caplog.records == []


def test_unknown_items_are_left_out_with_one_warning(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    odd = [{"type": "hologram", "content": "secret words"}, {"a": 1}, Thing(type="hologram")]
    with caplog.at_level(logging.WARNING, "alma"):
        made = alma.add_conversation([odd[0], ("user", "Is it dry?"), *odd[1:]], "h", "s")

    assert [tuple(turn) for turn in made.turns] == [USER]
    (warning,) = caplog.messages
    assert "2 of 'hologram'" in warning
    assert "secret words" not in warning


def test_items_of_unknown_types_alone_are_no_conversation(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="holds no text"):
        alma.add_conversation([{"type": "hologram"}], "h", "s")


@pytest.mark.parametrize("message", [(7, "x"), {"role": 7, "content": "x"}, {"text": "x"}, ("", "x")])
def test_words_without_a_speaker_are_refused(message: object, alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="has no role"):
        alma.add_conversation([("user", "hi"), message], "h", "s")
