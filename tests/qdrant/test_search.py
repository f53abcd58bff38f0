"""Qdrant in its local mode: the client's own emulation, in this process."""

import logging
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from alma import ALMA
from alma.protocols import CandidateFactory
from alma.testing import CandidateSearchContract
from alma_qdrant import open_search


class TestQdrantSearch(CandidateSearchContract):
    @pytest.fixture
    def factory(self) -> CandidateFactory:
        return open_search

    @pytest.fixture
    def options(self, tmp_path: Path) -> dict[str, object]:
        return {"url": f"path:{tmp_path / 'qdrant'}"}


def configured(folder: Path, url: str) -> Path:
    path = folder / "alma.yaml"
    path.write_text(
        "alma:\n  project_id: shop\n  storage: qdrant\n  embedding_provider: hash\n"
        f'  qdrant: {{url: "{url}", api_key: "${{QDRANT_API_KEY:-}}", collection_prefix: alma}}\n'
    )
    return path


def test_a_configuration_keeps_records_in_sqlite_and_vectors_in_qdrant(tmp_path: Path) -> None:
    with ALMA.from_config(configured(tmp_path, f"path:{tmp_path / 'qdrant'}")) as alma:
        fact = alma.add_domain_knowledge(agent="helena", domain="auth", fact="Tokens live for a day")
        assert [item.memory.id for item in alma.retrieve("How long do tokens live?", "helena").recalled] == [fact.id]
    client = QdrantClient(path=str(tmp_path / "qdrant"))
    (collection,) = client.get_collections().collections
    assert client.count(collection.name).count == 2  # the passage, and the watermark
    client.close()
    with ALMA.from_config(configured(tmp_path, f"path:{tmp_path / 'qdrant'}")) as alma:
        alma.forget(memory_ids=[fact.id])
        assert alma.retrieve("How long do tokens live?", "helena").total_items == 0
    client = QdrantClient(path=str(tmp_path / "qdrant"))
    assert client.count(collection.name).count == 1
    client.close()


def test_without_a_server_memories_are_found_all_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="alma")
    with ALMA.from_config(configured(tmp_path, "http://127.0.0.1:9")) as alma:
        alma.add_domain_knowledge(agent="helena", domain="auth", fact="Tokens live for a day")
        for _ in range(2):
            assert alma.retrieve("How long do tokens live?", "helena").total_items == 1
    assert len([record for record in caplog.records if "does not answer" in record.getMessage()]) == 1
