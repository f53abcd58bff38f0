"""Bearer tokens: 256 random bits each, kept as hashes in a file that only its owner may read, each bound to an agent and a user."""

import hashlib
import hmac
import json
import logging
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from alma.errors import ConfigurationError
from alma.files import new_file
from alma_mcp.access import Access

FILE = "mcp_tokens.json"
SHORTEST = 16
_LOG = logging.getLogger("alma")
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret: its name, the SHA-256 of the secret, and whom it speaks as."""

    name: str
    sha256: str
    access: Access

    def matches(self, secret: str) -> bool:
        """True for the secret that this token was made with. Takes the same time for any other."""
        return hmac.compare_digest(self.sha256, _digest(secret))


def token_of(secret: str, access: Access, *, name: str = "environment") -> Token:
    """Returns the token of a chosen secret. `ConfigurationError` if it is too short to be one."""
    if len(secret) < SHORTEST:
        raise ConfigurationError(f"a token needs at least {SHORTEST} characters; `openssl rand -hex 32` makes a good one")
    return Token(name, _digest(secret), access)


class TokenFile:
    """The tokens of a store, in a file beside its database."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._known: Mapping[str, Token] = {}
        self._stamp: object = None

    def tokens(self) -> dict[str, Token]:
        """Returns the tokens by name. `ConfigurationError` if others may write the file, or it is damaged."""
        try:
            mode = self.path.stat().st_mode
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        if os.name != "nt" and mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigurationError(
                f"others may write {self.path}, and so make tokens; `chmod 600` it, after a look at --tokens"
            )
        try:
            listed = json.loads(text)
            tokens = [Token(each["name"], each["sha256"], Access(**each["access"])) for each in listed["tokens"]]
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(f"{self.path} is not a list of tokens; remove it to begin anew") from error
        return {token.name: token for token in tokens}

    def current(self) -> Mapping[str, Token]:
        """As `tokens`, but reads the file only when it has changed, and returns none where it cannot be used, which is logged."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return {}
        stamp = (found.st_mtime_ns, found.st_ino, found.st_size, found.st_mode)
        if stamp != self._stamp:
            try:
                self._known = self.tokens()
            except ConfigurationError as error:
                _LOG.warning("no token is valid: %s", error)
                self._known = {}
            self._stamp = stamp
        return self._known

    def add(self, name: str, access: Access) -> str:
        """Makes a token and returns its secret, which is not kept. `ConfigurationError` if the name is taken."""
        tokens = self.tokens()
        if name in tokens:
            raise ConfigurationError(f"there is a token {name!r} already; revoke it, or choose another name")
        secret = secrets.token_urlsafe(32)
        self._write({**tokens, name: Token(name, _digest(secret), access)})
        return secret

    def revoke(self, name: str) -> None:
        """Removes a token. `ConfigurationError` if there is none of that name."""
        tokens = self.tokens()
        if name not in tokens:
            raise ConfigurationError(f"there is no token {name!r}")
        del tokens[name]
        self._write(tokens)

    def _write(self, tokens: Mapping[str, Token]) -> None:
        listed = [{"name": token.name, "sha256": token.sha256, "access": asdict(token.access)} for token in tokens.values()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(self.path) as file:
            file.write(json.dumps({"version": _VERSION, "tokens": listed}, indent=2).encode())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
