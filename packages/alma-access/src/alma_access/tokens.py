"""Bearer tokens: what is kept of each, and finding one among others by its secret."""

import hashlib
import hmac
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from alma.errors import ConfigurationError
from alma_access.access import Access
from alma_access.secret_form import is_mistyped

SHORTEST = 16
"""Characters that a chosen secret has at least."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret: its name and id, the SHA-256 of the secret, and what it is bound to.

    `expires` and `last_used` are in microseconds since 1970; `None` for a token that does not expire, or was not used yet. `last_used` is
    noted about once an hour.
    """

    name: str
    id: str
    sha256: str
    access: Access
    expires: int | None = None
    last_used: int | None = None

    def matches(self, secret: str) -> bool:
        """True for the secret that this token was made with. Takes the same time for any other."""
        return hmac.compare_digest(self.sha256, digest(secret))

    def is_expired(self, now: int | None = None) -> bool:
        """True from the moment on that the token expires, as of now, or of a time in microseconds since 1970."""
        return self.expires is not None and (microseconds() if now is None else now) >= self.expires


class Tokens(Protocol):
    """Tokens that a server accepts."""

    def find(self, secret: str) -> Token | None:
        """Returns the token of a secret; `None` if there is none now, or it has expired."""

    def refusal(self, secret: str) -> str:
        """Says in a sentence why `find` returns `None`. Names a token only to whoever has its secret."""


@dataclass(frozen=True, slots=True)
class GivenTokens:
    """Tokens that do not change while a server runs, such as one of the environment."""

    tokens: tuple[Token, ...]

    def find(self, secret: str) -> Token | None:
        """Returns the token of a secret; `None` if there is none, or it has expired."""
        token = find_token(self.tokens, secret)
        return None if token is None or token.is_expired() else token

    def refusal(self, secret: str) -> str:
        """Says in a sentence why `find` returns `None`."""
        return refusal(self.tokens, secret, microseconds())


def token_of(secret: str, access: Access, *, name: str = "environment") -> Token:
    """Returns the token of a chosen secret. `ConfigurationError` if it is too short, or mistyped."""
    if len(secret) < SHORTEST:
        raise ConfigurationError(f"a token needs at least {SHORTEST} characters; `openssl rand -hex 32` makes a good one")
    if is_mistyped(secret):
        raise ConfigurationError(
            "the token begins as those of `alma token create` do, but was cut or mistyped: its checksum is wrong"
        )
    return Token(name, digest(secret)[:8], digest(secret), access)


def find_token(tokens: Iterable[Token], secret: str) -> Token | None:
    """Returns the token of a secret, expired or not. Takes the same time for every secret that none has."""
    sought = digest(secret)
    return next((token for token in tokens if hmac.compare_digest(token.sha256, sought)), None)


def refusal(tokens: Iterable[Token], secret: str, now: int) -> str:
    """Says in a sentence why a secret is not accepted at a time in microseconds since 1970."""
    token = find_token(tokens, secret)
    if token is not None and token.is_expired(now):
        return f"the token {token.name!r} expired on {day(token.expires or now)}"
    if is_mistyped(secret):
        return "the token was cut or mistyped: its checksum is wrong"
    return "the token is not known here: it was revoked, or belongs to another server"


def digest(secret: str) -> str:
    """Returns the SHA-256 of a secret. It has 256 random bits, so that a slow hash would protect nothing more."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def microseconds() -> int:
    """Returns the time in microseconds since 1970."""
    return time.time_ns() // 1000


def day(at: int) -> str:
    """Returns the date of a time in microseconds since 1970, in UTC."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).date().isoformat()
