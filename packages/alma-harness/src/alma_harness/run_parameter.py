"""A parameter annotated with `Run`: the function is given its own run, to report what ALMA cannot see from outside."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from alma_integration import Run


def run_parameter(function: Callable[..., Any]) -> str | None:
    """Returns the name of the parameter annotated with `alma.integration.Run`; `None` if there is none."""
    itself = inspect.unwrap(function)
    called = itself if inspect.isroutine(itself) else getattr(itself, "__call__", itself)  # noqa: B004 - an object may be the agent
    try:
        hints = get_type_hints(called)
    except (AttributeError, NameError, TypeError):  # an annotation that cannot be looked up is no Run
        hints = dict(getattr(called, "__annotations__", {}))
    return next((name for name, hint in hints.items() if hint is Run and name != "return"), None)
