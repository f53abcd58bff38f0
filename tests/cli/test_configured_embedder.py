"""Commands with an embedder that the configuration describes: a server on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedding_server import DIMENSION, EmbeddingServer, embedding_server, status

CONFIG = Path(".alma", "config.yaml")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def served(project, server: EmbeddingServer):
    """A project that has a memory, whose configuration describes the server but does not use it yet."""
    project("learn", "-a", "helena", "-t", "Deploy the shop", "-o", "success")
    block = (
        f"  openai: {{base_url: '{server.url}', model: served, dimension: {DIMENSION}, api_key: sk-verysecret, max_retries: 0}}\n"
    )
    CONFIG.write_text(CONFIG.read_text(encoding="utf-8") + block, encoding="utf-8")
    return project


def use_server() -> None:
    content = CONFIG.read_text(encoding="utf-8")
    CONFIG.write_text(content.replace('embedding_provider: "hash"', "embedding_provider: openai"), encoding="utf-8")


@pytest.mark.slow
def test_the_store_changes_over_and_doctor_finds_all_well(served, server: EmbeddingServer) -> None:
    assert served("reindex", "--embedder", "openai", "--json").json["after"] == "openai/served"
    use_server()
    found = {check["name"]: check for check in served("doctor", "--json").json["checks"]}
    assert found["embedder"]["status"] == "ok"
    assert "openai/served (openai), 16 dimensions" in found["embedder"]["detail"]
    assert (found["round trip"]["status"], found["database"]["status"]) == ("ok", "ok")
    assert "Deploy the shop" in served("retrieve", "Ship the shop", "-a", "helena").out


def test_a_key_that_the_server_refuses_is_told_and_not_shown(served, server: EmbeddingServer) -> None:
    served("reindex", "--embedder", "openai")
    use_server()
    server.script = [status(401, "Incorrect API key provided: sk-verysecret")] * 9
    result = served("learn", "-a", "helena", "-t", "Something new", "-o", "success", code=5)
    assert "refuses the key (401)" in result.err
    doctor = served("doctor", code=1)
    assert "verysecret" not in result.err + result.out + doctor.out + doctor.err
