"""A backup holds what the store held at one moment, whoever writes meanwhile, and appears whole or not at all."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest
from pytest_mock import MockerFixture

from alma import ALMA, AsyncALMA
from alma.errors import AlmaError, StorageError, ValidationError
from alma.storage.sqlite import files
from damages import fill_whole, open_whole
from facade import ManualClock
from stores import execute, open_alma, rows

WRITER = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop") as alma:
    number = 0
    while True:
        print(alma.learn(sys.argv[2], f"Task {number} of a process that writes", "success", "By hand").id, flush=True)
        number += 1
"""
ONE_MORE = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop") as alma:
    alma.learn("other", "A task of another process " * 40, "success")
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ALMA]:
    (tmp_path / "store").mkdir()
    clock = ManualClock()
    fill_whole(tmp_path / "store", clock)
    with open_whole(tmp_path / "store", clock) as alma:
        yield alma


def restored(backup: Path, folder: Path) -> ALMA:
    """The backup in the place of a store's file."""
    folder.mkdir()
    os.replace(backup, folder / "alma.db")
    return ALMA.open(folder, project_id="shop")


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "store")


def test_what_is_restored_equals_what_was_backed_up(shop: ALMA, tmp_path: Path) -> None:
    found, hashes = shop.retrieve("Test the login form", "helena").ids, {}
    for name in ("shop", "lab"):
        hashes[name] = shop.for_project(name).content_hash()

    report = shop.backup(tmp_path / "copy.db")
    shop.learn("helena", "Come too late", "success")
    assert report.content_hashes == hashes
    assert report.heads == {"shop": shop.get_stats().journal_records - 1, "lab": 2}
    assert (report.path, report.bytes) == (str(tmp_path / "copy.db"), (tmp_path / "copy.db").stat().st_size)
    assert report.pages * 4096 == report.bytes
    with restored(tmp_path / "copy.db", tmp_path / "again") as again:
        assert again.verify().ok
        assert {name: again.for_project(name).content_hash() for name in hashes} == hashes
        assert again.retrieve("Test the login form", "helena").ids == found
        assert again.learn("helena", "Go on from there", "success").id


def test_a_backup_is_for_its_owner_alone_and_leaves_nothing_beside_it(shop: ALMA, tmp_path: Path) -> None:
    shop.backup(tmp_path / "copy.db")

    assert left_in(tmp_path) == ["copy.db"]
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


@pytest.mark.slow
def test_what_others_write_meanwhile_neither_gets_in_nor_makes_it_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PAGES_AT_ONCE", 20)
    steps: list[int] = []

    def told(done: int, _: int) -> None:
        steps.append(done)
        if len(steps) < 4:
            subprocess.run([sys.executable, "-c", ONE_MORE, str(tmp_path / "store")], check=True)

    with open_alma(tmp_path / "store") as alma:
        alma.add_many([])
        alma.learn_many([{"agent": "a", "task": f"Task {n}", "outcome": "success"} for n in range(200)])
        before = alma.content_hash()
        report = alma.backup(tmp_path / "copy.db", progress=told)
        assert (report.heads["shop"], alma.get_stats().journal_records) == (1, 4)
    assert report.content_hashes == {"shop": before}
    assert len(steps) > 4
    assert steps == sorted(set(steps))


@pytest.mark.slow
def test_while_four_processes_write_all_the_time_each_backup_ends_and_holds_every_call_that_had_returned(tmp_path: Path) -> None:
    with open_alma(tmp_path / "store") as alma, ExitStack() as ending:
        writers = [_writer(tmp_path / "store", number, ending) for number in range(4)]
        for number in range(3):
            returned = {line.readline().strip() for line in writers for _ in range(3)}
            report = alma.backup(tmp_path / f"{number}.db")
            with restored(tmp_path / f"{number}.db", tmp_path / str(number)) as copy:
                assert copy.verify().problems == ()
                assert copy.content_hash() == report.content_hashes["shop"]
                assert copy.get_stats().journal_records == report.heads["shop"]
                assert all(copy.get(memory_id).id == memory_id for memory_id in returned)


def _writer(folder: Path, number: int, ending: ExitStack) -> IO[str]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(folder), f"agent{number}"], stdout=subprocess.PIPE, text=True)
    ending.callback(process.wait)
    ending.callback(process.kill)
    assert process.stdout is not None
    return ending.enter_context(process.stdout)


