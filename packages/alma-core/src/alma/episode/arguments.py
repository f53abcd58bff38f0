"""Checks the arguments of an episode. Bad input is a clear error and nothing is stored."""

from typing import Any

from alma.errors import ValidationError
from alma.text import quoted, storable
from alma.types.kinds import Verdict, VerdictSource

ACTION_CHARS = 1_000
TEXT_CHARS = 2_000
"""Errors, outputs, strategies and feedback are cut to this length."""


def checked_verdict(outcome: object) -> Verdict:
    """Returns the verdict of a word in any case, or of `True` or `False`. Anything else is an error, never a silent failure."""
    if isinstance(outcome, bool):
        return Verdict.SUCCESS if outcome else Verdict.FAILURE
    words = [verdict.value for verdict in Verdict]
    if not isinstance(outcome, str) or outcome.strip().lower() not in words:
        raise ValidationError(f"outcome {quoted(outcome)} is none of {', '.join(map(repr, words))}, True and False")
    return Verdict(outcome.strip().lower())


def checked_ids(value: Any) -> list[str]:
    """Returns a list of ids. A bare text is an error, not a list of letters."""
    try:
        ids = [] if isinstance(value, str) else list(value)
    except TypeError as error:
        raise ValidationError(f"used takes a list of ids, not {quoted(value)}") from error
    if isinstance(value, str) or not all(isinstance(memory_id, str) for memory_id in ids):
        raise ValidationError(f"used takes a list of ids, which are texts, not {quoted(value)}")
    return ids


def optional_text(value: object, name: str, limit: int = TEXT_CHARS) -> str | None:
    """Returns a text in storable form; `None` for `None` and for a blank one."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValidationError(f"{name} must be a text, not a {type(value).__name__}")
    return storable(value, limit) or None


def optional_duration(value: object) -> int | None:
    """Returns milliseconds, 0 or more, rounded to whole ones."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        raise ValidationError(f"duration_ms must be a number of milliseconds, 0 or more, not {quoted(value)}")
    return round(value)


def optional_source(value: object) -> VerdictSource | None:
    """Returns the source of the verdict; `None` for `None`."""
    return None if value is None else VerdictSource.checked(value, "source")
