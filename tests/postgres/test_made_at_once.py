"""Processes that make one store at the same time."""

import psycopg

from alma_postgres.migrations import applied_migrations
from postgres_server import PostgresServer


def test_a_session_that_waited_for_its_lock_sees_the_schema_that_another_one_made_meanwhile(server: PostgresServer) -> None:
    url = server.new_database()
    with psycopg.connect(url, autocommit=True) as waiting, psycopg.connect(url, autocommit=True) as making:
        assert applied_migrations(waiting, "shop") == set()
        waiting.execute("BEGIN")
        making.execute("CREATE SCHEMA shop")
        making.execute("CREATE TABLE shop.migration (name text)")
        making.execute("INSERT INTO shop.migration VALUES ('first')")

        assert applied_migrations(waiting, "shop") == {"first"}
        waiting.execute("CREATE SCHEMA IF NOT EXISTS shop")
        waiting.execute("COMMIT")
