"""Options given as keyword arguments."""

from difflib import get_close_matches
from typing import Any

from alma.errors import ConfigurationError
from alma.text import quoted
from alma_integration import Options


def options_of(given: dict[str, Any]) -> Options:
    """Returns the options. `ConfigurationError` for an unknown one, with the nearest known one."""
    known = Options.names()
    unknown = next((name for name in given if name not in known), None)
    if unknown is None:
        return Options(**given)
    near = get_close_matches(unknown, known, n=1)
    raise ConfigurationError(f"no option {quoted(unknown)}" + (f"; did you mean {near[0]}?" if near else ""))
