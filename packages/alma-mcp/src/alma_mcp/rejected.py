"""Messages about arguments that a tool does not take, in the words of Python callers."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from alma.text import quoted

MOST_NAMED = 5
"""Wrong arguments that one message names."""


def rejection(error: ValidationError, arguments: Iterable[str]) -> str:
    """Returns what is wrong with the arguments of a call of a tool that has these `arguments`."""
    found = error.errors(include_url=False, include_context=False)
    more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return "; ".join(_fault(one, arguments) for one in found[:MOST_NAMED]) + more


def _fault(fault: Any, arguments: Iterable[str]) -> str:
    place = ".".join(map(str, fault["loc"]))
    if fault["type"] == "missing":
        return f"{place} is missing"
    if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
        return f"there is no argument {quoted(place)}; there are {', '.join(arguments)}"
    if fault["type"] == "value_error":
        return str(fault["msg"].removeprefix("Value error, "))
    return f"{place} {fault['msg'].removeprefix('Input ')}, not {quoted(fault['input'])}"
