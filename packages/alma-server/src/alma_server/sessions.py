"""Sessions of the page: one-time codes that the owner of a store makes, and the tokens that a server gives for them."""

from collections.abc import Callable
from contextlib import suppress
from secrets import token_hex

from alma.errors import ConfigurationError
from alma_access import Access, Token, TokenFile
from alma_access.tokens import microseconds

CODE_SECONDS = 60
"""How long a code may be exchanged."""

SESSION_SECONDS = 12 * 3600
"""How long the token of a session is valid."""

FOLDER = "page"
"""Folder beside a store with the hashes of its codes, which are no tokens of the server."""

PREFIX = "page-"
"""Begins the names of codes and of the tokens of sessions."""

_OWNER = Access(source="person")


class Sessions:
    """Codes and sessions of one store. Processes may share it: a code counts once among all of them.

    `now` returns the time in microseconds since 1970.
    """

    def __init__(self, tokens: TokenFile, *, now: Callable[[], int] = microseconds) -> None:
        self._tokens = tokens
        self._codes = TokenFile(tokens.folder / FOLDER, now=now)
        self._now = now

    def make_code(self) -> str:
        """Makes a code that one page may exchange within a minute, for all that the owner of the store may do."""
        _drop_expired(self._codes)
        return self._codes.add(f"{PREFIX}{token_hex(8)}", _OWNER, expires=self._in(CODE_SECONDS))

    def find(self, code: str) -> Token | None:
        """Returns what a code stands for; `None` if there is no such code, or it was exchanged, or is too old."""
        return self._codes.find(code)

    def begin(self, code: Token) -> tuple[str, Token] | None:
        """Exchanges a code that was found for a token, and returns its secret and it; `None` if another request has exchanged the code."""
        try:
            self._codes.revoke(code.name)
        except ConfigurationError:
            return None
        _drop_expired(self._tokens)
        name = f"{PREFIX}{token_hex(4)}"
        return self._tokens.add(name, code.access, expires=self._in(SESSION_SECONDS)), self._tokens.tokens()[name]

    def _in(self, seconds: int) -> int:
        return self._now() + seconds * 1_000_000


def is_session(token: Token) -> bool:
    """Returns True for a code and for the token of a session: named so, for a person, for a time."""
    return token.name.startswith(PREFIX) and token.expires is not None and token.access.source == _OWNER.source


def _drop_expired(file: TokenFile) -> None:
    """Removes codes and sessions that are over. Other tokens stay, so that their holders are told when they expired."""
    for name, token in file.tokens().items():
        if is_session(token) and token.is_expired():
            with suppress(ConfigurationError):  # another process removed it
                file.revoke(name)
