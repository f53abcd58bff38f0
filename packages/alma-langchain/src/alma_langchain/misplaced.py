"""Errors for a class of this package in the place of another, raised by the first attribute that LangChain reads there."""

from typing import Any, NoReturn

from alma.errors import ConfigurationError


def misplaced(kind: str, instead: str) -> Any:
    """Returns a property that LangChain reads on another kind of object; reading it raises an error that says what to pass instead."""
    error = ConfigurationError if kind == "middleware" else AttributeError  # LangChain ignores an AttributeError on middleware

    def refuse(owner: object) -> NoReturn:
        raise error(f"{type(owner).__name__} is no {kind}; give {instead}")

    return property(refuse)
