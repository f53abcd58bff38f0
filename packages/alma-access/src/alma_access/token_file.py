"""The tokens of a store, as hashes in a file beside it that only its owner may read."""

import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from alma.errors import AlmaError, ConfigurationError
from alma.files import new_file
from alma.folders import lock, unlock
from alma_access.access import MEMORY_RIGHTS, Access
from alma_access.secret_form import ID_LENGTH, new_id, new_secret
from alma_access.tokens import Token, digest, find_token, microseconds, refusal

FILE = "tokens.json"
FORMER_FILE = "mcp_tokens.json"
"""The file of earlier versions, which only the MCP server had. It is read until a token is added or revoked, which moves all of them."""

USES_FILE = "token_uses.json"
"""When each token was last used. A server writes only this file, never the tokens."""

HOUR = 3_600_000_000
"""How coarse `last_used` is, in microseconds."""

LOCK_SECONDS = 10.0
"""How long a change waits for another process that is changing the tokens."""

_LOG = logging.getLogger("alma")
_TOKENS = TypeAdapter(list[Token])
_VERSION = 2


class TokenFile:
    """The tokens of a store. Processes that change them at once lose nothing; a running server notices each change at the next request.

    `now` returns the time in microseconds since 1970.
    """

    def __init__(self, folder: Path, *, now: Callable[[], int] = microseconds) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._now = now
        self._known: Mapping[str, Token] = {}
        self._stamp: object = None
        self._noted: dict[str, int] = {}

    def tokens(self) -> dict[str, Token]:
        """Returns the tokens by name, expired ones as well. `ConfigurationError` if others may write the file, or it is damaged."""
        uses = self._uses()
        for path in (self.path, self.folder / FORMER_FILE):
            with suppress(FileNotFoundError):
                return {name: replace(token, last_used=uses.get(token.id)) for name, token in _read(path).items()}
        return {}

    def current(self) -> Mapping[str, Token]:
        """As `tokens`, but reads the files only when they have changed, and returns none where they cannot be used, which is logged."""
        stamp = tuple(map(_stamp, (self.path, self.folder / FORMER_FILE)))
        if stamp != self._stamp:
            try:
                self._known = self.tokens()
            except ConfigurationError as error:
                _LOG.warning("no token is valid: %s", error)
                self._known = {}
            self._stamp = stamp
        return self._known

    def find(self, secret: str) -> Token | None:
        """Returns the token of a secret, and notes that it was used. `None` if there is none now, or it has expired."""
        token = find_token(self.current().values(), secret)
        if token is None or token.is_expired(self._now()):
            return None
        self._note_use(token)
        return token

    def is_current(self, token_id: str) -> bool:
        """Returns whether there is a token of this id that has not expired. `ConfigurationError` where the tokens cannot be read."""
        tokens = self.current() or self.tokens()
        return any(token.id == token_id and not token.is_expired(self._now()) for token in tokens.values())

    def refusal(self, secret: str) -> str:
        """Says in a sentence why `find` returns `None`. Names a token only to whoever has its secret."""
        return refusal(self.current().values(), secret, self._now())

    def add(self, name: str, access: Access, *, expires: int | None = None) -> str:
        """Makes a token and returns its secret, which is not kept. `ConfigurationError` if the name is taken or unusable, or `expires`, in
        microseconds since 1970, is past."""
        if not name.strip() or not name.isprintable() or len(name) > 200:
            raise ConfigurationError("the name of a token is 1 to 200 printable characters")
        if expires is not None and expires <= self._now():
            raise ConfigurationError("the token would have expired already")
        with self._changing() as tokens:
            if name in tokens:
                raise ConfigurationError(f"there is a token {name!r} already; revoke it, or choose another name")
            return _put_new(tokens, name, access, expires)

    def add_first(self, name: str, access: Access, *, is_passing: Callable[[Token], bool] = lambda _: False) -> str | None:
        """Makes a token where there is none at all, and returns its secret; `None` where there is one. Of several processes at once one makes it.

        Tokens that are `is_passing` do not count.
        """
        if not all(map(is_passing, self.tokens().values())):
            return None
        with self._changing() as tokens:
            return _put_new(tokens, name, access, None) if all(map(is_passing, tokens.values())) else None

    def revoke(self, name: str) -> None:
        """Removes a token. `ConfigurationError` if there is none of that name."""
        with self._changing() as tokens:
            if name not in tokens:
                raise ConfigurationError(f"there is no token {name!r}")
            del tokens[name]

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        """Yields the tokens, and writes them when the block has changed them without an error. One process at a time does."""
        with self.locked():
            tokens = self.tokens()
            yield tokens
            _write(self.path, {"version": _VERSION, "tokens": [_row(token) for token in tokens.values()]})
            (self.folder / FORMER_FILE).unlink(missing_ok=True)

    @contextmanager
    def locked(self, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Keeps other processes from changing tokens within the block. `ConfigurationError` if one does so for longer than `seconds`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder / f".{FILE}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            until = time.monotonic() + seconds
            while not lock(descriptor):
                if time.monotonic() >= until:
                    raise ConfigurationError(f"{self.path} is being changed by another process; try again")
                time.sleep(0.01)
            try:
                yield
            finally:
                unlock(descriptor)
        finally:
            os.close(descriptor)

    def _note_use(self, token: Token) -> None:
        """Writes that a token was used, unless that was noted less than an hour ago. A folder that cannot be written costs only the note."""
        now = self._now()
        if now - max(self._noted.get(token.id, 0), token.last_used or 0) < HOUR:
            return
        self._noted[token.id] = now
        with suppress(OSError, AlmaError), self.locked(seconds=0):
            _write(self.folder / USES_FILE, {**self._uses(), token.id: now})

    def _uses(self) -> dict[str, int]:
        try:
            found = json.loads((self.folder / USES_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {each: at for each, at in found.items() if isinstance(at, int)} if isinstance(found, dict) else {}


def _put_new(tokens: dict[str, Token], name: str, access: Access, expires: int | None) -> str:
    token_id = new_id()
    secret = new_secret(token_id)
    tokens[name] = Token(name, token_id, digest(secret), access, expires)
    return secret


def _read(path: Path) -> dict[str, Token]:
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from error
    if os.name != "nt" and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigurationError(
            f"others may write {path}, and so make tokens; `chmod 600` it, after a look at `alma token list`"
        )
    try:
        listed = json.loads(content)
        complete = _COMPLETE[listed["version"]]
        tokens = _TOKENS.validate_python([complete(row) for row in listed["tokens"]])
    except (ValueError, TypeError, KeyError, RecursionError, ConfigurationError) as error:
        raise ConfigurationError(f"{path} is not a list of tokens of this version of ALMA; remove it to begin anew") from error
    return {token.name: token for token in tokens}


def _with_rights(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a token of the first version with its id and its rights, which that version did not write."""
    return {**row, "id": row["sha256"][:ID_LENGTH], "access": {**row["access"], "rights": MEMORY_RIGHTS}}


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a token, of which nothing may be missing: what is not bound would be free."""
    return {**row, "access": {field.name: row["access"][field.name] for field in fields(Access)}, "expires": row["expires"]}


_COMPLETE = {1: _with_rights, _VERSION: _whole}


def _row(token: Token) -> dict[str, Any]:
    who = token.access
    access = {
        "agent": who.agent,
        "user_id": who.user_id,
        "projects": list(who.projects),
        "rights": sorted(who.rights),
        "source": who.source,
    }
    return {"name": token.name, "id": token.id, "sha256": token.sha256, "access": access, "expires": token.expires}


def _write(path: Path, content: object) -> None:
    with new_file(path) as file:
        file.write(json.dumps(content, indent=2).encode())


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size, found.st_mode)
