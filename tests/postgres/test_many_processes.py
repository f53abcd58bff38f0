"""Processes that write at once lose nothing, also when the server is killed under them."""

import threading
from pathlib import Path

import pytest

from alma import ALMA, lock_timeout
from alma.errors import StorageError
from postgres_server import PostgresServer
from postgres_writers import notes, notes_by_writer, opened, started
from store_fixtures import schema_of

pytestmark = pytest.mark.slow


@pytest.fixture
def url(server: PostgresServer, tmp_path: Path) -> str:
    return f"{server.url}?schema={schema_of(tmp_path)}"


def found(alma: ALMA, task: str, agent: str) -> list[str]:
    """What a retrieval finds, in its order."""
    return [outcome.id for outcome in alma.retrieve(task, agent, top_k=100).outcomes]


def test_four_processes_lose_nothing(url: str, tmp_path: Path) -> None:
    for process in started(url, tmp_path, writers=4, calls=25):
        process.join()
    told = notes(tmp_path)
    assert {what for what, *_ in told} == {"stored"}
    with opened(url, str(tmp_path)) as alma:
        assert {memory.id for memory in alma.list_memories("outcome", limit=1000)} == {memory for *_, memory in told}
        assert len(told) == 100
        assert alma.verify().ok


def test_what_was_acknowledged_outlives_a_kill_of_the_server(url: str, server: PostgresServer, tmp_path: Path) -> None:
    with opened(url, str(tmp_path)) as watching:
        first = watching.learn("agent-0", "Look before", "success")
        assert found(watching, "Look before", "agent-0") == [first.id]
        writers = started(url, tmp_path, writers=3, calls=100)
        while any(len(told) < 10 for told in notes_by_writer(tmp_path, 3)):
            writers[0].join(0.05)
            assert all(process.is_alive() for process in writers)
        server.kill()
        server.start()
        for process in writers:
            process.join()
            assert process.exitcode == 0
        told = notes(tmp_path)
        stored = [(task, memory) for what, task, memory in told if what == "stored"]
        assert len(stored) > 100, "they went on after the restart"
        held = {memory.id for memory in watching.list_memories("outcome", limit=1000)}
        assert {memory for _, memory in stored} <= held
        assert watching.verify().ok
        with opened(url, str(tmp_path)) as fresh:
            for task, memory in stored[::10]:
                agent = f"agent-{int(task[-1]) % 2}"
                assert memory in found(watching, task, agent)
                assert found(watching, task, agent) == found(fresh, task, agent)


def test_a_call_while_the_server_is_away_says_so_and_the_next_one_works(url: str, server: PostgresServer, tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", storage=url, lock_timeout=1) as alma:
        alma.learn("helena", "Test the login form", "success")
        server.kill()
        try:
            with pytest.raises(StorageError, match=r"127\.0\.0\.1"):
                alma.learn("helena", "Test the logout", "success")
            with pytest.raises(StorageError, match=r"127\.0\.0\.1"):
                alma.retrieve("Test the logout", "helena")
        finally:
            server.start()
        with lock_timeout(60):  # the server recovers first, and connections are tried again at growing intervals
            alma.learn("helena", "Test the sign-up form", "success")
        assert alma.get_stats().total == 2
        assert alma.verify().ok


def test_writers_of_one_project_wait_and_those_of_another_do_not(url: str, tmp_path: Path) -> None:
    with opened(url, str(tmp_path)) as alma:
        alma.learn("helena", "Test the login form", "success")
        blog = alma.for_project("blog")
        blog.learn("victor", "Write the post", "success")
        project, told = alma.storage.project("shop"), list[str]()

        def write_there() -> None:
            blog.learn("victor", "Write another post", "success")
            told.append("blog")

        with project.write(actor="helena", operation="hold", at=1):
            writing = threading.Thread(target=write_there)
            writing.start()
            writing.join()
            assert told == ["blog"]
