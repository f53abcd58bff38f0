"""Shared helpers of façade tests: a settable clock, and the content of a project before and after."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA

OpenStore = Callable[..., ALMA]
"""Opens a store; see the fixture of that name."""

StoredIn = Callable[[Path], dict[str, Any]]
"""Returns the options by which the store of a folder is opened; see the fixture `stored_in`."""

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Place:
    """Where a store is, and the options by which this process and others open it."""

    folder: Path
    options: dict[str, Any]

    def open(self, **given: Any) -> ALMA:
        return ALMA.open(self.folder, **{"project_id": "shop", "embedding_provider": "hash", **self.options, **given})

    @property
    def opening(self) -> str:
        """The expression by which the program of another process opens it."""
        return f"ALMA.open({str(self.folder)!r}, project_id='shop', embedding_provider='hash', **{self.options!r})"


NewPlace = Callable[[], Place]
"""Returns a new place at each call; see the fixture `new_place`."""


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> None:
        self.now += timedelta(**duration)


def exported(alma: ALMA) -> bytes:
    """Returns the export of a project."""
    file = io.BytesIO()
    alma.export(file)
    return file.getvalue()


def exported_lines(alma: ALMA, sort: str) -> list[dict[str, Any]]:
    """Returns the lines of one sort in the export of a project: "memory", archived ones included, or "record"."""
    return [line for line in map(json.loads, exported(alma).splitlines()) if line.get("type") == sort]


def content(alma: ALMA) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Returns all rows of a project, by their tables and keys."""
    rows = alma.storage.project(alma.project_id).rows()
    return sorted((stored.table, stored.key, stored.row or {}) for stored in rows)


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
