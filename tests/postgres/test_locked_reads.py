"""A read waits for a table that another session locked as long as its caller allows, and not longer."""

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from alma import ALMA, lock_timeout
from alma.errors import StorageError
from postgres_server import PostgresServer
from store_fixtures import schema_of

pytestmark = pytest.mark.slow

READS: dict[str, Callable[[ALMA], object]] = {
    "retrieve": lambda alma: alma.retrieve("Test the login form", "helena"),
    "explain_retrieval": lambda alma: alma.explain_retrieval("Test", alma.list_memories()[0].id, "helena"),
    "strategies": lambda alma: alma.strategies("Test the login form", "helena"),
    "check": lambda alma: alma.check("helena", "Empty fields first"),
    "list_memories": lambda alma: alma.list_memories(),
    "get_stats": lambda alma: alma.get_stats(),
    "overview": lambda alma: alma.overview(verify=False),
    "wakeup": lambda alma: alma.wakeup("helena"),
    "recent_episodes": lambda alma: alma.recent_episodes(),
    "users": lambda alma: alma.users(),
    "export": lambda alma: alma.export(io.BytesIO()),
    "verify": lambda alma: alma.verify(),
}
TABLES = ("memory", "passage", "partition", "project", "store", "vector", "word", "record", "journal", "usage")


@contextmanager
def locked(server: PostgresServer, schema: str, *tables: str, mode: str = "ACCESS EXCLUSIVE") -> Iterator[None]:
    """Has another session hold tables, by default as VACUUM FULL and ALTER TABLE do."""
    with psycopg.connect(server.url) as other:
        for table in tables:
            other.execute(sql.SQL("LOCK TABLE {} IN {} MODE").format(sql.Identifier(schema, table), sql.SQL(mode)))
        yield
        other.rollback()


@contextmanager
def bounded() -> Iterator[None]:
    """Fails if the block takes much longer than a few waits of .1 s. Slow machines have room."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 15


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locked")


@pytest.fixture(scope="module")
def alma(server: PostgresServer, place: Path) -> Iterator[ALMA]:
    with opened(server, place) as made:
        for number in range(3):
            made.learn("helena", f"Test the login form {number}", "success", "Empty fields first")
        made.retrieve("Test the login form", "helena")
        yield made


def opened(server: PostgresServer, place: Path, **given: object) -> ALMA:
    url = f"{server.url}?schema={schema_of(place)}"
    return ALMA.open(place, **{"project_id": "shop", "embedding_provider": "hash", "storage": url, **given})


@pytest.mark.parametrize("read", READS)
def test_a_read_of_locked_tables_ends_in_time_and_the_next_one_answers(
    server: PostgresServer, place: Path, alma: ALMA, read: str
) -> None:
    before = str(alma.content_hash())
    with locked(server, schema_of(place), *TABLES), lock_timeout(0.1), bounded():
        with pytest.raises(StorageError, match="was locked by another process"):
            READS[read](alma)
        with pytest.raises(StorageError, match="was locked by another process"):
            READS[read](alma)
    READS[read](alma)
    assert alma.content_hash() == before


@pytest.mark.parametrize("table", TABLES)
def test_each_table_may_be_locked(server: PostgresServer, place: Path, alma: ALMA, table: str) -> None:
    with locked(server, schema_of(place), table), lock_timeout(0.1), bounded():
        for read in ("retrieve", "get_stats", "export"):
            with suppress(StorageError):  # what does not look at this table answers
                READS[read](alma)
    assert alma.retrieve("Test the login form", "helena").outcomes


def test_not_to_wait_at_all_is_no_hindrance_where_nothing_is_locked(alma: ALMA) -> None:
    with lock_timeout(0):
        for read in READS.values():
            read(alma)


@pytest.mark.parametrize("table", ["migration", "store"])
def test_an_open_ends_in_time_too(server: PostgresServer, place: Path, alma: ALMA, table: str) -> None:
    with (
        locked(server, schema_of(place), table),
        bounded(),
        pytest.raises(StorageError, match="was locked by another process"),
    ):
        opened(server, place, lock_timeout=0.1)
    opened(server, place).close()


def test_compacting_leaves_out_a_table_that_another_session_vacuums_and_says_so(
    server: PostgresServer, place: Path, alma: ALMA
) -> None:
    with locked(server, schema_of(place), "word", mode="SHARE UPDATE EXCLUSIVE"), bounded():
        assert not alma.compact().is_whole
    assert alma.compact().is_whole


def test_no_setting_is_left_in_a_session_of_the_server(server: PostgresServer, place: Path, alma: ALMA) -> None:
    with lock_timeout(0.1):
        alma.get_stats()
    with alma.storage.database.alone() as connection:  # type: ignore[attr-defined] # a session that has been used
        assert connection.execute("SHOW lock_timeout").fetchone() == ("0",)
