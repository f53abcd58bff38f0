"""Chroma in a folder, in this process, and as a server on loopback."""

from collections.abc import Iterator
from pathlib import Path

import chromadb
import pytest
from chromadb.api import ClientAPI

from alma import ALMA
from alma.protocols import CandidateFactory
from alma.testing import CandidateSearchContract
from alma_chroma import open_search
from chroma_server import served


def in_memory() -> ClientAPI:
    return chromadb.EphemeralClient(settings=chromadb.Settings(anonymized_telemetry=False))


class TestChromaInAFolder(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self, tmp_path: Path) -> dict[str, object]:
        return {"persist_directory": str(tmp_path / "chroma")}


class TestChromaInMemory(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self) -> Iterator[dict[str, object]]:
        client = in_memory()  # keeps it for all searches of a test
        yield {"persist_directory": ":memory:"}
        for collection in client.list_collections():
            client.delete_collection(collection.name)
        client.close()


@pytest.fixture(scope="session")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with served(tmp_path_factory.mktemp("server")) as number:
        yield number


class TestChromaServer(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self, port: int) -> Iterator[dict[str, object]]:
        yield {"host": "127.0.0.1", "port": port}
        client = chromadb.HttpClient(host="127.0.0.1", port=port)
        for collection in client.list_collections():
            client.delete_collection(collection.name)


def test_a_configuration_keeps_records_in_sqlite_and_vectors_in_chroma(tmp_path: Path) -> None:
    path = tmp_path / "alma.yaml"
    path.write_text(
        "alma:\n  project_id: shop\n  storage: chroma\n  embedding_provider: hash\n"
        f"  chroma: {{persist_directory: {tmp_path / 'chroma'}}}\n"
    )
    with ALMA.from_config(path) as alma:
        fact = alma.add_domain_knowledge(agent="helena", domain="auth", fact="Tokens live for a day")
        assert [item.memory.id for item in alma.retrieve("How long do tokens live?", "helena").recalled] == [fact.id]
        assert stored(tmp_path) == 2  # the passage, and the watermark
        alma.forget(memory_ids=[fact.id])
        assert alma.retrieve("How long do tokens live?", "helena").total_items == 0
        assert stored(tmp_path) == 1


def test_a_collection_in_memory_is_filled_by_each_process_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "alma.yaml"
    path.write_text(
        f"alma:\n  project_id: shop\n  storage: chroma\n  storage_dir: {tmp_path / 'store'}\n  embedding_provider: hash\n"
        '  chroma: {persist_directory: ":memory:"}\n'
    )
    for number in range(2):
        with ALMA.from_config(path) as alma, ALMA.from_config(path) as beside:
            alma.add_domain_knowledge(agent="helena", domain="auth", fact=f"Tokens of sort {number} live for a day")
            for each in (alma, beside):
                assert each.retrieve("How long do tokens live?", "helena").total_items == number + 1
            assert counts() == [number + 2]  # with the watermark
        assert counts() == []
    assert [file.name for file in tmp_path.rglob("*chroma*")] == []


def counts() -> list[int]:
    client = in_memory()
    try:
        return [collection.count() for collection in client.list_collections()]
    finally:
        client.close()


def stored(folder: Path) -> int:
    client = chromadb.PersistentClient(str(folder / "chroma"), settings=chromadb.Settings(anonymized_telemetry=False))
    (collection,) = client.list_collections()
    return collection.count()
