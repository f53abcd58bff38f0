"""Any model that a program has is asked in one way."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from alma import ValidationError
from alma_knowledge.llm import LLMError, as_llm


class WithComplete:
    def complete(self, prompt: str, timeout: float = 10.0) -> str:
        return f"complete {prompt}"


class WithChat:
    def chat(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": f"chat {messages[0]['content']}"}}


class LangChainLike:
    def invoke(self, prompt: str) -> Any:
        return SimpleNamespace(content=[{"type": "text", "text": "invoke "}, {"type": "text", "text": prompt}])


class LlamaIndexLike:
    def complete(self, prompt: str) -> Any:
        return SimpleNamespace(text=f"llama {prompt}", raw=None)


class CrewLike:
    def call(self, messages: str) -> str:
        return f"crew {messages}"


class OpenAILike:
    def chat(self, messages: list[dict[str, str]]) -> Any:
        message = SimpleNamespace(content=f"openai {messages[0]['content']}")
        return SimpleNamespace(id="x", choices=[SimpleNamespace(message=message)])


class Asynchronous:
    async def complete(self, prompt: str) -> str:
        await asyncio.sleep(0)
        return f"async {prompt}"


def function(prompt: str) -> str:
    return f"function {prompt}"


MODELS: dict[str, Any] = {
    "complete": WithComplete(),
    "chat": WithChat(),
    "invoke": LangChainLike(),
    "llama": LlamaIndexLike(),
    "crew": CrewLike(),
    "openai": OpenAILike(),
    "async": Asynchronous(),
    "function": function,
}


@pytest.mark.parametrize(("said", "model"), MODELS.items())
def test_each_usual_shape_answers(said: str, model: object) -> None:
    assert as_llm(model).complete("hello") == f"{said} hello"
    assert as_llm(as_llm(model)).complete("again") == f"{said} again"


def test_an_asynchronous_model_answers_inside_a_running_loop() -> None:
    async def within() -> str:
        return as_llm(Asynchronous()).complete("hello")

    assert asyncio.run(within()) == "async hello"


@pytest.mark.parametrize("nothing", [None, 3, "gpt", object(), WithComplete])
def test_what_is_no_model_is_refused(nothing: object) -> None:
    with pytest.raises(ValidationError, match="no language model"):
        as_llm(nothing)


@pytest.mark.parametrize("answer", [None, 3, {}, [], {"content": None}, SimpleNamespace(content=3)])
def test_an_answer_without_text_is_an_error_and_no_empty_text(answer: object) -> None:
    with pytest.raises(LLMError, match="holds no text"):
        as_llm(lambda prompt: answer).complete("hello")


def test_a_model_that_fails_is_named_with_its_error() -> None:
    def broken(prompt: str) -> str:
        raise RuntimeError("out of memory")

    with pytest.raises(LLMError, match="broken: RuntimeError: out of memory"):
        as_llm(broken).complete("hello")
