"""ALMA on the server, as a program uses it."""

from pathlib import Path

import psycopg
import pytest

from alma import ALMA
from alma.errors import ConfigurationError, StorageError
from facade import ManualClock
from postgres_server import PostgresServer
from store_fixtures import schema_of


def test_what_one_program_learns_another_finds(alma: ALMA, configured: Path, clock: ManualClock) -> None:
    alma.learn("helena", "Test the login form", "success", "Tested empty fields")
    with ALMA.from_config(configured, clock=clock) as other:
        assert [item.memory.text for item in other.retrieve("Test the login form", "helena").recalled]
        other.learn("helena", "Test the logout", "failure", error_message="timeout")
    assert alma.get_stats().total == 2
    assert alma.verify().ok


def test_a_url_opens_it_as_well(server: PostgresServer, tmp_path: Path) -> None:
    url = f"{server.url}?schema={schema_of(tmp_path)}&pool_size=4"
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage=url) as alma:
        alma.learn("helena", "Test the login form", "success")
        assert alma.retrieve("Test the login form", "helena").total_items == 1
        assert alma.get_stats().database_bytes > 0
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_a_newer_version_brings_up_to_date_while_it_is_open_is_neither_read_nor_written_any_more(
    alma: ALMA, server: PostgresServer, tmp_path: Path
) -> None:
    alma.learn("helena", "Test the login form", "success")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f'INSERT INTO "{schema_of(tmp_path)}".migration VALUES (%s, 1)', ("p999_from_the_future",))
    for call in (lambda: alma.learn("helena", "Test the logout", "success"), lambda: alma.retrieve("Test the login", "helena")):
        with pytest.raises(ConfigurationError, match=r"newer ALMA has brought .* up to date"):
            call()


def test_what_was_learned_can_be_undone_purged_and_compacted(alma: ALMA) -> None:
    kept = alma.learn("helena", "Test the login form", "success", "Tested empty fields")
    gone = alma.learn("helena", "Test the logout", "success", "Waited")
    before = alma.content_hash()
    alma.learn("helena", "Test the sign-up form", "success")
    alma.undo(to=2)
    assert alma.content_hash() == before
    alma.purge([gone.id])
    assert [item.memory.id for item in alma.retrieve("Test the logout", "helena").recalled] == [kept.id]
    assert alma.compact().is_whole
    assert alma.verify().ok


def test_compacting_drops_vectors_that_nothing_uses_and_no_others(alma: ALMA) -> None:
    kept = alma.learn("helena", "Test the login form", "success", "Tested empty fields")
    alma.learn("helena", "Test the login form", "failure", "Clicked twice")
    used = vectors_in(alma)
    alma.learn("helena", "Test the sign-up form", "success", "Waited")
    alma.undo(to=2)
    assert vectors_in(alma) > used
    alma.compact()
    assert vectors_in(alma) == used
    assert kept.id in alma.retrieve("Test the login form", "helena").ids
    assert alma.verify().ok


def vectors_in(alma: ALMA) -> set[bytes]:
    """The hashes of the texts that have a vector."""
    database = alma.storage.database  # type: ignore[attr-defined] # of PostgreSQL
    with database.reading() as session:
        return {digest for (digest,) in session.connection.execute(f"SELECT text_hash FROM {database.schema}.vector")}


def test_an_address_without_a_server_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"127\.0\.0\.1:1/"):
        ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage="postgres://alma:hush@127.0.0.1:1/alma")


def test_a_database_that_is_not_there_is_a_wrong_configuration(server: PostgresServer, tmp_path: Path) -> None:
    url = server.url.replace("/postgres", "/nowhere").replace("postgres:", "postgresql:")
    with pytest.raises(ConfigurationError, match='database "nowhere" does not exist'):
        ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage=f"{url}")
