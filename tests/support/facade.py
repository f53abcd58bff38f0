"""Shared helpers of façade tests: a settable clock, and the content of a project before and after."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alma import ALMA

OpenStore = Callable[..., ALMA]
"""Opens a store; see the fixture of that name."""

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> None:
        self.now += timedelta(**duration)


def held(alma: ALMA) -> dict[str, Any]:
    """Returns all figures of a project, including the newest number of its journal, without the size of the file."""
    return alma.get_stats().model_dump(exclude={"database_bytes"})


@contextmanager
def refused(alma: ALMA, error: type[Exception], match: str | None = None) -> Iterator[None]:
    """The block raises exactly this error, and afterwards the project holds what it held before."""
    before = held(alma)
    with pytest.raises(error, match=match) as caught:
        yield
    assert caught.type is error
    assert held(alma) == before


def contents(memories: Any) -> list[str]:
    """The texts of the memories, in their order."""
    return [memory.text for memory in memories]
