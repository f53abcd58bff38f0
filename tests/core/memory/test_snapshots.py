"""A large store keeps its vectors in a snapshot, which is never trusted: whatever lies there, the answers are the same."""

import errno
import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from alma import ALMA, MemoryNotFoundError
from alma.memory import index_cache
from alma.memory.index_cache import IndexCache, SnapshotFiles
from alma.memory.opening import open_store
from alma.memory.room import OpenStore, Room, SearchSizes
from alma.protocols import Snapshotable, Store
from alma.vectors import SnapshotIdentity
from alma.vectors.index import QUIET_SEARCHES
from facade import ManualClock

SIZE = 2_500
QUESTIONS = ("mail disk 77 deploy", "cart 2001", "user form 512 mail", "the newest of all")
WORDS = ("mail", "disk", "cart", "user", "form", "auth", "page")

Answer = list[tuple[str, float]]


def _store(folder: Path) -> OpenStore:
    return open_store(
        folder,
        db_name="alma.db",
        embedder="hash",
        embedding_dim=384,
        agents=None,
        scoring=None,
        clock=ManualClock(),
        sizes=SearchSizes(hits=8),
    )


def _identity(store: Store) -> SnapshotIdentity:
    return SnapshotIdentity(store.id, "shop", store.fingerprint)


def _open(folder: Path, *, codes_above: int = 100, keeps_snapshots: bool = True) -> ALMA:
    """The store, with snapshots of smaller kinds than usual."""
    store = _store(folder)
    project = store.storage.project("shop")
    index = IndexCache(
        project,
        identity=_identity(store.storage),
        path=folder / "shop.index",
        codes_above=codes_above,
        wide_up_to=codes_above,
        keeps_snapshots=keeps_snapshots,
    )
    room = store.projects["shop"] = Room(store, project, index)
    return ALMA(room)


def _fill(alma: ALMA, word: str = "deploy") -> None:
    alma.learn_many(
        {"agent": "a", "task": f"{word} {WORDS[n % 7]} {WORDS[n // 7 % 7]} {n} x{n} y{n} z{n}", "outcome": n % 2 == 0}
        for n in range(SIZE)
    )


def _answers(alma: ALMA) -> list[Answer]:
    return [[(item.memory.id, item.score) for item in alma.retrieve(question, "a").recalled] for question in QUESTIONS]


@dataclass(frozen=True)
class Kept:
    folder: Path
    answers: list[Answer]

    @property
    def snapshots(self) -> list[Path]:
        """That of the outcomes, and that of the lengths of texts."""
        found = sorted(self.folder.glob("*.index"))
        assert [path.name.split(".")[1] == "texts" for path in found] == [False, True]
        return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    with _open(folder) as alma:
        _fill(alma)
        answers = _answers(alma)
    return Kept(folder, answers)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """A snapshot of another database, whose project has the same name, size and journal."""
    folder = tmp_path_factory.mktemp("foreign")
    with _open(folder) as alma:
        _fill(alma, "bake")
        _answers(alma)
    return [path.read_bytes() for path in sorted(folder.glob("*.index"))]


@pytest.fixture
def copy(kept: Kept, tmp_path: Path) -> Kept:
    """A copy of the store for one test."""
    shutil.copytree(kept.folder, tmp_path / "copy")
    return Kept(tmp_path / "copy", kept.answers)


def _not_used(caplog: pytest.LogCaptureFixture) -> int:
    return caplog.text.count("is not used")


