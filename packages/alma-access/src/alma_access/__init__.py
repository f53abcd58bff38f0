"""Who a client of a server speaks as: tokens, bound to projects, agents, users and rights."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alma_access.access import ANY, MEMORY_RIGHTS, NONE, RIGHTS, SOURCES, Access

if TYPE_CHECKING:
    from alma_access.secret_form import is_mistyped
    from alma_access.token_file import TokenFile
    from alma_access.tokens import GivenTokens, Token, Tokens, token_of

__all__ = [
    "ANY",
    "MEMORY_RIGHTS",
    "NONE",
    "RIGHTS",
    "SOURCES",
    "Access",
    "GivenTokens",
    "Token",
    "TokenFile",
    "Tokens",
    "is_mistyped",
    "token_of",
]

_HOMES = {
    "GivenTokens": "alma_access.tokens",
    "Token": "alma_access.tokens",
    "TokenFile": "alma_access.token_file",
    "Tokens": "alma_access.tokens",
    "is_mistyped": "alma_access.secret_form",
    "token_of": "alma_access.tokens",
}


def __getattr__(name: str) -> Any:
    """Loads tokens when they are first used: a server on standard input has none."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'alma_access' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value
