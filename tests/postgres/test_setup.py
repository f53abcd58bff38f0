"""What `alma pg-setup` prints gives ALMA the rights that it needs, and no others."""

from pathlib import Path

import psycopg
import pytest

from alma import ALMA
from alma.errors import ConfigurationError, StorageError
from alma_postgres.setup import setup_sql
from postgres_server import PostgresServer
from store_fixtures import schema_of


def opened(server: PostgresServer, tmp_path: Path, *projects: str) -> ALMA:
    """The store that an administrator made, opened by the role that the script made."""
    schema = schema_of(tmp_path)
    role = f"r{schema}"
    with psycopg.connect(server.url, autocommit=True) as administrator:
        administrator.execute(setup_sql(schema, role, projects).encode())
    url = server.url.replace("alma@", f"{role}@") + f"?schema={schema}"
    return ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage=url)


def test_the_role_can_do_what_alma_does(server: PostgresServer, tmp_path: Path) -> None:
    with opened(server, tmp_path) as alma:
        gone = alma.learn("helena", "Test the login form", "success", "Tested empty fields")
        alma.learn("helena", "Test the logout", "success", "Tested empty fields")
        with alma.episode(agent="helena", task="Test the sign-up form") as episode:
            episode.succeed()
        alma.purge([gone.id])
        assert alma.retrieve("Test the logout", "helena").outcomes
        assert not alma.compact().is_whole, "only the owner of a table may vacuum it"
        assert alma.verify().ok


def test_the_role_cannot_change_tables(server: PostgresServer, tmp_path: Path) -> None:
    with opened(server, tmp_path) as alma, alma.storage.database.reading() as session:  # type: ignore[attr-defined] # of this store
        schema = schema_of(tmp_path)
        for statement in (
            f"DROP TABLE {schema}.memory",
            f"CREATE TABLE {schema}.mine (x int)",
            f"DELETE FROM {schema}.migration",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.connection.execute(statement.encode())


def test_with_walls_the_role_sees_its_projects_alone(server: PostgresServer, tmp_path: Path) -> None:
    schema = schema_of(tmp_path)
    with opened(server, tmp_path, "shop", "bob's") as alma:
        alma.learn("helena", "Test the login form", "success", "Tested empty fields")
        alma.for_project("bob's").learn("helena", "Paint the wall", "success")
        owner = ALMA.open(tmp_path, project_id="blog", embedding_provider="hash", storage=f"{server.url}?schema={schema}")
        with owner:
            owner.learn("victor", "Write the post", "success")
            assert alma.storage.project_names() == ["bob's", "shop"]  # type: ignore[attr-defined] # of this store
            assert alma.for_project("blog").retrieve("Write the post", "victor").total_items == 0
            with pytest.raises(StorageError):
                alma.for_project("blog").learn("victor", "Write another post", "success")
            with pytest.raises(StorageError, match="alma pg-setup"):
                alma.for_project("lab").learn("victor", "Boil water", "success")
        assert alma.verify().ok


def test_names_that_would_need_quotes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="role"):
        setup_sql(role='x"; DROP ROLE alma; --')
    with pytest.raises(ConfigurationError, match="schema"):
        setup_sql(schema="Alma")
