"""Reports progress to a callback, and keeps the callback's own errors apart from errors of the work."""

from collections.abc import Callable
from typing import TypeVar

from alma.memory.arguments import checked_call

Progress = Callable[[int, int], None]
"""Callback that receives the amount of work done, and the total."""

Made = TypeVar("Made")


class _Stopped(BaseException):
    """Carries the error of a callback past handlers that would treat it as one of the work."""


def with_progress(progress: Progress | None, work: Callable[[Progress | None], Made]) -> Made:
    """Returns the result of `work`, called with the callback. An error of the callback ends the work, and is raised as it is."""
    if progress is None:
        return work(None)
    checked_call(progress, "progress")
    raised: list[BaseException] = []

    def on_progress(done: int, total: int) -> None:
        try:
            progress(done, total)
        except BaseException as error:
            raised.append(error)
            raise _Stopped from error

    try:
        return work(on_progress)
    except _Stopped:
        pass
    raise raised[0]
