"""Real processes beside one Chroma server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import chromadb
import pytest

from beside_an_index import process, work_in_turn_and_at_once
from chroma_server import served

pytestmark = pytest.mark.slow
UPSERT = "chromadb.api.models.Collection:Collection.upsert"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with served(tmp_path_factory.mktemp("server")) as number:
        yield number


@pytest.fixture
def config(port: int, tmp_path: Path) -> Path:
    path = tmp_path / "alma.yaml"
    path.write_text(f"project_id: shop\nstorage: chroma\nembedding_provider: hash\nchroma: {{host: 127.0.0.1, port: {port}}}\n")
    return path


def entries(port: int) -> int:
    """Entries of the collection that was made last, the watermark left out."""
    client = chromadb.HttpClient(host="127.0.0.1", port=port)
    (collection,) = client.list_collections()
    count = collection.count() - 1
    client.delete_collection(collection.name)
    return count


def test_each_finds_what_the_other_learned_and_nothing_is_written_twice(config: Path, port: int) -> None:
    with process(config) as one, process(config) as other:
        work_in_turn_and_at_once(one, other)
        assert int(one.ask("it.written")) + int(other.ask("it.written")) == 34
    assert entries(port) == 34


def test_a_process_killed_while_it_catches_up_leaves_the_rest_to_the_next(config: Path, port: int) -> None:
    with process(config) as one, process(config) as other:
        one.ask("it.learn('first', 0)")
        assert one.ask("it.found()") == "1"
        one.ask("it.fill('many', 600)")
        one.ask(f"it.die_at({UPSERT!r}, 2)")  # a batch is there, the watermark is not
        assert one.ask("it.found()") == ""
        assert int(other.ask("it.found()")) > 300
        assert other.ask("it.held()") == "(601, 601)"
        assert other.ask("it.written") == "600"
    assert entries(port) == 601


def test_two_write_while_a_third_searches_before_during_and_after_an_outage(tmp_path: Path) -> None:
    config = tmp_path / "alma.yaml"
    with ExitStack() as processes:
        with served(tmp_path / "server") as port:
            config.write_text(
                f"project_id: shop\nstorage: chroma\nembedding_provider: hash\nchroma: {{host: 127.0.0.1, port: {port}}}\n"
            )
            one, other, third = (processes.enter_context(process(config)) for _ in range(3))
            with ThreadPoolExecutor(3) as at_once:
                working = [at_once.submit(each.ask, f"it.work({name!r}, 10)") for each, name in ((one, "one"), (other, "other"))]
                counts = at_once.submit(lambda: [int(third.ask("it.found()")) for _ in range(12)]).result()
                assert [each.result() for each in working] == ["'all found'", "'all found'"]
            assert counts == sorted(counts)
            assert third.ask("(it.found(), it.held(), it.warnings)") == "(20, (20, 20), [])"
        one.ask("it.learn('the outage', 0)")
        assert third.ask("(it.found(), it.found(), len(it.warnings))") == "(21, 21, 1)", (
            "all vectors are compared, after one warning"
        )
        other.ask("it.purge('Bridge 0 of one has rivets')")
        with served(tmp_path / "server", port):
            assert one.ask("(it.found(), it.held())") == "(20, (20, 20))", "it catches up"
            assert entries(port) == 20
