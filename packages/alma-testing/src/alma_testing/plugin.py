"""The pytest plugin `alma`: a fresh memory for each test that requests it. Loading it imports no module of ALMA but this one."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from alma import ALMA, MemoryScope
    from alma_testing.clocks import FixedClock

pytest.register_assert_rewrite("alma_testing.contracts")


@pytest.fixture
def alma_clock() -> "FixedClock":
    """The clock of `alma_memory`: it stays at noon of March 1st, 2026, until `advance` is called."""
    from alma_testing.clocks import FixedClock

    return FixedClock()


@pytest.fixture
def alma_agents() -> "Mapping[str, MemoryScope | Mapping[str, object]]":
    """Rules of the agents of `alma_memory`: none. Override it to set some."""
    return {}


@pytest.fixture
def alma_memory(
    tmp_path: Path, alma_clock: "FixedClock", alma_agents: "Mapping[str, MemoryScope | Mapping[str, object]]"
) -> "Iterator[ALMA]":
    """An empty memory in a folder of this test, with an embedder that needs no model and `alma_clock` as its clock. Closed at the end."""
    from alma import ALMA

    with ALMA.open(
        tmp_path / ".alma", project_id="test", agents=alma_agents, embedding_provider="hash", clock=alma_clock
    ) as memory:
        yield memory
