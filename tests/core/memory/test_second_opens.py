"""A store that is open twice in one process loses nothing while other processes come and go."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from alma.errors import StorageError, ValidationError
from stores import Driver, open_alma

OTHER = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop") as alma:
    for number in range(int(sys.argv[2])):
        alma.learn("other", f"Task {number} of another process", "success")
    print(alma.get_stats().total, alma.verify().ok)
"""


def other_process(folder: Path, learns: int = 0) -> str:
    """Opens the store elsewhere, learns, closes it; what it printed."""
    done = subprocess.run([sys.executable, "-c", OTHER, str(folder), str(learns)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def second_open(folder: Path) -> None:
    open_alma(folder)


def opened_and_closed(folder: Path) -> None:
    open_alma(folder).close()


def opened_by_another_thread(folder: Path) -> None:
    thread = threading.Thread(target=opened_and_closed, args=(folder,))
    thread.start()
    thread.join()


def opened_in_a_forked_child(folder: Path) -> None:
    child = os.fork()
    if not child:
        opened_and_closed(folder)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def exported_over_it(folder: Path) -> None:
    with open_alma(folder) as alma, pytest.raises(ValidationError, match="belongs to a store"):
        alma.export(folder / "alma.db")


def imported_from_it(folder: Path) -> None:
    with open_alma(folder) as alma, pytest.raises(ValidationError, match="not an export"):
        alma.import_from(folder / "alma.db")


def compacted_and_verified(folder: Path) -> None:
    with open_alma(folder) as alma:
        alma.compact()
        alma.verify()


WAYS = [second_open, opened_and_closed, opened_by_another_thread, exported_over_it, imported_from_it, compacted_and_verified]


@pytest.mark.slow
@pytest.mark.parametrize("way", [*WAYS, *([opened_in_a_forked_child] if hasattr(os, "fork") else [])])
def test_what_was_returned_is_kept_while_other_processes_open_and_close(tmp_path: Path, way: Callable[[Path], None]) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn("dev", "Deploy the service", "success")
        way(tmp_path)
        other_process(tmp_path)
        assert (tmp_path / "alma.db-wal").exists()
        alma.learn("dev", "Deploy once more", "success")
        assert other_process(tmp_path, learns=5) == "7 True"
        assert alma.get_stats().total == 7
    with open_alma(tmp_path) as alma:
        assert (alma.get_stats().total, alma.verify().ok) == (7, True)


def test_all_that_are_open_on_a_file_share_its_connections_whatever_the_path(tmp_path: Path, mocker: MockerFixture) -> None:
    driver = Driver()
    mocker.patch("sqlite3.connect", driver.connect)
    folder, link = tmp_path / "store", tmp_path / "link"
    link.symlink_to(folder)
    with open_alma(folder) as alma:
        learned = alma.learn("dev", "Deploy the service", "success")
        connections = driver.open
        with open_alma(link) as other:
            assert other.get(learned.id) == learned
            assert driver.open == connections
        assert driver.open == connections
    assert driver.open == 0
    assert sorted(path.name for path in folder.iterdir()) == ["alma.db"]


def test_closing_one_leaves_the_other_open(tmp_path: Path) -> None:
    first, second = open_alma(tmp_path), open_alma(tmp_path)
    first.close()
    first.close()
    learned = second.learn("dev", "Deploy the service", "success")
    assert second.retrieve("Deploy the service", agent="dev").ids == [learned.id]
    with pytest.raises(StorageError, match="closed"):
        first.learn("dev", "Deploy the service", "success")
    second.close()


AUDITED = """
import os, sys
from alma import ALMA
folder = sys.argv[1]
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
def open_it():
    return ALMA.open(folder, project_id="shop", embedding_provider="hash")
with open_it() as alma, open_it() as other:
    alma.learn("dev", "Deploy the service", "success")
    other.retrieve("Deploy the service", agent="dev")
    with alma.episode(agent="dev", task="Sell") as episode:
        episode.step("call", ok=False, error="no answer")
    alma.export(os.path.join(folder, "..", "export.jsonl"))
    for call in (alma.verify, alma.compact, alma.maintain, alma.overview, alma.get_stats):
        call()
    for call in (alma.export, alma.import_from, alma.import_alma_memory):
        try:
            call(os.path.join(folder, "alma.db"))
        except Exception:
            pass
    alma.reindex("hash", embedding_dim=32)
print([path for path in opened if os.path.basename(path).startswith("alma.db")])
"""


@pytest.mark.slow
def test_a_database_file_is_opened_by_sqlite_alone(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", AUDITED, str(tmp_path / "store")], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_makers_that_were_killed_left_is_removed_at_the_next_open(tmp_path: Path) -> None:
    open_alma(tmp_path).close()
    for name in (".alma.db.0f.new", ".alma.db.0f.new-wal", ".alma.db.0f.new-shm", ".another.db.0f.new"):
        (tmp_path / name).touch()
    open_alma(tmp_path).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".another.db.0f.new", "alma.db"]


def test_row_numbers_are_given_out_once_also_after_an_undo(tmp_path: Path) -> None:
    """The numbers of deleted rows were reused by another project: then a search that knew the old rows raised `KeyError`."""
    with open_alma(tmp_path) as alma:
        other = alma.for_project("other")
        for turn in range(3):
            alma.learn_many({"agent": "dev", "task": f"Deploy mail service {turn} {n}", "outcome": True} for n in range(3))
            found = alma.retrieve("Deploy mail service", agent="dev").ids
            assert len(found) >= 3
            alma.undo(alma.get_stats().journal_records - 1)
            other.learn("dev", f"Deploy mail service of another project, {turn}", "success")
            assert alma.retrieve("Deploy mail service", agent="dev").total_items == 0
            assert alma.check("dev", "deploy mail service").is_clear
            alma.learn("dev", f"Sell things {turn}", "success")
            alma.undo(alma.get_stats().journal_records - 1)
        assert alma.verify().ok


@pytest.mark.slow
def test_what_another_process_undoes_or_purges_never_makes_a_search_fail(tmp_path: Path) -> None:
    taken_back = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop") as alma:
    if sys.argv[2] == "undo":
        alma.undo(0)
    else:
        alma.purge([memory.id for memory in alma.list_memories()])
    alma.for_project("other").learn("dev", "Anything", "success")
"""
    for way in ("undo", "purge"):
        with open_alma(tmp_path / way) as alma:
            alma.learn("dev", "Deploy the mail service", "success")
            alma.learn("dev", "Deploy the mail service again", "success")
            assert alma.retrieve("Deploy mail", agent="dev").total_items == 2
            subprocess.run([sys.executable, "-c", taken_back, str(tmp_path / way), way], check=True)
            assert alma.retrieve("Deploy mail", agent="dev").ids == []
            assert (
                alma.learn("dev", "Deploy the mail service once more", "success").id
                in alma.retrieve("Deploy mail", agent="dev").ids
            )
