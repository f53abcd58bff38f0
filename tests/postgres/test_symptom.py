"""A database without pgvector, and its cure, as docs/guides/symptoms.md has them."""

from pathlib import Path

import psycopg

from alma import ALMA
from postgres_server import PostgresServer
from store_fixtures import schema_of

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "symptoms.md").read_text("utf-8")
CURE = "CREATE EXTENSION vector"


def tables_of_vectors(url: str, folder: Path) -> int:
    with psycopg.connect(url) as looking:
        asked = "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename ~ '^nearest_[0-9]'"
        ((count,),) = looking.execute(asked, (schema_of(folder),)).fetchall()
    return int(count)


def test_the_extension_that_is_made_later_is_used_by_the_next_process(server: PostgresServer, tmp_path: Path) -> None:
    assert f"{CURE};" in PAGE
    url = server.new_database("SELECT 1")
    options = {"project_id": "shop", "embedding_provider": "hash", "storage": f"{url}?schema={schema_of(tmp_path)}"}
    with ALMA.open(tmp_path, **options) as alma:
        alma.learn("helena", "Test the login form", "success", "Empty fields first")
        assert alma.retrieve("Test the login form", "helena").total_items == 1
    assert tables_of_vectors(url, tmp_path) == 0

    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(CURE)
    with ALMA.open(tmp_path, **options) as alma:
        assert alma.retrieve("Test the login form", "helena").total_items == 1
    assert tables_of_vectors(url, tmp_path) == 1
