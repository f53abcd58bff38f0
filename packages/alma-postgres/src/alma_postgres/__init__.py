"""A store on PostgreSQL. `storage: postgres` in a configuration opens it."""

from alma_postgres.address import Address as Address
from alma_postgres.store import PostgresStorage as PostgresStorage
from alma_postgres.store import open_store as open_store

__all__ = ["Address", "PostgresStorage", "open_store"]
