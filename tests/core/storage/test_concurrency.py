"""Threads and processes share a file: every call lands once, in one gapless chain a project."""

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import pytest
from pytest_mock import MockerFixture

from alma import ALMA
from processes import finished, start, workers
from stores import Driver, open_alma, rows


def chain(folder: Path, project: str) -> list[int]:
    """The numbers of a project's journal records in the order in which they were written."""
    query = f"SELECT seq FROM journal JOIN project ON project.row = journal.project WHERE name = '{project}' ORDER BY seq"
    return [seq for (seq,) in rows(folder / "alma.db", query)]


def learn_from_processes(folder: Path, projects: list[str], count: int) -> list[str]:
    commands = [("learn", folder, project, f"agent{number}", count) for number, project in enumerate(projects)]
    with workers(*commands) as processes:
        start(*processes)
        with ThreadPoolExecutor(len(processes)) as pool:
            return [made for ids in pool.map(finished, processes) for made in ids]


@pytest.mark.slow
def test_eight_processes_that_learn_a_hundred_times_each_leave_one_chain_of_eight_hundred(tmp_path: Path) -> None:
    ids = learn_from_processes(tmp_path, ["shop"] * 8, 100)

    with open_alma(tmp_path) as alma:
        report = alma.verify()
        assert (report.problems, report.memories, report.records) == ((), 800, 800)
        assert set(Counter(agents_of(alma, ids)).values()) == {100}
    assert len(set(ids)) == 800
    assert {memory_id for (memory_id,) in rows(tmp_path / "alma.db", "SELECT id FROM memory")} == set(ids)
    assert chain(tmp_path, "shop") == list(range(1, 801))


def agents_of(alma: ALMA, ids: list[str]) -> list[str]:
    return [alma.get(memory_id).agent for memory_id in ids]


@pytest.mark.slow
def test_processes_in_two_projects_keep_a_gapless_chain_in_each(tmp_path: Path) -> None:
    learn_from_processes(tmp_path, ["shop", "lab", "shop"], 40)

    with open_alma(tmp_path) as alma:
        assert alma.verify().problems == ()
    assert chain(tmp_path, "shop") == list(range(1, 81))
    assert chain(tmp_path, "lab") == list(range(1, 41))


@pytest.mark.slow
def test_eight_threads_that_learn_fifty_times_each_leave_one_chain_of_four_hundred(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma, ThreadPoolExecutor(8) as pool:

        def learn(agent: int) -> list[str]:
            return [alma.learn(f"agent{agent}", f"Task {n}", "success", f"Way {n}").id for n in range(50)]

        ids = [made for some in pool.map(learn, range(8)) for made in some]
        report = alma.verify()

    assert (report.problems, report.memories, report.records, len(set(ids))) == ((), 400, 400, 400)
    assert chain(tmp_path, "shop") == list(range(1, 401))


@pytest.fixture
def _threads_change_often() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.slow
@pytest.mark.usefixtures("_threads_change_often")
def test_threads_that_read_while_new_owners_appear_always_get_a_whole_answer(tmp_path: Path) -> None:
    is_over = Event()
    with open_alma(tmp_path, dimension=16) as alma, ThreadPoolExecutor(3) as pool:
        alma.learn("helena", "Deploy the shop", "success", "Blue-green")

        def read(_: int) -> set[tuple[str, ...]]:
            found = set()
            while not is_over.is_set():
                found.add(tuple(memory.agent for memory in alma.retrieve("Deploy the shop", "helena")))
            return found

        reading = [pool.submit(read, reader) for reader in range(3)]
        try:
            for number in range(250):
                alma.learn(f"agent{number}", "Deploy the shop", "success", "Blue-green")
        finally:
            is_over.set()
        assert [found.result() for found in reading] == [{("helena",)}] * 3


def test_threads_that_end_leave_no_connections_behind(tmp_path: Path, mocker: MockerFixture) -> None:
    driver = Driver()
    mocker.patch("sqlite3.connect", driver.connect)
    with open_alma(tmp_path) as alma:
        for _ in range(20):
            thread = Thread(target=alma.learn, args=("helena", "Task", "success"))
            thread.start()
            thread.join()
        assert alma.get_stats().total == 20
        assert driver.open <= 2
    assert driver.open == 0


def test_a_new_thread_takes_over_the_connection_of_one_that_has_ended(tmp_path: Path, mocker: MockerFixture) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn("dev", "Deploy", "success")
        made = mocker.spy(sqlite3, "connect")
        for number in range(8):
            thread = Thread(target=alma.learn, args=("dev", f"Deploy {number}", "success"))
            thread.start()
            thread.join()
        assert made.call_count <= 2
        assert len(alma.list_memories("outcome")) == 9
        assert alma.verify().ok


@pytest.mark.slow
def test_what_another_process_learned_is_there_at_once(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        assert list(alma.retrieve("Task 0 of agent0", "agent0")) == []
        (made,) = learn_from_processes(tmp_path, ["shop"], 1)

        assert alma.retrieve("Task 0 of agent0", "agent0").ids == [made]


@pytest.mark.parametrize("size", [1, 30])
def test_a_call_that_writes_many_is_one_record(tmp_path: Path, size: int) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn_many([{"agent": "a", "task": f"Task {n}", "outcome": "success"} for n in range(size)])

        assert (alma.verify().records, alma.verify().memories) == (1, size)


def test_a_moment_knows_the_hash_of_a_record_that_was_written_since(tmp_path: Path) -> None:
    """By it an index outside of the process, which another one brought further, is known to be of this history."""
    with open_alma(tmp_path) as alma:
        alma.learn("helena", "Test the login form", "success")
        project = alma.storage.project(alma.project_id)
        with project.moment():
            assert (project.head(), project.head_at(2)) == (1, "")
            writing = Thread(target=alma.learn, args=("helena", "Test the logout", "success"))
            writing.start()
            writing.join()
            assert project.head() == 1
            later = project.head_at(2)
        assert later == project.head_at(2) != ""
