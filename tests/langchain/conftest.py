"""A store in a folder of each test, sound at its end."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from alma import ALMA
from facade import ManualClock
from ways import Way


def pytest_configure(config: pytest.Config) -> None:
    config.option.asyncio_mode = "auto"  # the standard tests of LangChain are coroutines


class TickingClock(ManualClock):
    """A clock that goes on a second whenever it is read, so that what comes later is later."""

    def __call__(self) -> datetime:
        self.advance(seconds=1)
        return self.now


@pytest.fixture
def clock() -> ManualClock:
    return TickingClock()


@pytest.fixture
def alma(tmp_path: Path, clock: ManualClock) -> Iterator[ALMA]:
    """An empty store."""
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", clock=clock) as opened:
        yield opened
        assert opened.verify().ok


@pytest.fixture(params=["middleware", "handler", "both"])
def by(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["invoke", "ainvoke"])
def way(request: pytest.FixtureRequest, alma: ALMA, by: str) -> Way:
    return Way(alma, by, request.param)
