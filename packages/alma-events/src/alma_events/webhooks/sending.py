"""Sends one request to a receiver: no redirects, no proxies, no cookies, a limit on time, and on what is read of the answer."""

import asyncio
import email.utils
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import httpcore

from alma_events.webhooks.guard import Guard, GuardedBackend, RefusedAddressError, Resolve, resolve_host

LARGEST_ANSWER = 4_096
ANSWER_SECONDS = 1.0
"""Seconds for what follows the head of an answer. Nothing in it is used; a connection whose answer has ended is used again."""

IDLE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of an attempt: the status of the receiver, 0 if there was none, and then the sort of error."""

    status: int = 0
    error: str = ""
    retry_after: float = 0.0
    ms: int = 0

    @property
    def is_success(self) -> bool:
        """True for a status of 200 to 299."""
        return 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """True for 410: the receiver wants no more."""
        return self.status == 410

    @property
    def asks_to_wait(self) -> bool:
        """True for 429 and 503 with a `Retry-After`."""
        return self.status in (429, 503) and self.retry_after > 0


class Sender:
    """Connections to one receiver. Used in one event loop."""

    def __init__(self, url: str, guard: Guard, *, seconds: float, connections: int, resolve: Resolve = resolve_host) -> None:
        """`seconds` is the limit of an attempt in all, `connections` of those at once. `ValidationError` for a URL that is none."""
        self._target = guard.check_url(url)
        self._seconds = seconds
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls() if self._target.scheme == "https" else None,
            max_connections=connections,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=GuardedBackend(guard, resolve),
        )
        target = self._target
        self._url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Sends a body and returns how that ended. Raises nothing but cancellation."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                status, wait = await self._exchange(body, headers)
        except TimeoutError:
            return Answer(error="timeout", ms=_since(began))
        except RefusedAddressError:
            return Answer(error="address refused", ms=_since(began))
        except httpcore.TimeoutException:
            return Answer(error="timeout", ms=_since(began))
        except (httpcore.ConnectError, ssl.SSLError, OSError):
            return Answer(error="no connection", ms=_since(began))
        except (httpcore.NetworkError, httpcore.ProtocolError, ValueError, RuntimeError):
            return Answer(error="broken answer", ms=_since(began))
        return Answer(
            status=status, error="" if Answer(status).is_success else f"status {status}", retry_after=wait, ms=_since(began)
        )

    async def close(self) -> None:
        """Closes all connections."""
        await self._pool.aclose()

    async def _exchange(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, float]:
        target = self._target
        host = f"[{target.host}]" if ":" in target.host else target.host
        usual = target.port == (443 if target.scheme == "https" else 80)
        sent = {"host": host if usual else f"{host}:{target.port}", "content-length": str(len(body)), **headers}
        async with self._pool.stream("POST", self._url, headers=list(sent.items()), content=body) as response:
            await self._read_some(response)
            return response.status, _retry_after(response.headers)

    async def _read_some(self, response: httpcore.Response) -> None:
        """Reads a short answer to its end, so that its connection can be used again; of a long or slow one no more than the beginning."""
        size = 0
        try:
            async with asyncio.timeout(min(ANSWER_SECONDS, self._seconds)):
                async for part in response.aiter_stream():
                    size += len(part)
                    if size > LARGEST_ANSWER:
                        return
        except (TimeoutError, httpcore.NetworkError, httpcore.ProtocolError):
            return


@cache
def _tls() -> ssl.SSLContext:
    return httpcore.default_ssl_context()


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1_000)


def _retry_after(headers: list[tuple[bytes, bytes]]) -> float:
    """Returns the seconds that a receiver asks for, as a number or as a date; 0 if it does not."""
    text = next((value.decode("latin-1").strip() for name, value in headers if name.lower() == b"retry-after"), "")
    if text.isdecimal():
        return min(float(text[:9]), 1e9)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
