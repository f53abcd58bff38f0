"""Language models over HTTP, against a server on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ConfigurationError
from alma_knowledge.llm import Answer, BudgetError, LLMError
from alma_knowledge.llm.configured import open_llm
from alma_knowledge.llm.endpoints import PROVIDERS, create_llm
from embedding_server import Behaviour, EmbeddingServer, embedding_server, hang_up, says, status

KEY = "sk-verysecret-0123456789"
SCHEMA = {"type": "object", "properties": {"port": {"type": "integer"}}}
ENDED = {"finish_reason": "stop"}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


def model(server: EmbeddingServer, provider: str = "openai-compatible", **more: Any) -> Any:
    given = {"model": "served", "base_url": server.url, "api_key": KEY, "sleep": lambda seconds: None, **more}
    return create_llm(provider, **given)


def completion(text: str | None, *, finish: str = "stop", usage: bool = True) -> Behaviour:
    used = {"usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}} if usage else {}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return says(json.dumps({"id": "c1", "choices": [choice], **used}).encode())


def message(*blocks: dict[str, Any], stop: str = "end_turn") -> Behaviour:
    usage = {"input_tokens": 20, "output_tokens": 4}
    return says(json.dumps({"content": list(blocks), "stop_reason": stop, "usage": usage}).encode())


def test_a_chat_completion_is_asked_for_and_read(server: EmbeddingServer) -> None:
    server.script = [completion("It listens on 8080."), completion("Yes.", usage=False)]
    asked = model(server)
    assert asked.answer("Which port?") == Answer("It listens on 8080.", (12, 3))
    assert asked.answer("Sure?") == Answer("Yes.", None)
    request = server.requests[0]
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert request.body == {
        "model": "served",
        "messages": [{"role": "user", "content": "Which port?"}],
        "max_tokens": 1024,
        "temperature": 0.0,
    }


def test_json_is_asked_for_by_what_the_server_takes_and_that_is_remembered(server: EmbeddingServer) -> None:
    refused = status(400, "response_format.type is not supported")
    server.script = [refused, refused, completion('{"port": 8080}'), completion('{"port": 8081}')]
    asked = model(server)
    assert asked.answer("Which port?", schema=SCHEMA).text == '{"port": 8080}'
    assert asked.answer("Which port?", schema=SCHEMA).text == '{"port": 8081}'
    formats = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert formats == ["json_schema", "json_object", None, None]
    assert server.requests[0].body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_azure_names_the_deployment_in_the_address_and_has_a_header_of_its_own(server: EmbeddingServer) -> None:
    server.script = [completion("Yes.")]
    asked = model(server, "azure", model="gpt 4", base_url=server.url.removesuffix("/v1"), api_version="2024-10-21")
    assert asked.complete("Sure?") == "Yes."
    (request,) = server.requests
    assert request.path == "/openai/deployments/gpt%204/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == KEY
    assert "authorization" not in request.headers
    assert "model" not in request.body


def test_anthropic_is_asked_in_its_own_form_and_gives_json_by_a_tool(server: EmbeddingServer) -> None:
    tool = {"type": "tool_use", "id": "t", "name": "answer", "input": {"port": 8080}}
    server.script = [message({"type": "text", "text": "It listens "}, {"type": "text", "text": "on 8080."}), message(tool)]
    asked = model(server, "anthropic")
    assert asked.answer("Which port?") == Answer("It listens on 8080.", (20, 4))
    assert json.loads(asked.answer("Which port?", schema=SCHEMA).text) == {"port": 8080}
    plain, structured = server.requests
    assert (plain.path, plain.headers["x-api-key"]) == ("/v1/messages", KEY)
    assert plain.headers["anthropic-version"]
    assert plain.body["max_tokens"] == 1024
    assert "tools" not in plain.body
    assert structured.body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert structured.body["tools"][0]["input_schema"] == SCHEMA


@pytest.mark.parametrize("provider", ["openai-compatible", "anthropic"])
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (says(b"<html>busy</html>"), "its answer is no"),
        (says(b'{"choices": [], "content": []}'), "its answer is"),
        (status(401, f"wrong key {KEY}"), "refuses the key"),
        (status(404, "no such model"), "404, no such model"),
        (status(400, f"bad request with {KEY}"), r"400, bad request with \*\*\*"),
    ],
)
def test_no_usable_answer_is_an_error_that_never_shows_the_key(
    server: EmbeddingServer, provider: str, behaviour: Behaviour, said: str
) -> None:
    server.script = [behaviour]
    with pytest.raises(LLMError, match=said) as raised:
        model(server, provider).complete("Which port?")
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r} {raised.value.__context__!r}"


def test_an_answer_that_was_cut_off_is_an_error(server: EmbeddingServer) -> None:
    server.script = [completion("It listens on 80", finish="length"), message({"type": "text", "text": "It"}, stop="max_tokens")]
    for provider in ("openai-compatible", "anthropic"):
        with pytest.raises(LLMError, match="cut off at max_tokens"):
            model(server, provider).complete("Which port?")


def test_a_busy_server_is_asked_again(server: EmbeddingServer) -> None:
    server.script = [status(429, "slow down", retry_after="1"), hang_up, status(500, "oops"), completion("Yes.")]
    assert model(server).complete("Sure?") == "Yes."
    assert len(server.requests) == 4


@pytest.mark.parametrize("provider", ["openai", "anthropic", "groq", "azure"])
def test_no_key_is_taken_from_the_environment(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GROQ", "AZURE_OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
    with pytest.raises(ConfigurationError, match="needs"):
        create_llm(provider, model="m")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"provider": "opanai", "model": "m"}, "there is no provider 'opanai'"),
        ({"provider": "ollama", "model": None}, "needs the name of a model"),
        ({"provider": "openai-compatible", "model": "m"}, "needs a base_url"),
        ({"provider": "ollama", "model": "m", "base_url": "here"}, "base_url must begin with http"),
    ],
)
def test_what_is_missing_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        create_llm(**given)


def test_each_provider_can_be_named() -> None:
    for provider in (*PROVIDERS, "local"):
        made = create_llm(provider, model="m", api_key=KEY, base_url="http://127.0.0.1:9/v1")
        assert "/m at http://127.0.0.1:9/" in made.name
        assert KEY not in repr(vars(made))


def configuration(folder: Path, block: str) -> Path:
    file = folder / "config.yaml"
    file.write_text(f"project_id: shop\nembedding_provider: hash\nstorage_dir: {folder / 'store'}\n{block}", encoding="utf-8")
    return file


def test_a_configuration_names_the_model_and_its_budget(server: EmbeddingServer, tmp_path: Path) -> None:
    block = f"llm:\n  provider: vllm\n  model: served\n  base_url: {server.url}\n  budget: {{calls_a_day: 2}}\n"
    server.script = [completion("Yes."), completion("Yes."), completion("Yes.")]
    for _ in range(2):
        with ALMA.from_config(configuration(tmp_path, block)) as alma:
            asked = open_llm(alma)
            assert asked is not None
            assert asked.complete("Sure?") == "Yes."
            assert alma.verify().ok
    with ALMA.from_config(configuration(tmp_path, block)) as alma:
        asked = open_llm(alma)
        assert asked is not None
        with pytest.raises(BudgetError, match="2 calls a day"):
            asked.complete("Sure?")
    assert len(server.requests) == 2


def test_without_a_configuration_there_is_no_model(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        assert open_llm(alma) is None


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("llm: {provider: ollama}", "llm.model"),
        ("llm: {provider: ollama, model: m, modell: n}", "llm.modell: unknown key"),
        ("llm: {provider: ollama, model: m, budget: {calls_a_day: -1}}", "llm.budget.calls_a_day"),
        ("llm: ollama", "llm: must hold"),
    ],
)
def test_a_wrong_block_names_the_key(tmp_path: Path, block: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ALMA.from_config(configuration(tmp_path, block))
