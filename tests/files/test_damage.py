"""The file store where something goes wrong: crashes, a full disk, what people do to the files, forked processes."""

import errno
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import CorruptStoreError, StorageError, ValidationError
from alma.protocols import StoreRequest
from alma.storage.sqlite.connections import Connection, Connections
from alma.testing import MockEmbedder
from alma_files import database, open_files
from alma_testing.clocks import START
from file_stores import TASK, head_of, journal_of, learned, opened

LEARNING = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", storage="file", embedding_provider="hash") as alma:
    for number in range(10_000):
        print(alma.learn("helena", f"Test {number}", "success", f"Way {number}").id, flush=True)
"""


@pytest.mark.parametrize("calls", [1, 7, 20])
def test_nothing_acknowledged_is_lost_with_a_killed_process(tmp_path: Path, calls: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", LEARNING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip() for _ in range(calls)]
    process.kill()
    acknowledged += process.stdout.read().split("\n")[:-1]
    process.wait()
    process.stdout.close()
    assert len(list((tmp_path / "alma.files" / "cache").glob("projection-*"))) == 1
    with opened(tmp_path) as alma:
        for memory_id in acknowledged:
            assert alma.history(memory_id)
        assert alma.verify().ok
    assert list((tmp_path / "alma.files" / "cache").glob("projection-*")) == []


def test_the_first_lines_of_a_call_of_several_are_cut_off(tmp_path: Path) -> None:
    request = StoreRequest(str(tmp_path), "alma.db", START, None, {}, lambda: MockEmbedder(16).fingerprint)
    with closing(open_files(request)) as store:
        with store.project("shop").write(actor="helena", operation="save", at=1) as write:
            write.put_record("session", "first", {}, version=0)
        noted = head_of(tmp_path).read_bytes()
        with store.project("shop").writes(actor="helena", operation="save", at=2) as next_write:
            for key in ("second", "third"):
                with next_write() as write:
                    write.put_record("session", key, {}, version=0)
    lines = journal_of(tmp_path).read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    journal_of(tmp_path).write_bytes(b"".join(lines[:2]) + lines[2][:-9])
    head_of(tmp_path).write_bytes(noted)  # it is written last
    with closing(open_files(request)) as store:
        assert [key for key, *_ in store.project("shop").records("session")] == ["first"]
        assert store.verify().ok
    assert journal_of(tmp_path).read_bytes() == lines[0]


def test_a_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    learned(tmp_path)
    whole = journal_of(tmp_path).read_bytes()
    journal_of(tmp_path).write_bytes(whole[:-1])
    with opened(tmp_path) as alma:
        assert alma.get_stats().total == 3
        assert journal_of(tmp_path).read_bytes() == whole
        alma.learn("helena", TASK, "success", "One more")
        assert alma.verify().ok
    with opened(tmp_path) as alma:
        assert alma.get_stats().total == 4


def emptied(journal: Path) -> None:
    journal.write_bytes(b"")


def cut_after(count: int) -> Callable[[Path], None]:
    return lambda journal: journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:count]))


def cut_in_its_last_line(journal: Path) -> None:
    journal.write_bytes(journal.read_bytes()[:-30])


def emptied_with_its_head(journal: Path) -> None:
    emptied(journal)
    emptied(journal.with_suffix(".head"))


DAMAGES = [emptied, *map(cut_after, range(3)), cut_in_its_last_line, Path.unlink, emptied_with_its_head]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_journal_that_lost_its_end_is_damage_and_stays_as_it_is(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    learned(tmp_path)
    damage(journal_of(tmp_path))
    left = journal_of(tmp_path).read_bytes() if journal_of(tmp_path).exists() else None
    for _ in range(2):
        with pytest.raises(CorruptStoreError, match=r"shop\.jsonl has \d records and lacks record \d.*delete shop\.head"):
            opened(tmp_path)
    assert (journal_of(tmp_path).read_bytes() if journal_of(tmp_path).exists() else None) == left


@pytest.mark.parametrize("damage", [emptied, cut_after(1), cut_in_its_last_line])
def test_a_journal_that_loses_its_end_while_it_is_open_takes_no_more_lines(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    with opened(tmp_path) as alma:
        for number in range(3):
            alma.learn("helena", TASK, "success", f"Way {number}")
        damage(journal_of(tmp_path))
        left = journal_of(tmp_path).read_bytes()
        for call in (lambda: alma.learn("helena", TASK, "success", "More"), lambda: alma.retrieve(TASK, "helena"), alma.verify):
            with pytest.raises(StorageError):
                call()
        assert journal_of(tmp_path).read_bytes() == left


def test_one_of_several_journals_that_was_emptied_is_named(tmp_path: Path) -> None:
    for project in ("shop", "Café/2", "other"):
        with opened(tmp_path, project_id=project) as alma:
            alma.learn("helena", TASK, "success", "Way")
    (odd,) = (tmp_path / "alma.files").glob("Caf*.jsonl")
    odd.write_bytes(b"")
    with pytest.raises(CorruptStoreError, match=odd.name):
        opened(tmp_path)


def test_the_journal_of_another_history_is_damage(tmp_path: Path) -> None:
    learned(tmp_path / "one", 2)
    learned(tmp_path / "two", 3)
    journal_of(tmp_path / "one").write_bytes(journal_of(tmp_path / "two").read_bytes())
    with pytest.raises(CorruptStoreError, match="lacks record 2"):
        opened(tmp_path / "one")


def test_a_journal_that_was_purged_and_then_cut_is_damage(tmp_path: Path) -> None:
    with opened(tmp_path) as alma:
        secret = alma.learn("helena", TASK, "success", "The password is swordfish")
        alma.learn("helena", TASK, "success", "Empty fields first")
        alma.purge([secret.id])
        alma.learn("helena", TASK, "success", "Then the long ones")
    with opened(tmp_path) as alma:
        assert alma.verify().ok
    cut_after(3)(journal_of(tmp_path))
    with pytest.raises(CorruptStoreError, match="lacks record 4"):
        opened(tmp_path)


@pytest.mark.parametrize("noted", [None, b"", b"<<<<<<< ours\n", b"former"], ids=["none", "empty", "a conflict", "older"])
def test_a_journal_without_a_readable_head_is_read_and_guarded_from_then_on(tmp_path: Path, noted: bytes | None) -> None:
    learned(tmp_path, 1)
    former = head_of(tmp_path).read_bytes()
    learned(tmp_path, 2)
    head_of(tmp_path).unlink()
    if noted is not None:
        head_of(tmp_path).write_bytes(former if noted == b"former" else noted)
    with opened(tmp_path) as alma:
        assert alma.get_stats().total == 3
        assert alma.verify().ok
    cut_after(2)(journal_of(tmp_path))
    with pytest.raises(CorruptStoreError, match="lacks record 3"):
        opened(tmp_path)


def test_an_older_state_with_its_head_or_without_one_is_a_state_like_any_other(tmp_path: Path) -> None:
    learned(tmp_path, 1)
    older = {path: path.read_bytes() for path in (journal_of(tmp_path), head_of(tmp_path))}
    learned(tmp_path, 2)
    for kept in (older, {journal_of(tmp_path): older[journal_of(tmp_path)]}):
        head_of(tmp_path).unlink()
        for path, data in kept.items():
            path.write_bytes(data)
        with opened(tmp_path) as alma:
            assert alma.get_stats().total == 1


def test_a_head_that_cannot_be_written_costs_no_call(tmp_path: Path) -> None:
    learned(tmp_path, 1)
    head_of(tmp_path).unlink()
    head_of(tmp_path).symlink_to(tmp_path / "nowhere" / "head")
    with opened(tmp_path) as alma:
        alma.learn("helena", TASK, "success", "Way")
        assert alma.get_stats().total == 2


def test_a_marker_of_a_conflict_at_the_very_end_is_no_torn_line(tmp_path: Path) -> None:
    learned(tmp_path)
    journal_of(tmp_path).write_bytes(journal_of(tmp_path).read_bytes() + b">>>>>>> theirs")
    with pytest.raises(CorruptStoreError, match=r"line 4 is a conflict.*alma import"):
        opened(tmp_path)


def test_an_edit_of_the_same_length_is_noticed_while_the_store_is_open(tmp_path: Path) -> None:
    learned(tmp_path)
    with opened(tmp_path) as alma:
        journal_of(tmp_path).write_bytes(journal_of(tmp_path).read_bytes().replace(b"field 1", b"field 7"))
        with pytest.raises(CorruptStoreError, match="line 2"):
            alma.get_stats()


def test_an_older_state_put_in_place_while_the_store_is_open_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as alma:
        alma.learn("helena", TASK, "success", "First")
        older = journal_of(tmp_path).read_bytes()
        alma.learn("helena", TASK, "success", "Second")
        journal_of(tmp_path).write_bytes(older)
        with pytest.raises(StorageError, match="replaced by another one; open ALMA again"):
            alma.learn("helena", TASK, "success", "Third")
    assert journal_of(tmp_path).read_bytes() == older


def test_a_journal_under_another_name_is_refused(tmp_path: Path) -> None:
    learned(tmp_path)
    (tmp_path / "alma.files" / "copy.jsonl").write_bytes(journal_of(tmp_path).read_bytes())
    with pytest.raises(CorruptStoreError, match=r"copy\.jsonl holds records of project 'shop'"):
        opened(tmp_path)


def test_a_missing_header_is_never_made_anew_beside_journals(tmp_path: Path) -> None:
    learned(tmp_path)
    header = tmp_path / "alma.files" / "store.json"
    header.unlink()
    with pytest.raises(CorruptStoreError, match=r"store\.json is missing, though shop\.jsonl is there"):
        opened(tmp_path)
    assert not header.exists()


@pytest.mark.parametrize("name", ["shop.jsonl", "store.json", "new.jsonl", "cache/lock"])
def test_an_export_never_takes_the_place_of_a_file_of_the_store(tmp_path: Path, name: str) -> None:
    learned(tmp_path)
    before = journal_of(tmp_path).read_bytes()
    with opened(tmp_path) as alma, pytest.raises(ValidationError, match="belongs to a store"):
        alma.export(tmp_path / "alma.files" / name)
    assert journal_of(tmp_path).read_bytes() == before


def test_a_full_disk_is_a_clear_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with opened(tmp_path) as alma, opened(tmp_path) as other:
        alma.learn("helena", TASK, "success", "First")
        before = journal_of(tmp_path).read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr("alma_files.layout.os.fsync", full)
            with pytest.raises(StorageError, match="No space left"):
                alma.learn("helena", TASK, "success", "Second")
        assert journal_of(tmp_path).read_bytes() == before
        assert other.get_stats().total == alma.get_stats().total == 1
        other.learn("helena", TASK, "success", "Third")
        assert alma.get_stats().total == 2
        assert alma.verify().ok


def test_a_write_that_fails_after_its_lines_are_there_takes_them_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise StorageError("the projection is full")

    with opened(tmp_path) as alma:
        alma.learn("helena", TASK, "success", "First")
        before = journal_of(tmp_path).read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(database.FileDatabase, "_warn_if_large", fail)
            with pytest.raises(StorageError, match="is full"):
                alma.learn("helena", TASK, "success", "Second")
        assert journal_of(tmp_path).read_bytes() == before
        assert alma.get_stats().total == 1
        assert alma.verify().ok


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_write_that_is_interrupted_after_its_commit_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_inside: bool
) -> None:
    """Also in the middle of a look of the same thread, as an embedder that learns is."""
    give_back = Connections.give_back

    def interrupt(pool: Connections, connection: Connection) -> None:
        give_back(pool, connection)
        if journal_of(tmp_path).stat().st_size > before:
            patched.undo()
            raise KeyboardInterrupt

    with opened(tmp_path) as alma, opened(tmp_path) as other:
        alma.learn("helena", TASK, "success", "First")
        before = journal_of(tmp_path).stat().st_size
        project = alma.storage.project("shop")
        with monkeypatch.context() as patched, project.moment() if is_inside else nullcontext():
            assert project.head() == 1
            patched.setattr(Connections, "give_back", interrupt)
            with pytest.raises(KeyboardInterrupt), project.write(actor="helena", operation="save", at=1) as write:
                write.put_record("session", "s1", {}, version=0)
        assert other.get_stats().journal_records == alma.get_stats().journal_records == 2
        other.learn("helena", TASK, "success", "Third")
        assert alma.content_hash() == other.content_hash()
        assert alma.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_and_its_parent_go_on_with_one_store(tmp_path: Path) -> None:
    script = """
