"""A store that no test changes."""

from collections.abc import Iterator

import pytest

from alma import ALMA


@pytest.fixture(scope="session")
def unchanging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ALMA]:
    """A store with one memory, shared by tests of calls that change nothing; `refused` sees to it that they do not."""
    with ALMA.open(tmp_path_factory.mktemp("unchanging"), project_id="shop", embedding_provider="hash") as alma:
        alma.learn("a", "Deploy the service", "success")
        yield alma
