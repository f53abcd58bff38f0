"""Embedders behind the OpenAI-compatible `/embeddings` endpoint: OpenAI, Azure OpenAI, Ollama, vLLM and others."""

import json
import math
import random
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypedDict, Unpack
from urllib.parse import quote

import numpy as np
from pydantic import BaseModel, SecretStr, Strict, StrictInt, ValidationError

from alma.errors import ConfigurationError, EmbeddingError, missing_for
from alma.text import shortened
from alma.types.identity import Fingerprint, utc_now

try:
    import httpx
    from tenacity import RetryCallState, Retrying, retry_if_result, wait_exponential
except ImportError as missing:
    raise missing_for("The openai and azure embedders need", missing, "openai") from missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

PREFIX = "openai/"
"""Prefix of the recorded model of an embedder over HTTP."""
OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "text-embedding-3-small"
AZURE_API_VERSION = "2024-10-21"

KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
SHORTENABLE = "text-embedding-3-"
"""Models with this prefix shorten their vectors to the requested `dimensions`."""

BLANK = "."
"""Replaces a blank text, which the endpoint refuses."""

WAITS = wait_exponential(multiplier=0.5, max=30.0)
LONGEST_ASKED_WAIT = 120.0
"""If a server asks for a longer wait than this, the request fails at once."""

RETRIED = frozenset({408, 409, 425, 429})
OUT_OF_CREDIT = "insufficient_quota"
LONGEST_MESSAGE = 200


class Limits(TypedDict, total=False):
    """Options that all embedders of this kind accept."""

    batch_size: int
    timeout: float
    max_retries: int
    max_characters: int
    sleep: Callable[[float], None]
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Failure:
    """A request that may be retried: what went wrong, and how many seconds the server asked to wait."""

    what: str
    asked: float | None = None


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

    Texts are cut at `max_characters`; a blank one is sent as a full stop. A request has at most `batch_size` texts. Time-outs (`timeout`
    seconds), broken connections, 408, 409, 425, 429 and 5xx are retried at most `max_retries` times, other answers are not. Vectors are
    normalised here. The key is in no message, log, representation or fingerprint. `sleep` and `chance` (0 to 1) are for tests.
    """

    def __init__(
        self,
        url: httpx.URL,
        key: SecretStr | None,
        *,
        headers: Mapping[str, SecretStr],
        body: Mapping[str, Any],
        model: str,
        dimension: int | None,
        batch_size: int = 128,
        timeout: float = 30.0,
        max_retries: int = 5,
        max_characters: int = 24_000,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        _check_limits(
            batch_size=(batch_size, 1), timeout=(timeout, 0.001), max_retries=(max_retries, 0), max_characters=(max_characters, 1)
        )
        known = KNOWN_DIMENSIONS.get(model)
        chosen = dimension or known
        if chosen is None:
            raise ConfigurationError(
                f"The dimension of {model!r} is not known here: set embedding_dim to the length of its vectors"
            )
        asked = {"dimensions": chosen} if model.startswith(SHORTENABLE) and chosen != known else {}
        self._url, self._key, self._headers, self._body = str(url), key, headers, {**body, **asked}
        self._batch_size, self._max_characters = batch_size, max_characters
        self._max_retries, self._sleep, self._chance = max_retries, sleep, chance
        self._client = client = httpx.Client(timeout=timeout)
        self._release = weakref.finalize(self, client.close)
        self._fingerprint = Fingerprint(
            model=f"{PREFIX}{model}",
            revision="",
            dimension=chosen,
            precision="float32",
            token_limit=0,
            preparation=f"cut-{max_characters}-1",
        )

        self._described = f"{PREFIX}{model} at {url.copy_with(username='', password='', query=None)}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._described}>"

    @property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint with the model's name, since the endpoint states nothing more. The server and the account are not part of it."""
        return self._fingerprint

    def close(self) -> None:
        """Closes idle connections. Happens by itself when the embedder is garbage-collected."""
        self._release()

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        """Returns one unit row per text, in order. Raises `EmbeddingError` if the server refuses, cannot be reached or returns an invalid
        answer."""
        vectors = np.empty((len(texts), self._fingerprint.dimension), np.float32)
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            prepared = [text[: self._max_characters] if text.strip() else BLANK for text in batch]
            answer = self._ask({**self._body, "input": prepared})
            try:
                vectors[start : start + len(batch)] = _read_rows(answer, len(batch), self._fingerprint.dimension)
            except _AnswerError as error:
                raise EmbeddingError(f"{self._described}: {error}") from error
        return vectors

    def _ask(self, body: dict[str, Any]) -> bytes:
        retrying = Retrying(  # made for each request: kept, it would hold the embedder, which could not close its connections
            retry=retry_if_result(lambda answer: isinstance(answer, _Failure)),
            stop=self._is_over,
            wait=self._wait,
            sleep=self._sleep,
            retry_error_callback=self._give_up,
        )
        answer = retrying(self._request, json.dumps(body).encode())
        assert isinstance(answer, bytes)
        return answer

    def _is_over(self, state: RetryCallState) -> bool:
        return state.attempt_number > self._max_retries or (_failure_of(state).asked or 0.0) > LONGEST_ASKED_WAIT

    def _wait(self, state: RetryCallState) -> float:
        """Returns the seconds until the next attempt, of which a random part of up to half is taken off ("equal jitter"). Never shorter than
        what the server asked for."""
        jittered = WAITS(state) * (0.5 + 0.5 * self._chance())
        asked = _failure_of(state).asked
        return jittered if asked is None else asked + jittered * 0.1

    def _give_up(self, state: RetryCallState) -> NoReturn:
        tries = f" ({state.attempt_number} tries)" if state.attempt_number > 1 else ""
        raise EmbeddingError(f"{self._described}: {_failure_of(state).what}{tries}")

    def _request(self, content: bytes) -> bytes | _Failure:
        """Returns the body of the answer, or a failure that may be retried. Raises `EmbeddingError` for any other failure."""
        try:
            answer = self._post(content)
        except httpx.TimeoutException as error:
            return _Failure(f"no answer in time ({type(error).__name__})")
        except httpx.TransportError as error:
            return _Failure(f"no connection ({type(error).__name__}: {self._hide_key(str(error))})")
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            # The cause is suppressed, because it carries the request with the key.
            raise EmbeddingError(f"{self._described}: {type(error).__name__}: {self._hide_key(str(error))}") from None
        return answer.content if answer.is_success else self._read_refusal(answer)

    def _post(self, content: bytes) -> httpx.Response:
        """Sends a request. A function of its own, so that no function that raises has the key in a variable."""
        headers = {name: value.get_secret_value() for name, value in self._headers.items()}
        return self._client.post(self._url, content=content, headers={"Content-Type": "application/json", **headers})

    def _read_refusal(self, answer: httpx.Response) -> _Failure:
        code, said = map(self._hide_key, _read_complaint(answer))
        status = answer.status_code
        if status in (401, 403):
            raise EmbeddingError(f"{self._described}: the server refuses the key ({status}); look at api_key")
        what = f"status {status}" + (f", {said}" if said else "")
        if code == OUT_OF_CREDIT or not (status in RETRIED or status >= 500):
            raise EmbeddingError(f"{self._described}: {what}")
        headers = answer.headers
        return _Failure(what, _read_wait(headers.get("retry-after"), headers.get("retry-after-ms")))

    def _hide_key(self, text: str) -> str:
        plain = text.replace(self._key.get_secret_value(), "***") if self._key else text
        return shortened(" ".join(plain.split()), LONGEST_MESSAGE)


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
        key, url = _check_key(api_key), _parse_url(base_url, "base_url")
        if key is None and url.host == httpx.URL(OPENAI_URL).host:
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
        key, url = _check_key(api_key), _parse_url(endpoint, "endpoint")
        if key is None:
            raise ConfigurationError("The azure embedder needs an api_key")
        path = f"{url.path.rstrip('/')}/openai/deployments/{quote(deployment, safe='')}/embeddings"
        place = url.copy_with(path=path, params={"api-version": api_version})
        super().__init__(place, key, headers={"api-key": key}, body={}, model=model or deployment, dimension=dimension, **limits)


