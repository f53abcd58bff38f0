"""A store moves to the server and back, with its journals."""

from collections.abc import Callable
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ConflictError, StorageError
from alma.storage.relational.copying import Copying
from facade import ManualClock
from postgres_server import PostgresServer
from store_fixtures import schema_of


@pytest.fixture
def filled(tmp_path: Path, clock: ManualClock) -> ALMA:
    """A store in a file with two projects, an archived memory, a purged one and an open episode."""
    alma = ALMA.open(tmp_path / "file", project_id="shop", embedding_provider="hash", clock=clock)
    for number in range(12):
        alma.learn("helena", f"Test form {number}", "success" if number % 3 else "failure", "Tested empty fields")
    alma.add_domain_knowledge("helena", "authentication", "An account is locked after 5 attempts")
    gone, archived = (memory.id for memory in alma.list_memories("outcome", limit=2))
    alma.purge([gone])
    alma.forget(memory_ids=[archived])
    alma.for_project("blog").learn("victor", "Write the post", "partial")
    return alma


def answers(alma: ALMA) -> list[tuple[str, float]]:
    """What a retrieval finds, with its scores."""
    return [(item.memory.id, round(item.score, 12)) for item in alma.retrieve("Test form 7", "helena").recalled]


def test_a_store_moves_to_the_server_and_back(filled: ALMA, server: PostgresServer, tmp_path: Path, clock: ManualClock) -> None:
    url = f"{server.url}?schema={schema_of(tmp_path)}"
    report = filled.migrate(url)
    assert (report.kept, set(report.heads)) == (0, {"shop", "blog"})
    assert report.content_hashes["shop"] == filled.content_hash()
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage=url, clock=clock) as there:
        assert answers(there) == answers(filled)
        assert there.verify().ok
        assert there.history(there.list_memories("outcome", limit=1)[0].id)
        there.learn("helena", "Test one form more", "success", "Tested empty fields")
        there.undo(to=report.heads["shop"])
        assert there.content_hash() == filled.content_hash()
        there.migrate(str(tmp_path / "back" / "alma.db"))
        there_hash = there.content_hash()
    with ALMA.open(tmp_path / "back", project_id="shop", embedding_provider="hash", clock=clock) as back:
        assert back.content_hash() == there_hash
        assert answers(back) == answers(filled)
        assert back.verify().ok
    filled.close()


def test_a_store_that_is_there_is_left_alone(filled: ALMA, server: PostgresServer, tmp_path: Path) -> None:
    url = f"{server.url}?schema={schema_of(tmp_path)}"
    filled.migrate(url)
    with pytest.raises(ConflictError, match="already"):
        filled.migrate(url)
    filled.close()


def stop_at(step: str, move: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a move that ends at a step."""

    def stop(*_: object) -> None:
        raise StorageError("the power went off")

    with monkeypatch.context() as patched:
        patched.setattr(Copying, step, stop)
        with pytest.raises(StorageError, match="power"):
            move()


def test_an_interrupted_move_goes_on_where_it_stopped(
    filled: ALMA, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url}?schema={schema_of(tmp_path)}"
    stop_at("_compare", lambda: filled.migrate(url), monkeypatch)
    report = filled.migrate(url)
    assert report.kept == report.rows > 0


def test_an_interrupted_move_from_the_server_goes_on_where_it_stopped(
    filled: ALMA, server: PostgresServer, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url}?schema={schema_of(tmp_path)}"
    filled.migrate(url)
    back = str(tmp_path / "back" / "alma.db")
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage=url, clock=clock) as there:
        stop_at("_compare", lambda: there.migrate(back), monkeypatch)
        assert not Path(back).exists()
        report = there.migrate(back)
        assert report.kept == report.rows > 0
        assert report.content_hashes["shop"] == there.content_hash() == filled.content_hash()
    with ALMA.open(tmp_path / "back", project_id="shop", embedding_provider="hash", clock=clock) as moved:
        assert answers(moved) == answers(filled)
    filled.close()


def test_a_move_begins_again_if_the_store_has_changed(
    filled: ALMA, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.url}?schema={schema_of(tmp_path)}"
    stop_at("_copy_text", lambda: filled.migrate(url), monkeypatch)
    filled.learn("helena", "Test one form more", "success")
    report = filled.migrate(url)
    assert report.kept == 0
    assert report.content_hashes["shop"] == filled.content_hash()
