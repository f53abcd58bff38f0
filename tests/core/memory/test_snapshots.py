"""A large store keeps its vectors in a snapshot, which is never trusted: whatever lies there, the answers are the same."""

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from alma import ALMA, MemoryNotFoundError
from alma.memory.index_cache import IndexCache
from alma.memory.opening import open_store
from alma.memory.room import Room
from alma.vectors import SnapshotIdentity
from facade import ManualClock

SIZE = 2_500
QUESTIONS = ("mail disk 77 deploy", "cart 2001", "user form 512 mail", "the newest of all")
WORDS = ("mail", "disk", "cart", "user", "form", "auth", "page")

Answer = list[tuple[str, float]]


def _open(folder: Path, *, snapshot_from: int = 100) -> ALMA:
    """The store, with a snapshot kept from fewer memories on than usual."""
    store = open_store(
        folder,
        db_name="alma.db",
        embedder="hash",
        embedding_dim=16,
        agents=None,
        scoring=None,
        clock=ManualClock(),
    )
    usual = store.room("shop")
    identity = SnapshotIdentity(store.storage.id, "shop", store.texts.fingerprint)
    index = IndexCache(usual.project, identity=identity, path=folder / "shop.index", snapshot_from=snapshot_from)
    room = store.projects["shop"] = Room(store, usual.project, index)
    return ALMA(room)


def _fill(alma: ALMA, word: str = "deploy") -> None:
    alma.learn_many(
        {"agent": "a", "task": f"{word} {WORDS[n % 7]} {WORDS[n // 7 % 7]} {n}", "outcome": n % 2 == 0} for n in range(SIZE)
    )


def _answers(alma: ALMA) -> list[Answer]:
    return [[(item.memory.id, item.score) for item in alma.retrieve(question, "a").recalled] for question in QUESTIONS]


@dataclass(frozen=True)
class Kept:
    folder: Path
    answers: list[Answer]

    @property
    def snapshot(self) -> Path:
        (path,) = self.folder.glob("*.index")
        return path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    with _open(folder) as alma:
        _fill(alma)
        answers = _answers(alma)
    return Kept(folder, answers)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The snapshot of another database, whose project has the same name, size and journal."""
    folder = tmp_path_factory.mktemp("foreign")
    with _open(folder) as alma:
        _fill(alma, "bake")
        _answers(alma)
    (path,) = folder.glob("*.index")
    return path.read_bytes()


@pytest.fixture
def copy(kept: Kept, tmp_path: Path) -> Kept:
    """A copy of the store for one test."""
    shutil.copytree(kept.folder, tmp_path / "copy")
    return Kept(tmp_path / "copy", kept.answers)


def _same(ours: list[Answer], theirs: list[Answer]) -> bool:
    return all(
        [memory for memory, _ in one] == [memory for memory, _ in other]
        and [score for _, score in one] == pytest.approx([score for _, score in other], abs=1e-6)
        for one, other in zip(ours, theirs, strict=True)
    )


@pytest.mark.slow
def test_a_snapshot_of_this_store_is_used_and_answers_the_same(copy: Kept, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _same(_answers(alma), copy.answers)
    assert "not used" not in caplog.text


TAMPERED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "garbage": lambda data: bytes(range(256)) * 4096,
    "half of it": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "one byte more": lambda data: data + b"x",
    "a flipped bit in the vectors": lambda data: data[:-9000] + bytes([data[-9000] ^ 1]) + data[-8999:],
    "a flipped bit in the header": lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    "another magic": lambda data: b"ALMAVEC9" + data[8:],
    "a pickle": lambda data: b"\x80\x04cos\nsystem\n(X\x04\x00\x00\x00exittR.",
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_a_snapshot_that_was_tampered_with_is_ignored(copy: Kept, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    copy.snapshot.write_bytes(TAMPERED[kind](copy.snapshot.read_bytes()))
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _same(_answers(alma), copy.answers)
    assert "is not used" in caplog.text


@pytest.mark.slow
def test_a_snapshot_of_another_database_is_ignored(copy: Kept, foreign: bytes, caplog: pytest.LogCaptureFixture) -> None:
    copy.snapshot.write_bytes(foreign)
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _same(_answers(alma), copy.answers)
    assert "is not used" in caplog.text


def test_without_a_snapshot_or_with_a_folder_in_its_place_the_database_is_read(copy: Kept) -> None:
    path = copy.snapshot
    path.unlink()
    path.mkdir()
    with _open(copy.folder) as alma:
        assert _same(_answers(alma), copy.answers)


def test_a_snapshot_that_cannot_be_written_is_a_warning_only(copy: Kept, caplog: pytest.LogCaptureFixture) -> None:
    path = copy.snapshot
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    alma = _open(copy.folder)
    _answers(alma)
    alma.close()
    assert "was not written" in caplog.text
    assert list(copy.folder.glob(".*.tmp")) == []


def test_what_was_learned_after_the_snapshot_is_found_too(copy: Kept) -> None:
    data = copy.snapshot.read_bytes()
    with _open(copy.folder) as alma:
        newest = alma.learn("a", "the newest of all", "success")
        _answers(alma)
    copy.snapshot.write_bytes(data)
    with _open(copy.folder) as alma:
        assert alma.retrieve("the newest of all", "a").ids[0] == newest.id


def test_a_snapshot_that_is_newer_than_a_restored_database_is_ignored(copy: Kept, kept: Kept) -> None:
    with _open(copy.folder) as alma:
        alma.learn("a", "the newest of all", "success")
        _answers(alma)
    shutil.copy(kept.folder / "alma.db", copy.folder / "alma.db")
    for name in ("alma.db-wal", "alma.db-shm"):
        (copy.folder / name).unlink(missing_ok=True)
    with _open(copy.folder) as alma:
        assert _same(_answers(alma), copy.answers)


def test_a_small_store_keeps_no_snapshot(tmp_path: Path) -> None:
    with _open(tmp_path, snapshot_from=2) as alma:
        alma.learn("a", "a task", "success")
        _answers(alma)
    assert list(tmp_path.glob("*.index")) == []


@pytest.mark.slow
def test_a_snapshot_that_cannot_be_deleted_is_a_warning_and_told_by_the_receipt(
    copy: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    path = copy.snapshot
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    with _open(copy.folder) as alma:
        learned = alma.learn("a", "the newest of all", "success")
        receipt = alma.purge([learned.id]).receipt
        assert alma.compact().snapshots_deleted == 0
        assert receipt is not None
        (told,) = [surface for surface in receipt.surfaces if surface.name == "vector snapshot"]
        assert (told.found, told.done) == (1, "could not be deleted, see the log; delete it yourself")
        assert f"{path} could not be deleted" in caplog.text
        with pytest.raises(MemoryNotFoundError):
            alma.get(learned.id)


def test_a_project_that_is_opened_while_the_store_closes_does_not_stop_it(tmp_path: Path) -> None:
    class Slow(IndexCache):
        def save(self) -> None:
            store.room("another")
            super().save()

    alma = _open(tmp_path)
    store = alma._store
    room = store.room("shop")
    identity = SnapshotIdentity(store.storage.id, "shop", store.texts.fingerprint)
    room.index = Slow(room.project, identity=identity, path=tmp_path / "shop.index")
    alma.close()
    assert set(store.projects) == {"shop", "another"}
