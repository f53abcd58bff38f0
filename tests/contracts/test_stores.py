"""Every store of ours passes the contract."""

from pathlib import Path

import pytest

from alchemy_store import AlchemyStore
from alma.storage.sqlite.store import SQLStorage
from alma.testing import FileStoreContract, MockEmbedder, MockStorage, ReembeddableContract, StoreContract
from alma.testing.clocks import START
from alma.testing.contracts.stored import OpenStore


class TestSQLStorage(StoreContract, FileStoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        def open_it(folder: Path) -> SQLStorage:
            SQLStorage.create(folder / "alma.db", MockEmbedder(16).fingerprint, at=START)
            return SQLStorage(folder / "alma.db", at=START)

        return open_it


class TestEncryptedStorage(StoreContract, FileStoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        def open_it(folder: Path) -> SQLStorage:
            SQLStorage.create(folder / "alma.db", MockEmbedder(16).fingerprint, at=START, key=bytes(32))
            return SQLStorage(folder / "alma.db", at=START, key=bytes(32))

        return open_it


class TestMockStorage(StoreContract, FileStoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        return lambda folder: MockStorage(folder=folder)


class TestAlchemyStore(StoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        return AlchemyStore
