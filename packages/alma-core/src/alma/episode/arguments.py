"""Checks the arguments of an episode, interprets how its block is left, and compares two endings."""

from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

from alma.errors import ValidationError
from alma.text import fault_in, plain_value, quoted, storable
from alma.types.episodes import Ending, EpisodeRecord
from alma.types.kinds import Verdict

ACTION_CHARS = 1_000
TEXT_CHARS = 2_000
"""Errors, outputs, strategies and feedback are cut to this length."""


def checked_ids(value: Any, name: str) -> list[str]:
    """Returns distinct ids in the order given. A bare text is an error, not a list of letters."""
    try:
        ids = None if isinstance(value, str) else list(map(plain_value, value))
    except TypeError:
        ids = None
    if ids is None:
        raise ValidationError(f"{name} must be a list of ids, not {quoted(value)}")
    for item in ids:
        fault = fault_in(item) if isinstance(item, str) else ""
        if fault is not None:
            raise ValidationError(f"{name} holds {quoted(item)}, which is no id{fault and f': {fault}'}")
    return list(dict.fromkeys(map(str, ids)))


def optional_text(value: object, name: str, limit: int = TEXT_CHARS) -> str | None:
    """Returns a text in storable form; `None` for `None` and for a blank one."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValidationError(f"{name} must be a text, not a {type(value).__name__}")
    return storable(value, limit) or None


@dataclass(frozen=True, slots=True)
class Leaving:
    """The ending that leaving a block means for the attempt: a verdict with the error's text, or, without one, that it was abandoned."""

    outcome: Verdict | None
    error: str | None = None


def leaving(error: BaseException | None) -> Leaving:
    """Interprets how a block is left. By return: not judged. By an error: a failure. By cancellation, or the end of a generator or
    process: neutral."""
    if error is None:
        return Leaving(Verdict.UNVERIFIED)
    if is_neutral(error):
        return Leaving(None)
    return Leaving(Verdict.FAILURE, described(error))


def is_neutral(error: BaseException) -> bool:
    """Checks that an error says nothing about the attempt.

    This holds for all errors that Python keeps apart from `Exception` (`asyncio.CancelledError`, `GeneratorExit`, `KeyboardInterrupt`,
    `SystemExit`, trio's `Cancelled`), for a cancelled future, and for groups of nothing else.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_neutral, error.exceptions))
    return isinstance(error, CancelledError) or not isinstance(error, Exception)


def described(error: BaseException) -> str:
    """Returns the type and the message of an error."""
    try:
        says = str(error)
    except Exception:  # noqa: BLE001 - the __str__ of a foreign class may raise
        says = ""
    return f"{type(error).__name__}: {says}" if says else type(error).__name__


def contradicts(ended: EpisodeRecord, later: Ending) -> bool:
    """Checks that a later ending of an episode differs from its first one: in its outcome, or in a value that it gives."""
    first = {
        "strategy": ended.strategy,
        "error": ended.error,
        "feedback": ended.feedback if ended.outcome else ended.reason,
        "source": ended.verdict_source,
        "used": ended.used,
    }
    return later.outcome != ended.outcome or any(getattr(later, name) not in (None, value) for name, value in first.items())
