"""A store in a folder of each test, sound at its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from facade import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def alma(store: Path, clock: ManualClock) -> Iterator[ALMA]:
    """An empty store."""
    with ALMA.open(store, project_id="p", embedding_provider="hash", clock=clock) as opened:
        yield opened
    with ALMA.open(store, project_id="p", clock=clock) as again:  # a test may have closed the first
        assert again.verify().ok