def _count_reads(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the vectors that are read from the database from now on."""
    read: list[int] = []
    project = type(alma.storage.project("shop"))
    for name, count in (("vectors_at", lambda found: len(found[0])), ("vectors_in", None), ("changes", None)):
        usual = getattr(project, name)

        def counting(self: Any, *given: Any, usual: Any = usual, count: Any = count, **named: Any) -> Any:
            if count is not None:
                found = usual(self, *given, **named)
                read.append(count(found))
                return found
            return (read.append(len(each.passages)) or each for each in usual(self, *given, **named))

        monkeypatch.setattr(project, name, counting)
    return read


@pytest.mark.slow
def test_a_new_process_answers_the_same_and_reads_few_vectors(
    copy: Kept, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        read = _count_reads(alma, monkeypatch)
        alma.retrieve(QUESTIONS[0], "a")
        assert 0 < sum(read) < SIZE * 2 // 3  # a thousand of them are the sample
        assert _answers(alma) == copy.answers
    assert not _not_used(caplog)


@pytest.mark.slow
def test_answers_are_those_without_snapshots(copy: Kept) -> None:
    with _open(copy.folder, keeps_snapshots=False) as alma:
        assert _answers(alma) == copy.answers


TAMPERED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "garbage": lambda data: bytes(range(256)) * 4096,
    "half of it": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "one byte more": lambda data: data + b"x",
    "a flipped bit in the arrays": lambda data: data[:-9000] + bytes([data[-9000] ^ 1]) + data[-8999:],
    "a flipped last bit": lambda data: data[:-1] + bytes([data[-1] ^ 128]),
    "a flipped bit in the header": lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    "another magic": lambda data: b"ALMAVEC9" + data[8:],
    "a pickle": lambda data: b"\x80\x04cos\nsystem\n(X\x04\x00\x00\x00exittR.",
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_snapshots_that_were_tampered_with_are_ignored_and_written_anew(
    copy: Kept, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    for path in copy.snapshots:
        path.write_bytes(TAMPERED[kind](path.read_bytes()))
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers
    assert _not_used(caplog)
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers
    assert not _not_used(caplog)


@pytest.mark.slow
def test_damage_in_any_part_of_a_snapshot_is_noticed(copy: Kept) -> None:
    with _open(copy.folder) as alma:
        vectors, texts = copy.snapshots
        for path, what_is_left in ((vectors, (False, False)), (texts, (True, False))):
            whole = path.read_bytes()
            places = [*range(0, 1_100, 3), *range(1_100, len(whole), len(whole) // 400)]
            for place in places:
                path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
                assert _loaded(alma.storage, copy.folder) == what_is_left, place
                path.write_bytes(whole[:place])
                assert _loaded(alma.storage, copy.folder) == what_is_left, place
            path.write_bytes(whole)
            assert _loaded(alma.storage, copy.folder) == (True, True)


def _loaded(store: Store, folder: Path) -> tuple[bool, bool]:
    """Whether a process gets the vectors of the outcomes from their snapshot, and with them the lengths of the texts."""
    project = store.project("shop")
    assert isinstance(project, Snapshotable)
    found = SnapshotFiles(project, _identity(store), folder / "shop.index").load_kind("outcome", project.head())
    return found is not None, project.text_lengths().upto > 0


@pytest.mark.slow
def test_snapshots_of_another_database_are_ignored(copy: Kept, foreign: list[bytes], caplog: pytest.LogCaptureFixture) -> None:
    for path, data in zip(copy.snapshots, foreign, strict=True):
        path.write_bytes(data)
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers
    assert _not_used(caplog)


def test_snapshots_that_changed_places_are_ignored(copy: Kept, caplog: pytest.LogCaptureFixture) -> None:
    one, other = copy.snapshots
    texts = other.read_bytes()
    other.write_bytes(one.read_bytes())
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers
    assert _not_used(caplog) == 1
    copy.snapshots[0].write_bytes(texts)
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers
    assert _not_used(caplog) == 1


def test_without_snapshots_or_with_folders_in_their_place_the_database_is_read(copy: Kept) -> None:
    for path in copy.snapshots:
        path.unlink()
        path.mkdir()
    with _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers


def test_a_purge_whose_folder_cannot_be_listed_is_done_and_says_that_snapshots_stay(
    copy: Kept, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_descriptor(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with _open(copy.folder) as alma:
        victim = alma.list_memories(limit=1)[0]
        with monkeypatch.context() as patched:
            patched.setattr(Path, "glob", no_descriptor)
            receipt = alma.purge([victim.id]).receipt
        assert receipt is not None
        assert [surface.done for surface in receipt.surfaces if surface.name == "vector snapshot"] == [
            "could not be deleted, see the log; delete it yourself"
        ]
        assert "snapshots in it stay: Too many open files" in caplog.text
        assert alma.verify().ok


def test_a_snapshot_that_cannot_be_written_is_a_warning_only(copy: Kept, caplog: pytest.LogCaptureFixture) -> None:
    path, _ = copy.snapshots
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    alma = _open(copy.folder)
    _answers(alma)
    alma.close()
    assert "was not written" in caplog.text
    assert list(copy.folder.glob(".*.tmp")) == []


HISTORIES: dict[str, Callable[[ALMA], object]] = {
    "learning": lambda alma: alma.learn_many({"agent": "a", "task": f"mail disk {n}", "outcome": True} for n in range(300)),
    "forgetting": lambda alma: alma.forget(memory_ids=_first(alma, 40)),
    "purging": lambda alma: alma.purge(_first(alma, 40)),
    "undoing": lambda alma: alma.undo(alma.get_stats().journal_records - 1),
    "undoing what was forgotten": lambda alma: (
        alma.forget(memory_ids=_first(alma, 40)),
        alma.undo(alma.get_stats().journal_records - 1),
    ),
}


def _first(alma: ALMA, count: int) -> list[str]:
    found = [memory_id for question in QUESTIONS for memory_id in alma.retrieve(question, "a", top_k=count).ids]
    return list(dict.fromkeys(found))[:count]


@pytest.mark.slow
@pytest.mark.parametrize("what", HISTORIES)
def test_an_older_snapshot_is_caught_up_with_or_ignored(copy: Kept, what: str) -> None:
    """Whatever came after it, also if it deletes the snapshots and something puts the former ones back."""
    older = {path: path.read_bytes() for path in copy.snapshots}
    with _open(copy.folder) as alma:
        if what == "undoing":
            alma.learn_many({"agent": "a", "task": f"mail form {n}", "outcome": True} for n in range(50))
        HISTORIES[what](alma)
    for path, data in older.items():
        path.write_bytes(data)
    with _open(copy.folder) as alma, _open(copy.folder, keeps_snapshots=False) as plain:
        answers = _answers(alma)
        assert answers == _answers(plain)
        assert alma.verify().ok
    with _open(copy.folder) as alma:
        assert _answers(alma) == answers


@pytest.mark.slow
def test_what_another_process_purges_while_a_snapshot_is_written_is_in_none(copy: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = index_cache.save
    alma, other = _open(copy.folder), _open(copy.folder)
    (gone,) = alma.retrieve(QUESTIONS[0], "a", top_k=1).ids
    row = alma.storage.project("shop").find([gone])[gone].memory
    assert all(np.array([row]).tobytes() in path.read_bytes() for path in copy.snapshots)
    other.retrieve(QUESTIONS[0], "a")
    other.learn_many({"agent": "a", "task": f"mail disk {n}", "outcome": True} for n in range(200))

    def save(*given: Any, **named: Any) -> None:
        if not purged:
            purged.append(alma.purge([gone]))
        usual(*given, **named)

    purged: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(index_cache, "save", save)
        other.close()
    assert purged
    left = list(copy.folder.glob("*.index"))
    assert [path.name for path in left] == ["shop.texts.index"]  # written after the purge
    assert np.array([row]).tobytes() not in left[0].read_bytes()
    alma.close()
    assert copy.snapshots


def test_snapshots_that_another_process_deleted_are_written_again(copy: Kept) -> None:
    with _open(copy.folder) as alma:
        _answers(alma)
        for path in copy.snapshots:
            path.unlink()
    assert copy.snapshots


@pytest.mark.slow
def test_one_of_several_copies_leaves_and_comes_beside_a_snapshot(tmp_path: Path) -> None:
    def say(alma: ALMA, times: int) -> list[str]:
        said = [{"agent": "a", "task": "mail disk 77 deploy", "outcome": True, "strategy_used": "wait"}] * times
        return [outcome.id for outcome in alma.learn_many(said)]

    def seen(alma: ALMA) -> list[tuple[str, int, float]]:
        return [(item.memory.id, item.copies, item.score) for item in alma.retrieve(QUESTIONS[0], "a").recalled]

    with _open(tmp_path) as alma:
        _fill(alma)
        copies = say(alma, 6)
        seen(alma)
    with _open(tmp_path) as alma, _open(tmp_path, keeps_snapshots=False) as plain:
        assert seen(alma) == seen(plain)
        assert max(count for _, count, _ in seen(alma)) >= 6
        for change in (
            lambda: alma.forget(memory_ids=copies[-1:]),
            lambda: alma.purge(copies[:1]),
            lambda: say(alma, 2),
            lambda: alma.purge(copies[1:4]),
        ):
            change()
            assert seen(alma) == seen(plain)


def test_a_copy_keeps_its_vector_when_another_process_purges_the_newer_one_while_vectors_are_read(tmp_path: Path) -> None:
    tasks = [f"special{number} thing{number * 7} number{number}" for number in range(20)]
    with _open(tmp_path) as alma:
        _fill(alma)
        newer = [alma.learn_many([{"agent": "a", "task": task, "outcome": True}] * 2)[1].id for task in tasks]
        alma.retrieve(QUESTIONS[0], "a")
    with _open(tmp_path) as alma, _open(tmp_path) as other:
        alma.retrieve(QUESTIONS[0], "a")
        other.purge(newer)
        _fetched_to_the_end(alma)
        with _open(tmp_path, keeps_snapshots=False) as plain:
            assert [_scores(alma, task) for task in tasks] == [_scores(plain, task) for task in tasks]


def _fetched_to_the_end(alma: ALMA) -> None:
    """Has the vectors of a kind from a snapshot read, as another thread does after some searches."""
    for _ in range(QUIET_SEARCHES + 1):
        alma.retrieve(QUESTIONS[1], "a")


def _scores(alma: ALMA, task: str) -> list[tuple[str, float]]:
    return [(item.memory.id, item.score) for item in alma.retrieve(task, "a").recalled]


def test_few_changes_do_not_write_a_snapshot_again_and_many_do(copy: Kept) -> None:
    before = [path.read_bytes() for path in copy.snapshots]
    with _open(copy.folder) as alma:
        alma.learn("a", "the newest of all", "success")
        _answers(alma)
    assert [path.read_bytes() for path in copy.snapshots] == before
    with _open(copy.folder) as alma:
        alma.learn_many({"agent": "a", "task": f"mail disk {n}", "outcome": True} for n in range(200))
        _answers(alma)
    assert [path.read_bytes() == data for path, data in zip(copy.snapshots, before, strict=True)] == [False, False]


def test_a_reader_of_another_kind_reads_no_snapshot(copy: Kept, caplog: pytest.LogCaptureFixture) -> None:
    for path in copy.snapshots:
        path.write_bytes(b"no snapshot")
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        alma.add_domain_knowledge("b", "notes", "The mail form is on disk 77")
        assert [item.memory.agent for item in alma.retrieve(QUESTIONS[0], "b").recalled] == ["b"]
    assert not _not_used(caplog)


def test_a_small_reader_takes_nothing_of_a_snapshot_of_other_agents(copy: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    with _open(copy.folder) as alma:
        alma.learn("b", "Send the mail form from disk 77", "success")
    with _open(copy.folder) as alma:
        read = _count_reads(alma, monkeypatch)
        assert [item.memory.agent for item in alma.retrieve(QUESTIONS[0], "b").recalled] == ["b"]
        assert sum(read) == 1
    with _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers


def test_what_another_process_saved_stays_in_the_snapshot_of_a_kind(copy: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [{"agent": "b", "task": f"bake {WORDS[n % 7]} {n}", "outcome": True} for n in range(300)]
    with _open(copy.folder) as alma:
        alma.learn_many(tasks)
    with _open(copy.folder) as alma:
        of_b = alma.retrieve("bake mail 7", "b").ids
    with _open(copy.folder) as alma:
        read = _count_reads(alma, monkeypatch)
        assert _answers(alma) == copy.answers
        assert alma.retrieve("bake mail 7", "b").ids == of_b
        assert sum(read) < SIZE


def test_what_was_learned_after_the_snapshot_is_found_too(copy: Kept) -> None:
    with _open(copy.folder) as alma:
        newest = alma.learn("a", "the newest of all", "success")
    with _open(copy.folder) as alma:
        assert alma.retrieve("the newest of all", "a").ids[0] == newest.id


def test_snapshots_that_are_newer_than_a_restored_database_are_ignored(
    copy: Kept, kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    with _open(copy.folder) as alma:
        alma.learn_many({"agent": "a", "task": f"mail disk {n}", "outcome": True} for n in range(200))
        _answers(alma)
    shutil.copy(kept.folder / "alma.db", copy.folder / "alma.db")
    for name in ("alma.db-wal", "alma.db-shm"):
        (copy.folder / name).unlink(missing_ok=True)
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers
    assert "newer than the database" in caplog.text


@pytest.mark.slow
def test_snapshots_of_another_history_of_the_database_are_ignored(
    copy: Kept, kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    """A backup was restored, and as many records were written since as there are in the snapshot."""
    for _ in range(2):
        with _open(copy.folder) as alma:
            alma.learn_many({"agent": "a", "task": f"cart user {n}", "outcome": True} for n in range(200))
            _answers(alma)
    snapshots = {path.name: path.read_bytes() for path in copy.snapshots}
    shutil.rmtree(copy.folder)
    shutil.copytree(kept.folder, copy.folder)
    for _ in range(2):
        with _open(copy.folder) as alma:
            alma.learn_many({"agent": "a", "task": f"mail disk {n}", "outcome": True} for n in range(200))
    for name, data in snapshots.items():
        (copy.folder / name).write_bytes(data)
    with caplog.at_level(logging.INFO, logger="alma"), _open(copy.folder) as alma:
        answers = _answers(alma)
    assert "of another history" in caplog.text
    with _open(copy.folder, keeps_snapshots=False) as alma:
        assert answers == _answers(alma)


def test_the_snapshot_of_a_former_version_is_deleted(copy: Kept) -> None:
    former = copy.folder / "shop.index"
    former.write_bytes(b"ALMAVEC1 and all vectors")
    with _open(copy.folder) as alma:
        assert _answers(alma) == copy.answers
    assert not former.exists()


def test_purging_deletes_drafts_that_killed_writers_left(copy: Kept) -> None:
    drafts = [copy.folder / f".shop.{content}.index.abc.tmp" for content in ("1", "texts")]
    for draft in drafts:
        draft.write_bytes(b"half a snapshot")
    with _open(copy.folder) as alma:
        alma.purge(_first(alma, 1))
        assert not any(draft.exists() for draft in drafts)


def test_a_small_store_keeps_no_snapshot(tmp_path: Path) -> None:
    with _open(tmp_path, codes_above=2) as alma:
        alma.learn("a", "a task", "success")
        _answers(alma)
    assert list(tmp_path.glob("*.index")) == []


@pytest.mark.slow
def test_a_snapshot_that_cannot_be_deleted_is_a_warning_and_told_by_the_receipt(
    copy: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    path, _ = copy.snapshots
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

    store = _store(tmp_path)
    project = store.storage.project("shop")
    index = Slow(project, identity=_identity(store.storage), path=tmp_path / "shop.index")
    store.projects["shop"] = Room(store, project, index)
    store.close()
    assert set(store.projects) == {"shop", "another"}
