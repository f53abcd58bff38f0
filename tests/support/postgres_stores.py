"""Stores on a PostgreSQL server, each in a schema that stands for a folder."""

from pathlib import Path

from alma.protocols import StoreRequest
from alma.testing import MockEmbedder
from alma_postgres import PostgresStorage, open_store
from alma_testing.clocks import START
from pgbouncer import Pooler
from postgres_server import PostgresServer
from store_fixtures import schema_of


def opened_at(server: PostgresServer | Pooler, folder: Path | str, **options: object) -> PostgresStorage:
    """The store that stands for a folder."""
    given = {**server.options, "schema": schema_of(folder), **options}
    return open_store(StoreRequest(str(folder), "alma.db", START, None, given, lambda: MockEmbedder(16).fingerprint))
