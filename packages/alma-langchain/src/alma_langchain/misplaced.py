"""What is said where one class of this package was given in the place of another, by what LangChain asks of that place first."""

from typing import NoReturn

from alma.errors import ConfigurationError

_OF_MIDDLEWARE = ("tools",)
_OF_HANDLERS = ("raise_error", "run_inline")


def tell_missing(owner: object, name: str, *, middleware: str = "", handler: str = "") -> NoReturn:
    """Says that there is no such attribute; where only LangChain asks for it, what belongs there instead."""
    kind = type(owner).__name__
    if middleware and name in _OF_MIDDLEWARE:  # an AttributeError would be passed over
        raise ConfigurationError(f"{kind} is no middleware; give middleware=[{middleware}]")
    if handler and name in _OF_HANDLERS:
        raise AttributeError(f"{kind} is no callback handler; give callbacks=[{handler}]")
    raise AttributeError(f"{kind!r} object has no attribute {name!r}")
