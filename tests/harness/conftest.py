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
def alma(tmp_path: Path, clock: ManualClock) -> Iterator[ALMA]:
    """An empty store."""
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", clock=clock) as opened:
        yield opened
        assert opened.verify().ok
