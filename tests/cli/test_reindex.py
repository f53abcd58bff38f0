"""`alma reindex` changes the embedder of a store, and says what is left to do."""

from pathlib import Path

import pytest

CONFIG = Path(".alma", "config.yaml")


@pytest.fixture
def learned(project) -> str:
    return project("learn", "-a", "helena", "-t", "Deploy the shop", "-o", "success", "--json").json["id"]


def configure(text: str) -> None:
    content = CONFIG.read_text(encoding="utf-8")
    assert 'embedding_provider: "hash"' in content
    CONFIG.write_text(content.replace('embedding_provider: "hash"', text), encoding="utf-8")


def test_the_store_changes_to_the_embedder_that_is_named_and_the_configuration_is_to_follow(project, learned: str) -> None:
    told = project("reindex", "--embedder", "minilm").out
    assert told.startswith("From hash 1 to all-MiniLM-L6-v2 ")
    assert "embedded 1 of 1 texts" in told
    assert "Next: set `embedding_provider: minilm` in" in told

    assert "alma reindex" in project("stats", code=2).err
    configure("embedding_provider: minilm")
    assert project("stats", "--json").json["embedder"] == "all-MiniLM-L6-v2"
    assert learned in project("retrieve", "Deploy the shop", "-a", "helena", "--json").out
    assert project("verify", "--json").json["ok"]


def test_without_a_name_the_configured_embedder_is_taken_though_the_store_has_another(project, learned: str) -> None:
    configure("embedding_provider: hash\n  embedding_dim: 128")
    assert "alma reindex" in project("stats", code=2).err
    found = project("reindex", "--json").json
    assert found == {"before": "hash 1", "after": "hash 1", "dimension": 128, "texts": 1, "embedded": 1}
    assert project("stats", "--json").json["total"] == 1
    assert "there was nothing to do" in project("reindex").out


def test_a_dimension_can_be_given(project, learned: str) -> None:
    assert project("reindex", "--embedder", "hash", "--dimension", "64", "--json").json["dimension"] == 64


def test_an_embedder_that_is_not_there_is_refused_and_nothing_changes(project, learned: str) -> None:
    assert "did you mean 'minilm'?" in project("reindex", "--embedder", "minilmm", code=2).err
    assert "another embedder" not in project("stats").out
    assert project("stats", "--json").json["embedder"] == "hash"


def test_a_server_that_is_not_there_is_a_model_error_and_nothing_changes(project, learned: str) -> None:
    content = CONFIG.read_text(encoding="utf-8")
    block = "  openai: {base_url: 'http://127.0.0.1:9/v1', model: m, dimension: 8, max_retries: 0}\n"
    CONFIG.write_text(content + block, encoding="utf-8")
    before = project("stats", "--json").json
    assert "0 of 1 texts are done and kept" in project("reindex", "--embedder", "openai", code=5).err
    assert project("stats", "--json").json == before
