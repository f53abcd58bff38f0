"""Language models over HTTP: servers that speak OpenAI's `/chat/completions`, and Anthropic. No SDK, and no key that was not given."""

import json
from collections.abc import Mapping
from typing import Any, Unpack
from urllib.parse import quote

from pydantic import BaseModel, SecretStr, ValidationError

from alma.embedding.endpoint import Endpoint, Refusal, Retries, check_key, parse_url
from alma.errors import ConfigurationError
from alma.text import name_nearest
from alma_knowledge.llm.calling import Answer, Schema
from alma_knowledge.llm.errors import LLMError

ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "groq": "https://api.groq.com/openai/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "openai-compatible": "",
}
"""Where the servers of a provider usually are; `openai-compatible` is any other one, by its `base_url`."""
ANTHROPIC_URL, ANTHROPIC_VERSION = "https://api.anthropic.com", "2023-06-01"
AZURE_API_VERSION = "2024-10-21"
ALIASES = {"local": "ollama"}
PROVIDERS = (*ADDRESSES, "azure", "anthropic")
NEEDS_KEY = frozenset({"openai", "groq", "azure", "anthropic"})

MAX_TOKENS = 1_024
TOOL = "answer"
"""Name of the tool by which Anthropic's models give JSON."""


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Used(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    """The part of an answer of `/chat/completions` that is read."""

    choices: list[_Choice]
    usage: _Used | None = None


class ChatModel:
    """A model behind OpenAI's `/chat/completions`: OpenAI, Azure, Ollama, Groq, vLLM, LM Studio and others. Thread-safe.

    JSON is asked for by a schema, where the server refuses that as any JSON object, and where it refuses that, too, by the prompt alone. An answer
    that was cut off at `max_tokens` is an `LLMError`, for half of it may be missing.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str | None,
        max_tokens: int = MAX_TOKENS,
        temperature: float = 0.0,
    ) -> None:
        """`model` is named in each request; `None` where the address names it."""
        self._endpoint = endpoint
        self._body: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature}
        if model is not None:
            self._body["model"] = model
        self._refused = 0

    @property
    def name(self) -> str:
        """The model and its address."""
        return self._endpoint.described

    def complete(self, prompt: str, /) -> str:
        """Returns the model's answer."""
        return self.answer(prompt).text

    def answer(self, prompt: str, /, *, schema: Schema | None = None) -> Answer:
        """Returns the model's answer, with the tokens used where the server says so."""
        body = {**self._body, "messages": [{"role": "user", "content": prompt}]}
        if schema is None:
            return self._read(self._endpoint.ask(body))
        ways: tuple[Mapping[str, Any], ...] = (
            {"response_format": {"type": "json_schema", "json_schema": {"name": TOOL, "schema": schema}}},
            {"response_format": {"type": "json_object"}},
        )
        for number, way in enumerate(ways):
            if number >= self._refused:
                answer = self._endpoint.try_to_ask({**body, **way})
                if not isinstance(answer, Refusal):
                    return self._read(answer)
                self._refused = number + 1
        return self._read(self._endpoint.ask(body))

    def _read(self, content: bytes) -> Answer:
        try:
            found = _Completion.model_validate_json(content)
            first = found.choices[0]
        except (ValidationError, IndexError) as error:
            raise LLMError(f"{self.name}: its answer is no chat completion") from error
        if first.finish_reason == "length":
            raise LLMError(f"{self.name}: its answer was cut off at max_tokens")
        if not first.message.content:
            raise LLMError(f"{self.name}: its answer is empty")
        used = found.usage
        return Answer(first.message.content, (used.prompt_tokens, used.completion_tokens) if used else None)


class _Block(BaseModel):
    type: str
    text: str = ""
    input: dict[str, Any] | None = None


class _Tokens(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0


class _MessageAnswer(BaseModel):
    """The part of an answer of `/v1/messages` that is read."""

    content: list[_Block]
    stop_reason: str | None = None
    usage: _Tokens | None = None


class AnthropicModel:
    """A model behind Anthropic's `/v1/messages`. Thread-safe. JSON is asked for by a tool that the model has to use."""

    def __init__(self, endpoint: Endpoint, *, model: str, max_tokens: int = MAX_TOKENS, temperature: float = 0.0) -> None:
        self._endpoint = endpoint
        self._body = {"model": model, "max_tokens": max_tokens, "temperature": temperature}

    @property
    def name(self) -> str:
        """The model and its address."""
        return self._endpoint.described

    def complete(self, prompt: str, /) -> str:
        """Returns the model's answer."""
        return self.answer(prompt).text

    def answer(self, prompt: str, /, *, schema: Schema | None = None) -> Answer:
        """Returns the model's answer, with the tokens used where the server says so."""
        body: dict[str, Any] = {**self._body, "messages": [{"role": "user", "content": prompt}]}
        if schema is not None:
            tool = {"name": TOOL, "description": "Gives the answer.", "input_schema": schema}
            body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
        try:
            found = _MessageAnswer.model_validate_json(self._endpoint.ask(body))
        except ValidationError as error:
            raise LLMError(f"{self.name}: its answer is no message") from error
        if found.stop_reason == "max_tokens":
            raise LLMError(f"{self.name}: its answer was cut off at max_tokens")
        given = next((block.input for block in found.content if block.type == "tool_use" and block.input is not None), None)
        text = "".join(block.text for block in found.content) if given is None else json.dumps(given)
        if not text:
            raise LLMError(f"{self.name}: its answer is empty")
        used = found.usage
        return Answer(text, (used.input_tokens, used.output_tokens) if used else None)


def create_llm(
    provider: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | SecretStr | None = None,
    api_version: str = AZURE_API_VERSION,
    max_tokens: int = MAX_TOKENS,
    temperature: float = 0.0,
    **retries: Unpack[Retries],
) -> ChatModel | AnthropicModel:
    """Returns a model by the name of its provider. `ConfigurationError` says what is missing. No variable of the environment is read for a key.

    `model` is the model's name, for `azure` that of the deployment. `base_url` is the address of the server, up to `/v1` where it has one;
    `ollama`, `vllm` and `lmstudio` have a usual one on this machine. `local` is `ollama`. `timeout` is 30 s, `temperature` 0.
    """
    name = ALIASES.get(provider, provider)
    if name not in PROVIDERS:
        raise ConfigurationError(
            f"there is no provider {provider!r}{name_nearest(provider, PROVIDERS)}; there are {', '.join(PROVIDERS)}"
        )
    if not model:
        raise ConfigurationError(f"the provider {provider} needs the name of a model")
    key = check_key(api_key)
    address = base_url or (ANTHROPIC_URL if name == "anthropic" else ADDRESSES.get(name, ""))
    if not address:
        raise ConfigurationError(f"the provider {provider} needs a base_url, the address of its server")
    if key is None and name in NEEDS_KEY and base_url is None:
        raise ConfigurationError(f"the provider {provider} needs an api_key")
    place, plain = parse_url(address, "base_url"), "" if key is None else key.get_secret_value()
    path, headers = place.path.rstrip("/"), {"Authorization": SecretStr(f"Bearer {plain}")} if plain else {}
    if name == "anthropic":
        place = place.copy_with(path=f"{path.removesuffix('/v1')}/v1/messages")
        headers = {"anthropic-version": SecretStr(ANTHROPIC_VERSION)} | ({"x-api-key": SecretStr(plain)} if plain else {})
    elif name == "azure":
        place = place.copy_with(
            path=f"{path}/openai/deployments/{quote(model, safe='')}/chat/completions", params={"api-version": api_version}
        )
        headers = {"api-key": SecretStr(plain)} if plain else {}
    else:
        place = place.copy_with(path=f"{path}/chat/completions")
    endpoint = Endpoint(place, key, headers=headers, name=f"{name}/{model}", error=LLMError, **retries)
    if name == "anthropic":
        return AnthropicModel(endpoint, model=model, max_tokens=max_tokens, temperature=temperature)
    return ChatModel(endpoint, model=None if name == "azure" else model, max_tokens=max_tokens, temperature=temperature)
