"""A server that takes no writes for a while, and a thread that waits for its turn: clear errors, and the process goes on."""

from pathlib import Path

import psycopg
import pytest

from alma import ALMA
from alma.errors import StorageError
from alma_postgres.connections import Connections
from postgres_server import PostgresServer
from store_fixtures import schema_of

pytestmark = pytest.mark.slow


def opened(server: PostgresServer, place: Path) -> ALMA:
    url = f"{server.url}?schema={schema_of(place)}"
    return ALMA.open(place, project_id="shop", embedding_provider="hash", storage=url, lock_timeout=2)


def test_a_server_that_takes_no_writes_is_read_and_is_written_to_once_it_does(server: PostgresServer, tmp_path: Path) -> None:
    with opened(server, tmp_path) as alma:
        alma.learn("helena", "Test the login form", "success")
        server.become_standby()
        try:
            assert len(alma.retrieve("Test the login form", "helena").outcomes) == 1
            before = _connections(server)
            with pytest.raises(StorageError, match="during recovery"):
                alma.learn("helena", "Test the logout", "success")
            looks = (_connections(server) for _ in range(500))  # a closed connection ends at the server a moment later
            assert any(not before <= left for left in looks), "the address may lead to another server now: this one is left"
        finally:
            server.promote()
        alma.learn("helena", "Test the sign-up form", "success")
        assert alma.get_stats().total == 2
        assert alma.verify().ok


def _connections(server: PostgresServer) -> set[int]:
    with psycopg.connect(server.url, autocommit=True) as looking:
        found = looking.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'alma'")
        return {pid for (pid,) in found.fetchall()}


def test_a_signal_handler_that_writes_while_its_thread_waits_for_its_turn_gets_an_error(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server, tmp_path) as alma:
        alma.learn("helena", "Test the login form", "success")
        begun, got = Connections.begun, list[str]()

        def interrupted(self: Connections, connection: psycopg.Connection, statements: str, seconds: float) -> psycopg.Connection:
            monkeypatch.setattr(Connections, "begun", begun)
            with pytest.raises(StorageError, match="in the middle of a write"):
                alma.learn("helena", "Test in a handler", "success")
            got.append("refused")
            return begun(self, connection, statements, seconds)

        monkeypatch.setattr(Connections, "begun", interrupted)
        alma.learn("helena", "Test the sign-up form", "success")
        assert got == ["refused"]
        assert alma.get_stats().total == 2