def _check_limits(**limits: tuple[float, float]) -> None:
    for name, (value, least) in limits.items():
        if not least <= value < 1e6:
            raise ConfigurationError(f"{name} is {value}; it must be at least {least}")


def _check_key(key: str | SecretStr | None) -> SecretStr | None:
    """Returns the key without surrounding space, None for an empty one. Checks it here, because a driver's error would show the key."""
    plain = (key.get_secret_value() if isinstance(key, SecretStr) else key or "").strip()
    if not (plain.isascii() and plain.isprintable()) or " " in plain:
        raise ConfigurationError("api_key holds characters that no key has (it is not shown here)")
    return SecretStr(plain) if plain else None


def _parse_url(url: str, name: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{name} is no address: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigurationError(f"{name} must begin with http:// or https:// and name a host")
    return parsed


def _read_complaint(answer: httpx.Response) -> tuple[str, str]:
    """Returns code and message of the error in the body, empty where they are missing."""
    try:
        error = answer.json()["error"]
    except (ValueError, LookupError, TypeError):
        return "", ""
    if isinstance(error, dict):
        return str(error.get("code") or ""), str(error.get("message") or "")
    return "", str(error)


def _failure_of(state: RetryCallState) -> _Failure:
    """Returns what the last attempt resulted in. tenacity asks for a wait and for an end after failures only."""
    assert state.outcome is not None
    failure: _Failure = state.outcome.result()
    return failure


def _read_wait(retry_after: str | None, retry_after_ms: str | None) -> float | None:
    """Returns the seconds that a server's headers ask to wait: a number, or a date (RFC 9110, 10.2.3). `None` where they say nothing
    usable."""
    if (milliseconds := _parse_number(retry_after_ms)) is not None:
        return milliseconds / 1000
    if (seconds := _parse_number(retry_after)) is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(retry_after or "")
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - utc_now()).total_seconds())


def _parse_number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


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
