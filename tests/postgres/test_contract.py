"""The store on PostgreSQL passes every contract of stores."""

from pathlib import Path

import pytest

from alma.testing import ReembeddableContract, StoreContract
from alma_testing.contracts.stored import OpenStore
from postgres_server import PostgresServer
from postgres_stores import opened_at


class TestPostgresStorage(StoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self, server: PostgresServer) -> OpenStore:
        def open_it(folder: Path) -> object:
            return opened_at(server, folder)

        return open_it  # type: ignore[return-value] # a store
