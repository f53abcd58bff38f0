"""Chroma in a folder, in this process, and as a server on loopback."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import chromadb
import pytest

from alma import ALMA
from alma.protocols import CandidateFactory
from alma.testing import CandidateSearchContract
from alma_chroma import open_search


class TestChromaInAFolder(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self, tmp_path: Path) -> dict[str, object]:
        return {"persist_directory": str(tmp_path / "chroma")}


@pytest.fixture(scope="session")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    program = Path(sys.executable).with_name("chroma")
    folder = str(tmp_path_factory.mktemp("server"))
    command = [str(program), "run", "--path", folder, "--host", "127.0.0.1", "--port", str(number)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            chromadb.HttpClient(host="127.0.0.1", port=number).heartbeat()
            break
        except Exception:  # noqa: BLE001 - it is not there yet
            time.sleep(0.2)
    yield number
    server.terminate()
    server.wait(timeout=10)


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
