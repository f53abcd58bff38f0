"""A shop with two agents, in a store of each sort."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma.testing import FixedClock
from facade import StoredIn


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def alma(tmp_path: Path, clock: FixedClock, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", clock=clock, **stored_in(tmp_path)) as alma:
        yield alma


@pytest.fixture
def fact(alma: ALMA, clock: FixedClock) -> Callable[..., str]:
    """Records a fact a day after the last one, and returns its id."""

    def record(text: str, **fields: str) -> str:
        clock.advance(days=1)
        return alma.add_domain_knowledge(**{"agent": "dev", "domain": "ops", "fact": text, **fields}).id

    return record
