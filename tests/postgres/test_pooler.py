"""The store behind a transaction pooler, whose clients share a few connections of the server and take turns on each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma.testing import StoreContract
from alma_testing.contracts.stored import OpenStore
from pgbouncer import PROGRAM, Pooler
from postgres_server import PostgresServer
from postgres_stores import opened_at
from postgres_writers import notes, opened, started
from store_fixtures import schema_of

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


@pytest.fixture(scope="module")
def pooler(server: PostgresServer) -> Iterator[Pooler]:
    made = Pooler(server)
    yield made
    made.stop()


class TestBehindAPooler(StoreContract):
    @pytest.fixture
    def open_store(self, pooler: Pooler) -> OpenStore:
        return lambda folder: opened_at(pooler, folder)


@pytest.mark.slow
def test_eight_processes_that_share_four_connections_lose_nothing(pooler: Pooler, tmp_path: Path) -> None:
    url = f"{pooler.url}?schema={schema_of(tmp_path)}"
    for process in started(url, tmp_path, writers=8, calls=15):
        process.join()
    told = notes(tmp_path)
    assert ({what for what, *_ in told}, len(told)) == ({"stored"}, 120)
    with opened(url, str(tmp_path)) as alma:
        assert {memory.id for memory in alma.list_memories("outcome", limit=1000)} == {memory for *_, memory in told}
        assert alma.verify().ok
