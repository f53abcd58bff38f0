"""What users of this package give, checked where they give it: nothing wrong waits for the first run to show."""

import math
from collections.abc import Callable
from typing import TypeVar

from alma import ALMA, ConfigurationError, MemoryType
from alma.memory.arguments import checked_count, checked_items, checked_name
from alma.text import quoted

MOST_TOKENS = 1_000_000

Called = TypeVar("Called", bound=Callable[..., object])


def checked_user(user_id: object) -> str | None:
    """A user's name, or `None` for nobody."""
    return None if user_id is None else checked_name(user_id, "user_id")


def checked_names(names: object, name: str) -> frozenset[str]:
    """Several names; a text is one by mistake."""
    return frozenset(checked_name(each, name) for each in checked_items(names, name))


def checked_kinds(kinds: object, alma: ALMA) -> frozenset[str]:
    """Kinds of memories that there are in a project, built in or registered there."""
    names = checked_names(kinds, "kinds")
    if unknown := names - set(MemoryType):
        known = [*MemoryType, *alma.memory_types()]
        if missing := sorted(unknown - set(known)):
            raise ConfigurationError(
                f"kinds holds {quoted(missing[0])}, which is no kind in project {alma.project_id!r}; there are {', '.join(known)}"
            )
    return names


def checked_tokens(value: object) -> int:
    """So many tokens at most, 1 or more."""
    return checked_count(value, "max_tokens", largest=MOST_TOKENS)


def checked_waiting(value: object) -> int:
    """So many writes, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigurationError(f"waiting must be a whole number, 0 or more, not {quoted(value)}")
    return value


def checked_call(call: Called | None, name: str) -> Called | None:
    """A function, or `None`."""
    if call is not None and not callable(call):
        raise ConfigurationError(f"{name} must be a function, not {quoted(call)}")
    return call


def checked_score(value: object) -> float | None:
    """A least score, or `None` for any."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value)):
        raise ConfigurationError(f"min_score must be a number, not {quoted(value)}")
    return value
