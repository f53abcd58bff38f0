"""Every store of ours passes the contract."""

from pathlib import Path

import pytest

from alchemy_store import AlchemyStore
from alma.protocols import NextVectors, Reembeddable, Store, StoreRequest
from alma.storage.sqlite.store import SQLStorage
from alma.testing import FileStoreContract, MockEmbedder, MockStorage, ReembeddableContract, StoreContract
from alma_files import FileStorage, open_files
from alma_testing.clocks import START
from alma_testing.contracts.reembedding import OTHER, made_for
from alma_testing.contracts.stored import OpenStore


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


class TestFileStorage(StoreContract, FileStoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        def open_it(folder: Path) -> FileStorage:
            return open_files(StoreRequest(str(folder), "alma.db", START, None, {}, lambda: MockEmbedder(16).fingerprint))

        return open_it

    def test_who_was_interrupted_goes_on(self, filled: Store, again: Store, next_vectors: NextVectors) -> None:
        """Vectors are cached by their text: the one that was made serves the same text in another project, too."""
        assert next_vectors.put(made_for(next_vectors.missing(after=0, limit=1))) == 1
        assert isinstance(again, Reembeddable)
        assert again.next_vectors(OTHER).progress() == (2, 5)


class TestMockStorage(StoreContract, FileStoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        return lambda folder: MockStorage(folder=folder)


class TestAlchemyStore(StoreContract, ReembeddableContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        return AlchemyStore