import os, sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", storage="file", embedding_provider="hash") as alma:
    alma.learn("helena", "Test", "success", "Of the parent")
    child = os.fork()
    if not child:
        alma.learn("helena", "Test", "success", "Of the child")
        os._exit(0 if alma.get_stats().total == 2 else 7)
    assert os.waitpid(child, 0)[1] == 0
    alma.learn("helena", "Test", "success", "Of the parent again")
    assert alma.get_stats().total == 3
    assert alma.verify().ok
"""
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 0
    with opened(tmp_path) as alma:
        assert alma.get_stats().total == 3


def test_threads_that_write_and_read_at_once_lose_nothing(tmp_path: Path) -> None:
    def work(alma: ALMA, name: str) -> None:
        for number in range(15):
            made = alma.learn(name, f"Test {number}", "success", f"Way {number} of {name}")
            assert alma.history(made.id)

    with opened(tmp_path) as one, opened(tmp_path) as two, ThreadPoolExecutor(4) as pool:
        for work_done in [pool.submit(work, alma, f"agent{n}") for n, alma in enumerate((one, one, two, two))]:
            work_done.result()
        assert one.verify().ok
        assert two.verify().ok
    assert len(journal_of(tmp_path).read_bytes().splitlines()) == 60


def test_a_store_that_has_grown_too_large_names_the_way_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database, "MOST_MEMORIES", 2)
    with caplog.at_level(logging.WARNING, "alma"):
        learned(tmp_path, 5)
        assert caplog.text.count("alma migrate") == 1
        caplog.clear()
        with opened(tmp_path) as alma:
            alma.get_stats()
        assert caplog.text.count("alma migrate") == 1


def test_vectors_of_former_embedders_go_with_a_purge(tmp_path: Path) -> None:
    learned(tmp_path)
    with opened(tmp_path) as alma:
        alma.reindex("hash", embedding_dim=64)
        gone = alma.learn("helena", TASK, "success", "The password is swordfish")
        alma.purge([gone.id])
        assert alma.verify().ok
    assert len(list((tmp_path / "alma.files" / "cache").glob("vectors-*.bin"))) == 1
    with opened(tmp_path, embedding_dim=64) as alma:
        assert alma.get_stats().total == 3
        assert alma.verify().ok


def test_an_embedder_that_another_process_replaced_makes_no_more_vectors(tmp_path: Path) -> None:
    learned(tmp_path)
    with opened(tmp_path) as old, opened(tmp_path) as new:
        new.reindex("hash", embedding_dim=64)
        new.learn("helena", TASK, "success", "After the change")
        for path in (tmp_path / "alma.files" / "cache").glob("vectors-*.bin"):
            path.unlink()
        for call in (lambda: old.learn("helena", TASK, "success", "Too late"), lambda: old.retrieve(TASK, "helena")):
            with pytest.raises(StorageError):
                call()
    with opened(tmp_path, embedding_dim=64) as alma:
        assert alma.get_stats().total == 4
        assert alma.verify().ok
        assert "After the change" in str(alma.retrieve(TASK, "helena"))
