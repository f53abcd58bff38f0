"""How the block of an episode is left, and whether two endings say the same."""

from concurrent.futures import CancelledError
from dataclasses import dataclass

from alma.types.episodes import Ending
from alma.types.kinds import Verdict


@dataclass(frozen=True, slots=True)
class Leaving:
    """What leaving a block says about the attempt: a verdict with the error's text, or, without one, that it was abandoned."""

    outcome: Verdict | None
    error: str | None = None


def leaving(error: BaseException | None) -> Leaving:
    """Left by return: nobody judged. By an error: a failure. By cancellation, the end of a generator or of the process: neutral."""
    if error is None:
        return Leaving(Verdict.UNVERIFIED)
    if is_neutral(error):
        return Leaving(None)
    return Leaving(Verdict.FAILURE, described(error))


def is_neutral(error: BaseException) -> bool:
    """Whether an error says nothing about the attempt.

    Such are all that Python keeps apart from `Exception` (`asyncio.CancelledError`, `GeneratorExit`, `KeyboardInterrupt`, `SystemExit`, trio's
    `Cancelled`), a cancelled future, and groups of nothing else.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_neutral, error.exceptions))
    return isinstance(error, CancelledError) or not isinstance(error, Exception)


def described(error: BaseException) -> str:
    """An error in words: its type and what it says."""
    try:
        says = str(error)
    except Exception:  # noqa: BLE001 - somebody's __str__
        says = ""
    return f"{type(error).__name__}: {says}" if says else type(error).__name__


def contradicts(ending: Ending, later: Ending) -> bool:
    """Whether a later ending says another thing than the first one: another outcome, or another value of what it does say."""
    said = ("strategy", "error", "feedback")
    return later.outcome != ending.outcome or any(getattr(later, name) not in (None, getattr(ending, name)) for name in said)
