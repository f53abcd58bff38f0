"""Requests to the endpoint of a model over HTTP: retried where that may help, with errors that never show a key."""

import json
import math
import random
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn, TypedDict

from pydantic import SecretStr

from alma.errors import AlmaError, ConfigurationError, EmbeddingError, missing_for
from alma.text import shortened
from alma.types.identity import utc_now

try:
    import httpx
    from tenacity import RetryCallState, Retrying, retry_if_result, wait_exponential
except ImportError as missing:
    raise missing_for("Models over HTTP need", missing, "openai") from missing

WAITS = wait_exponential(multiplier=0.5, max=30.0)
LONGEST_ASKED_WAIT = 120.0
"""If a server asks for a longer wait than this, the request fails at once."""

RETRIED = frozenset({408, 409, 425, 429})
OUT_OF_CREDIT = "insufficient_quota"
LONGEST_MESSAGE = 200


class Retries(TypedDict, total=False):
    """Options of the requests to an endpoint."""

    timeout: float
    max_retries: int
    sleep: Callable[[float], None]
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that the server does not take."""

    what: str


@dataclass(frozen=True, slots=True)
class _Failure:
    """A request that may be retried: what went wrong, and how many seconds the server asked to wait."""

    what: str
    asked: float | None = None


class Endpoint:
    """An address that takes requests in JSON. Thread-safe. Opens no connection before the first one.

    Time-outs (`timeout` seconds), broken connections, 408, 409, 425, 429 and 5xx are retried at most `max_retries` times, other answers are
    not. The key is in no message, log or representation. `sleep` and `chance` (0 to 1) are for tests.
    """

    def __init__(
        self,
        url: httpx.URL,
        key: SecretStr | None,
        *,
        headers: Mapping[str, SecretStr],
        name: str,
        error: type[AlmaError] = EmbeddingError,
        timeout: float = 30.0,
        max_retries: int = 5,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`name` is that of the model in messages, `error` the class of what is raised when an answer cannot be had."""
        check_limits(timeout=(timeout, 0.001), max_retries=(max_retries, 0))
        self._url, self._key, self._headers, self._error = str(url), key, headers, error
        self._max_retries, self._sleep, self._chance = max_retries, sleep, chance
        self._client = client = httpx.Client(timeout=timeout)
        self._release = weakref.finalize(self, client.close)
        self.described = f"{name} at {url.copy_with(username='', password='', query=None)}"
        """The model and its address, without a key."""

    def close(self) -> None:
        """Closes idle connections. Happens by itself when the endpoint is garbage-collected."""
        self._release()

    def ask(self, body: Mapping[str, Any]) -> bytes:
        """Returns the body of the answer. The error of the endpoint is raised if the server refuses or cannot be reached."""
        answer = self.try_to_ask(body)
        if isinstance(answer, Refusal):
            raise self._error(f"{self.described}: {answer.what}")
        return answer

    def try_to_ask(self, body: Mapping[str, Any]) -> "bytes | Refusal":
        """Returns the body of the answer, or why the server does not take this request. For anything else the error of the endpoint is raised."""
        retrying = Retrying(  # made for each request: kept, it would hold the endpoint, which could not close its connections
            retry=retry_if_result(lambda answer: isinstance(answer, _Failure)),
            stop=self._is_over,
            wait=self._wait,
            sleep=self._sleep,
            retry_error_callback=self._give_up,
        )
        answer = retrying(self._request, json.dumps(body).encode())
        assert isinstance(answer, bytes | Refusal)
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
        raise self._error(f"{self.described}: {_failure_of(state).what}{tries}")

    def _request(self, content: bytes) -> bytes | Refusal | _Failure:
        """Returns the body of the answer, a refusal, or a failure that may be retried. Raises the error of the endpoint for any other failure."""
        try:
            answer = self._post(content)
        except httpx.TimeoutException as error:
            return _Failure(f"no answer in time ({type(error).__name__})")
        except httpx.TransportError as error:
            return _Failure(f"no connection ({type(error).__name__}: {self._hide_key(str(error))})")
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            # The cause is suppressed, because it carries the request with the key.
            raise self._error(f"{self.described}: {type(error).__name__}: {self._hide_key(str(error))}") from None
        return answer.content if answer.is_success else self._read_refusal(answer)

    def _post(self, content: bytes) -> httpx.Response:
        """Sends a request. A function of its own, so that no function that raises has the key in a variable."""
        headers = {name: value.get_secret_value() for name, value in self._headers.items()}
        return self._client.post(self._url, content=content, headers={"Content-Type": "application/json", **headers})

    def _read_refusal(self, answer: httpx.Response) -> Refusal | _Failure:
        code, said = map(self._hide_key, _read_complaint(answer))
        status = answer.status_code
        if status in (401, 403):
            raise self._error(f"{self.described}: the server refuses the key ({status}); look at api_key")
        what = f"status {status}" + (f", {said}" if said else "")
        if code == OUT_OF_CREDIT or not (status in RETRIED or status >= 500):
            return Refusal(what)
        headers = answer.headers
        return _Failure(what, _read_wait(headers.get("retry-after"), headers.get("retry-after-ms")))

    def _hide_key(self, text: str) -> str:
        plain = text.replace(self._key.get_secret_value(), "***") if self._key else text
        return shortened(" ".join(plain.split()), LONGEST_MESSAGE)


def check_limits(**limits: tuple[float, float]) -> None:
    """Checks values that have a least one."""
    for name, (value, least) in limits.items():
        if not least <= value < 1e6:
            raise ConfigurationError(f"{name} is {value}; it must be at least {least}")


def check_key(key: str | SecretStr | None) -> SecretStr | None:
    """Returns the key without surrounding space, None for an empty one. Checks it here, because a driver's error would show the key."""
    plain = (key.get_secret_value() if isinstance(key, SecretStr) else key or "").strip()
    if not (plain.isascii() and plain.isprintable()) or " " in plain:
        raise ConfigurationError("api_key holds characters that no key has (it is not shown here)")
    return SecretStr(plain) if plain else None


def parse_url(url: str, name: str) -> httpx.URL:
    """Returns an address of HTTP. `ConfigurationError` if it is none."""
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
