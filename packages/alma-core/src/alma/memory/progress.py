"""Telling a caller how far some work is, without taking the caller's own errors for errors of that work."""

from collections.abc import Callable
from typing import TypeVar

from alma.memory.arguments import checked_call

Progress = Callable[[int, int], None]
"""Told how much is done, of how much."""

Made = TypeVar("Made")


class _Stopped(BaseException):
    """Carries the error of a callback past all who would take it for one of their own."""


def telling(progress: Progress | None, work: Callable[[Progress | None], Made]) -> Made:
    """What `work` makes, given the callback. What the callback raises ends the work, and is raised as it is."""
    if progress is None:
        return work(None)
    checked_call(progress, "progress")
    raised: list[BaseException] = []

    def tell(done: int, total: int) -> None:
        try:
            progress(done, total)
        except BaseException as error:
            raised.append(error)
            raise _Stopped from error

    try:
        return work(tell)
    except _Stopped:
        pass
    raise raised[0]
