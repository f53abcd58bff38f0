"""One server for each test process. Without one the suite is skipped, which fails in CI: an idle suite is a failure there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from facade import ManualClock
from postgres_server import NoServerError, PostgresServer
from store_fixtures import clock, schema_of

__all__ = ["clock"]


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A running server."""
    try:
        made = PostgresServer()
        made.start()
    except NoServerError as error:
        pytest.skip(f"no PostgreSQL server here: {error}")
    yield made
    made.stop()


@pytest.fixture
def configured(server: PostgresServer, tmp_path: Path) -> Path:
    """A configuration that names the server."""
    options = ", ".join(f"{name}: {value}" for name, value in server.options.items())
    path = tmp_path / "alma.yaml"
    path.write_text(
        f"project_id: shop\nstorage: postgres\nembedding_provider: hash\npostgres: {{{options}, schema: {schema_of(tmp_path)}}}\n"
    )
    return path


@pytest.fixture
def alma(configured: Path, clock: ManualClock) -> Iterator[ALMA]:
    """An empty memory on the server."""
    with ALMA.from_config(configured, clock=clock) as opened:
        yield opened
