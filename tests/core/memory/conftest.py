"""A store that no test changes."""

from collections.abc import Iterator

import pytest

from alma import ALMA
from facade import NewPlace


@pytest.fixture(scope="session")
def unchanging(new_place: NewPlace) -> Iterator[ALMA]:
    """A store with one memory, shared by tests of calls that change nothing; `refused` sees to it that they do not."""
    with new_place().open() as alma:
        alma.learn("a", "Deploy the service", "success")
        yield alma