def test_an_existing_file_is_replaced_only_if_that_is_allowed(shop: ALMA, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(ValidationError, match="exists already"):
        shop.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"

    shop.backup(tmp_path / "copy.db", force=True)
    shop.backup(tmp_path / "copy.db", force=True)
    with restored(tmp_path / "copy.db", tmp_path / "again") as again:
        assert again.verify().ok


def test_a_file_that_is_made_meanwhile_is_not_replaced(shop: ALMA, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="exists already"):
        shop.backup(tmp_path / "copy.db", progress=lambda *_: (tmp_path / "copy.db").write_text("mine") and None)
    assert (tmp_path / "copy.db").read_text() == "mine"
    assert left_in(tmp_path) == ["copy.db"]


@pytest.mark.parametrize("name", ["alma.db", "ALMA.db-wal", "alma.db-shm", "x.db-journal", "s.index", "config.yaml"])
def test_nothing_that_a_store_is_made_of_is_ever_written_over(shop: ALMA, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValidationError, match=r"in use|belongs to a store"):
        shop.backup(tmp_path / "store" / name, force=True)
    assert shop.verify().ok


def test_another_store_that_is_open_is_not_written_over(shop: ALMA, tmp_path: Path) -> None:
    with open_alma(tmp_path / "other") as other:
        other.learn("a", "Keep this", "success")
        with pytest.raises(ValidationError, match="in use"):
            shop.backup(tmp_path / "other" / "alma.db", force=True)


@pytest.mark.slow
def test_a_store_that_another_process_has_open_is_not_written_over(shop: ALMA, tmp_path: Path) -> None:
    with ExitStack() as ending:
        _writer(tmp_path / "other", 0, ending).readline()
        with pytest.raises(ValidationError, match="in use"):
            shop.backup(tmp_path / "other" / "alma.db", force=True)


@pytest.mark.slow
def test_a_refused_backup_onto_the_store_leaves_its_locks_alone(tmp_path: Path) -> None:
    with open_alma(tmp_path / "store") as alma:
        alma.learn("a", "First", "success")
        os.link(tmp_path / "store" / "alma.db", tmp_path / "link.db")
        for target in ("store/alma.db", "link.db"):
            with pytest.raises(ValidationError, match="in use"):
                alma.backup(tmp_path / target, force=True)
        subprocess.run([sys.executable, "-c", ONE_MORE, str(tmp_path / "store")], check=True)
        alma.learn("a", "Second", "success")
    with open_alma(tmp_path / "store") as alma:
        assert (alma.get_stats().total, alma.verify().ok) == (3, True)


def test_a_link_is_not_written_through(shop: ALMA, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
    (tmp_path / "elsewhere.db").write_text("mine")
    with pytest.raises(ValidationError, match="link"):
        shop.backup(tmp_path / "link.db", force=True)
    assert (tmp_path / "elsewhere.db").read_text() == "mine"


@pytest.mark.parametrize("target", ["missing/copy.db", "file/copy.db"])
def test_a_path_that_cannot_be_is_a_clear_error(shop: ALMA, tmp_path: Path, target: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"copy\.db cannot be written: No"):
        shop.backup(tmp_path / target)
    assert left_in(tmp_path) == ["file"]


def test_a_folder_that_may_not_be_written_to_is_a_clear_error(shop: ALMA, tmp_path: Path, mocker: MockerFixture) -> None:
    opened = os.open

    def refused(path: object, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *mode)  # type: ignore[arg-type] # as it was given

    mocker.patch("alma.files.os.open", refused)
    with pytest.raises(StorageError, match=r"copy\.db cannot be written: Permission denied"):
        shop.backup(tmp_path / "copy.db")
    assert left_in(tmp_path) == []


FULL = """
import resource, sys
from alma import ALMA, StorageError
with ALMA.open(sys.argv[1], project_id="shop") as alma:
    resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, resource.RLIM_INFINITY))
    try:
        alma.backup(sys.argv[2])
    except StorageError as error:
        print(error)
    print(alma.retrieve("login", "helena").total_items > 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a limit on the size of files is POSIX's")
def test_a_full_disk_is_a_clear_error_and_leaves_nothing(shop: ALMA, tmp_path: Path) -> None:
    shop.close()
    arguments = [sys.executable, "-c", FULL, str(tmp_path / "store"), str(tmp_path / "copy.db")]
    told = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()

    assert "could not be copied to" in told[0]
    assert told[1] == "True"
    assert left_in(tmp_path) == []


class _StoppedError(Exception):
    pass


def test_an_error_of_the_callback_ends_the_backup_and_leaves_nothing(shop: ALMA, tmp_path: Path) -> None:
    def stop(*_: int) -> None:
        raise _StoppedError

    with pytest.raises(_StoppedError):
        shop.backup(tmp_path / "copy.db", progress=stop)
    assert left_in(tmp_path) == []
    assert shop.learn("helena", "Go on", "success").id


def test_a_callback_may_read_and_write(shop: ALMA, tmp_path: Path) -> None:
    before = shop.content_hash()
    report = shop.backup(tmp_path / "copy.db", progress=lambda *_: shop.learn("helena", "Meanwhile", "success") and None)

    assert report.content_hashes["shop"] == before != shop.content_hash()


def test_a_damaged_store_is_backed_up_as_it_is(shop: ALMA, tmp_path: Path) -> None:
    shop.close()
    execute(tmp_path / "store" / "alma.db", "UPDATE memory SET body = X'7B' WHERE row = 1")
    with open_alma(tmp_path / "store", dimension=16) as alma:
        report = alma.backup(tmp_path / "copy.db")

    assert report.content_hashes["shop"] is None
    assert report.content_hashes["lab"]
    assert rows(tmp_path / "copy.db", "SELECT body FROM memory WHERE row = 1") == [(b"{",)]


def test_a_closed_store_is_not_backed_up(shop: ALMA, tmp_path: Path) -> None:
    shop.close()
    with pytest.raises(StorageError, match="was closed"):
        shop.backup(tmp_path / "copy.db")
    assert left_in(tmp_path) == []


def test_a_backup_goes_on_beside_the_event_loop(tmp_path: Path) -> None:
    import asyncio

    async def backed_up() -> dict[str, str | None]:
        async with AsyncALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
            await alma.learn("a", "Deploy", "success")
            return (await alma.backup(tmp_path / "copy.db")).content_hashes

    hashes = asyncio.run(backed_up())
    with restored(tmp_path / "copy.db", tmp_path / "again") as again:
        assert hashes == {"shop": again.content_hash()}


@pytest.mark.parametrize("path", ["", "a\0b", None, 5])
def test_what_is_no_path_is_refused(shop: ALMA, path: str) -> None:
    with pytest.raises(AlmaError) as caught:
        shop.backup(path)
    assert caught.type is ValidationError
