"""A project with the embedder of hashed words, and one event loop."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from mcp_servers import make_project


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture
def alma(config: Path) -> Iterator[ALMA]:
    with ALMA.from_config(config) as opened:
        yield opened
