"""Embedders behind the OpenAI-compatible `/embeddings` endpoint: OpenAI, Azure OpenAI, Ollama, vLLM and others."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Unpack
from urllib.parse import quote

import numpy as np
from pydantic import BaseModel, SecretStr, Strict, StrictInt, ValidationError

from alma.embedding.endpoint import Endpoint, Retries, check_key, check_limits, parse_url
from alma.errors import ConfigurationError, EmbeddingError
from alma.types.identity import Fingerprint

if TYPE_CHECKING:
    import httpx
    from numpy.typing import NDArray

PREFIX = "openai/"
"""Prefix of the recorded model of an embedder over HTTP."""
OPENAI_URL, OPENAI_HOST = "https://api.openai.com/v1", "api.openai.com"
DEFAULT_MODEL = "text-embedding-3-small"
AZURE_API_VERSION = "2024-10-21"

KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
SHORTENABLE = "text-embedding-3-"
"""Models with this prefix shorten their vectors to the requested `dimensions`."""

BLANK = "."
"""Replaces a blank text, which the endpoint refuses."""


class Limits(Retries, total=False):
    """Options that all embedders of this kind accept."""

    batch_size: int
    max_characters: int


class _Vector(BaseModel):
    index: StrictInt
    embedding: list[Annotated[float, Strict()]]


class _Answer(BaseModel):
    """The part of an answer that is read."""

    data: list[_Vector]


class _AnswerError(Exception):
    """An answer does not match the request; the text says how."""


class EndpointEmbedder:
    """Embeds over HTTP. Thread-safe. Opens no connection before the first text.

    Texts are cut at `max_characters`; a blank one is sent as a full stop. A request has at most `batch_size` texts. Vectors are normalised
    here. The key is in no message, log, representation or fingerprint. `Endpoint` states the errors that are retried.
    """

    def __init__(
        self,
        url: "httpx.URL",
        key: SecretStr | None,
        *,
        headers: Mapping[str, SecretStr],
        body: Mapping[str, Any],
        model: str,
        dimension: int | None,
        batch_size: int = 128,
        max_characters: int = 24_000,
        **retries: Unpack[Retries],
    ) -> None:
        check_limits(batch_size=(batch_size, 1), max_characters=(max_characters, 1))
        self._endpoint = Endpoint(url, key, headers=headers, name=f"{PREFIX}{model}", **retries)
        known = KNOWN_DIMENSIONS.get(model)
        chosen = dimension or known
        if chosen is None:
            raise ConfigurationError(
                f"The dimension of {model!r} is not known here: set embedding_dim to the length of its vectors"
            )
        asked = {"dimensions": chosen} if model.startswith(SHORTENABLE) and chosen != known else {}
        self._body, self._batch_size, self._max_characters = {**body, **asked}, batch_size, max_characters
        self._fingerprint = Fingerprint(
            model=f"{PREFIX}{model}",
            revision="",
            dimension=chosen,
            precision="float32",
            token_limit=0,
            preparation=f"cut-{max_characters}-1",
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._endpoint.described}>"

    @property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint with the model's name, since the endpoint states nothing more. The server and the account are not part of it."""
        return self._fingerprint

    def close(self) -> None:
        """Closes idle connections. Happens by itself when the embedder is garbage-collected."""
        self._endpoint.close()

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        """Returns one unit row per text, in order. Raises `EmbeddingError` if the server refuses, cannot be reached or returns an invalid
        answer."""
        vectors = np.empty((len(texts), self._fingerprint.dimension), np.float32)
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            prepared = [text[: self._max_characters] if text.strip() else BLANK for text in batch]
            answer = self._endpoint.ask({**self._body, "input": prepared})
            try:
                vectors[start : start + len(batch)] = _read_rows(answer, len(batch), self._fingerprint.dimension)
            except _AnswerError as error:
                raise EmbeddingError(f"{self._endpoint.described}: {error}") from error
        return vectors


class OpenAIEmbedder(EndpointEmbedder):
    """Embeds with any server that speaks OpenAI's `/embeddings`, at `base_url`: OpenAI itself, Ollama, vLLM … See `EndpointEmbedder` for
    the limits.

    `dimension` is the length of the vectors; it may be left out for OpenAI's own models. A `text-embedding-3-…` model is asked for that
    length. `api_key` may be left out for a server of one's own.
    """

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str = OPENAI_URL,
        api_key: str | SecretStr | None = None,
        dimension: int | None = None,
        **limits: Unpack[Limits],
    ) -> None:
        key, url = check_key(api_key), parse_url(base_url, "base_url")
        if key is None and url.host == OPENAI_HOST:
            raise ConfigurationError(
                "The openai embedder needs an api_key, say `openai: {api_key: ${OPENAI_API_KEY}}` in the configuration; "
                "a server of your own needs a base_url"
            )
        headers = {} if key is None else {"Authorization": SecretStr(f"Bearer {key.get_secret_value()}")}
        place = url.copy_with(path=url.path.rstrip("/") + "/embeddings")
        super().__init__(place, key, headers=headers, body={"model": model}, model=model, dimension=dimension, **limits)


class AzureOpenAIEmbedder(EndpointEmbedder):
    """Embeds with a deployment of Azure OpenAI. `model` is the deployed model, where the deployment has another name.

    Its vectors are interchangeable with those of `OpenAIEmbedder` for the same model. Limits as in `EndpointEmbedder`.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        deployment: str,
        api_key: str | SecretStr,
        model: str | None = None,
        api_version: str = AZURE_API_VERSION,
        dimension: int | None = None,
        **limits: Unpack[Limits],
    ) -> None:
        key, url = check_key(api_key), parse_url(endpoint, "endpoint")
        if key is None:
            raise ConfigurationError("The azure embedder needs an api_key")
        path = f"{url.path.rstrip('/')}/openai/deployments/{quote(deployment, safe='')}/embeddings"
        place = url.copy_with(path=path, params={"api-version": api_version})
        super().__init__(place, key, headers={"api-key": key}, body={}, model=model or deployment, dimension=dimension, **limits)


def _read_rows(answer: bytes, count: int, dimension: int) -> "NDArray[np.float32]":
    """Returns `count` unit rows in the order of their `index`. Raises `_AnswerError` for wrong counts or lengths and for values that no
    vector has."""
    try:
        items = sorted(_Answer.model_validate_json(answer).data, key=lambda item: item.index)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _AnswerError(f"its answer is not JSON with vectors in `data`: {place} {first['msg']}") from error
    if len(items) != count:
        raise _AnswerError(f"it gave {len(items)} vectors for {count} texts")
    if [item.index for item in items] != list(range(count)):
        raise _AnswerError("its vectors are not numbered from 0 without gaps")
    if odd := [len(item.embedding) for item in items if len(item.embedding) != dimension]:
        raise _AnswerError(f"it gave vectors of {odd[0]} dimensions, but {dimension} are expected; set embedding_dim to {odd[0]}")
    rows = np.array([item.embedding for item in items], np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise _AnswerError("it gave a vector of zeros, or with values that are not finite")
    unit: NDArray[np.float32] = (rows / lengths).astype(np.float32)
    return unit
