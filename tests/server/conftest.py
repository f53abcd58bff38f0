"""A server over a new store, and clients of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from api_serving import Opening, Served, running_app


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with running_app(tmp_path) as served:
        yield served


@pytest.fixture
def client(served: Served) -> Opening:
    return served.client
