"""What options may be, checked when they are given, so that no run is the first to find out."""

import math
from collections.abc import Mapping
from typing import Any

from alma.errors import ConfigurationError, ScopeViolationError, ValidationError
from alma.memory.arguments import checked_count, checked_name, optional_label
from alma.text import quoted

MOST_TOKENS = 1_000_000

_FUNCTIONS = ("task_from", "strategy_from", "action_from", "tool_outcome_from")
_OPTIONAL_FUNCTIONS = ("outcome_from", "usage_from", "redact")


def check_options(given: Mapping[str, Any]) -> None:
    """`ConfigurationError` that names the first option that cannot be used."""
    try:
        checked_count(given["top_k"], "top_k")
        if given["max_tokens"] != 0:
            checked_count(given["max_tokens"], "max_tokens", largest=MOST_TOKENS)
        optional_label(given["task_type"], "task_type")
        check_score(given["min_score"])
        for name in ("user_id", "tenant_id"):
            check_identity(given[name], name)
    except (ScopeViolationError, ValidationError) as error:
        raise ConfigurationError(str(error)) from error
    for name in (*_FUNCTIONS, *_OPTIONAL_FUNCTIONS):
        _check_function(given[name], name, is_optional=name in _OPTIONAL_FUNCTIONS)
    check_on_error(given["on_error"])


def check_on_error(value: object) -> None:
    """`ConfigurationError` unless it says what becomes of an error."""
    if value not in ("log", "raise"):
        raise ConfigurationError(f"on_error is {quoted(value)}; it must be 'log' or 'raise'")


def check_score(value: object) -> None:
    """`ConfigurationError` unless it is a number or `None`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if value is not None and not is_number:
        raise ConfigurationError(f"min_score must be a number, not {quoted(value)}")


def check_identity(value: object, name: str) -> None:
    """An error unless it is a name, a number that is one, a function that finds it, or `None`."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not is_number and not callable(value):
        checked_name(value, name)


def _check_function(value: object, name: str, *, is_optional: bool) -> None:
    if not callable(value) and not (is_optional and value is None):
        raise ConfigurationError(f"{name} must be a function, not {quoted(value)}")
