"""Fixtures for stores in folders of their own, with a hash embedder and a fixed clock. Property tests have no deadline per example,
because machines may be busy."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from alma import ALMA
from facade import ManualClock, OpenStore

settings.register_profile("alma", deadline=None)
settings.load_profile("alma")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def open_store(tmp_path: Path, clock: ManualClock) -> Iterator[OpenStore]:
    """Opens the project `shop` in the folder of this test by default; closed at the end."""
    opened: list[ALMA] = []

    def open_it(folder: str | Path = "store", **given: Any) -> ALMA:
        options: dict[str, Any] = {"project_id": "shop", "embedding_provider": "hash", "clock": clock, **given}
        opened.append(ALMA.open(tmp_path / folder, **options))
        return opened[-1]

    yield open_it
    for alma in opened:
        alma.close()


@pytest.fixture
def alma(open_store: OpenStore) -> ALMA:
    """An empty store without rules for any agent."""
    return open_store()
