"""Chroma in a folder, in this process, and as a server on loopback."""

from collections.abc import Iterator
from pathlib import Path

import chromadb
import pytest

from alma import ALMA
from alma.protocols import CandidateFactory
from alma.testing import CandidateSearchContract
from alma_chroma import open_search
from chroma_server import served


class TestChromaInAFolder(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self, tmp_path: Path) -> dict[str, object]:
        return {"persist_directory": str(tmp_path / "chroma")}


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


def stored(folder: Path) -> int:
    client = chromadb.PersistentClient(str(folder / "chroma"), settings=chromadb.Settings(anonymized_telemetry=False))
    (collection,) = client.list_collections()
    return collection.count()
