"""A snapshot is whole, its own and not too new, or it is not used; whatever the file holds, loading it never raises."""

import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import folders
from alma.types.identity import Fingerprint
from alma.vectors import SnapshotIdentity, load, save

Make = Callable[..., Any]

FINGERPRINT = Fingerprint(model="m", revision="1", dimension=8, precision="float32", token_limit=256, preparation="none")
IDENTITY = SnapshotIdentity("0190-database", "project ü", FINGERPRINT, "partition 5")
UPTO, HEAD = 7, "a1" * 32


def head_at(seq: int) -> str:
    """A journal of which one record is there."""
    return HEAD if seq == UPTO else ""


def arrays(count: int = 31) -> dict[str, Any]:
    places = np.arange(count)
    return {
        "keys": places * 1_000_003,
        "slots": places.astype(np.int32),
        "lengths": (places / 2).astype(np.float32),
        "is_own": places % 2 == 0,
        "codes": (places % 251).astype(np.uint8),
        "none": places[:0],
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.snapshot"
    save(arrays(), path, IDENTITY, upto=UPTO, head=HEAD)
    return path


def loaded(
    path: Path,
    identity: SnapshotIdentity = IDENTITY,
    *,
    newest: int = UPTO,
    head: Callable[[int], str] = head_at,
    wanted: tuple[int, ...] = (),
) -> Any:
    return load(path, identity, newest=newest, head_at=head, wanted=wanted)


def test_what_was_saved_is_loaded(path: Path) -> None:
    upto, found = loaded(path)
    assert upto == UPTO
    assert set(found) == set(arrays())
    for name, array in arrays().items():
        assert found[name].dtype == array.dtype
        assert found[name].tolist() == array.tolist()


def test_what_was_loaded_does_not_depend_on_the_file(path: Path) -> None:
    _, found = loaded(path)
    path.write_bytes(b"")
    assert found["keys"].tolist() == arrays()["keys"].tolist()


def test_a_missing_snapshot_is_none_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="alma"):
        assert loaded(tmp_path / "nothing") is None
        assert loaded(tmp_path) is None
        assert loaded(tmp_path / "no" / "folder") is None
    assert [record.levelname for record in caplog.records] == ["INFO"] * 3
    assert "there is none" in caplog.messages[0]


@pytest.mark.parametrize(
    "foreign",
    [
        replace(IDENTITY, database="another"),
        replace(IDENTITY, project="another"),
        replace(IDENTITY, fingerprint=FINGERPRINT.model_copy(update={"revision": "2"})),
        replace(IDENTITY, fingerprint=FINGERPRINT.model_copy(update={"dimension": 4})),
        replace(IDENTITY, content="partition 6"),
    ],
)
def test_a_foreign_snapshot_is_not_used(path: Path, foreign: SnapshotIdentity, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="alma"):
        assert loaded(path, foreign) is None
    assert "of another database" in caplog.text


def test_a_snapshot_newer_than_the_database_is_not_used(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="alma"):
        assert loaded(path, newest=6) is None
    assert "newer than the database: 7 > 6" in caplog.text


@pytest.mark.slow
def test_a_snapshot_cut_anywhere_is_not_used(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert loaded(path) is None, length


def test_a_snapshot_with_something_behind_it_is_not_used(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")
    assert loaded(path) is None


def test_a_snapshot_that_was_stretched_is_not_read(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.truncate(path, 1 << 43)  # takes no disk
    with caplog.at_level(logging.INFO, logger="alma"):
        assert loaded(path) is None
    assert "bytes long, and should be" in caplog.text


@pytest.mark.slow
def test_one_flipped_bit_in_any_byte_is_noticed(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    for place in range(len(whole)):
        whole[place] ^= 1 << place % 8
        path.write_bytes(whole)
        assert loaded(path, newest=10**12, head=lambda _: HEAD) is None, place
        whole[place] ^= 1 << place % 8


def test_garbage_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "garbage"

    @settings(max_examples=300, deadline=None)
    @given(
        head=st.sampled_from([b"", b"ALMAVEC4", b"ALMAVEC4" + bytes(32), b"ALMAVEC4" + bytes(56)]), tail=st.binary(max_size=300)
    )
    def never_raises(head: bytes, tail: bytes) -> None:
        path.write_bytes(head + tail)
        assert loaded(path) is None

    never_raises()


def test_a_snapshot_of_another_history_is_not_used(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """After a backup was restored, the journal has another record of the same number."""
    with caplog.at_level(logging.INFO, logger="alma"):
        assert loaded(path, head=lambda _: "b2" * 32) is None
        assert loaded(path, head=lambda _: "") is None
    assert caplog.text.count("its checksum is wrong") == 2


def test_who_does_not_know_the_journal_can_make_no_snapshot(path: Path) -> None:
    for head in ("", "b2" * 32, IDENTITY.database):
        save(arrays(), path, IDENTITY, upto=UPTO, head=head)
        assert loaded(path) is None
    assert HEAD.encode() not in path.read_bytes()


def test_a_snapshot_of_other_partitions_is_not_read(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save({**arrays(), "held": np.array([3, 5])}, path, IDENTITY, upto=UPTO, head=HEAD)
    caplog.set_level("INFO", logger="alma")
    found = [loaded(path, wanted=asked) for asked in ((), (5, 9), (4,))]
    assert [each is None for each in found] == [False, False, True]
    assert "none of the partitions [4]" in caplog.text


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.mkfifo(path := tmp_path / "vectors.snapshot")
    with caplog.at_level(logging.INFO, logger="alma"):
        assert loaded(path) is None
    assert "no ordinary file" in caplog.text


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "sprung"),)

    (tmp_path / "s").write_bytes(pickle.dumps(Trap()))
    assert loaded(tmp_path / "s") is None
    assert not (tmp_path / "sprung").exists()


def test_a_save_that_fails_leaves_the_former_snapshot_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="No space left"):
            save(arrays(40), path, IDENTITY, upto=8, head=HEAD)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_file_is_synced_before_it_gets_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (events.append("sync"), sync(descriptor))[1])
    monkeypatch.setattr(os, "replace", lambda old, new: (events.append("rename"), rename(old, new))[1])
    save(arrays(), path, IDENTITY, upto=UPTO, head=HEAD)
    assert events == ["sync", "rename", "sync"]


@pytest.mark.slow
def test_processes_that_save_at_once_leave_one_whole_snapshot(path: Path) -> None:
    code = """
import sys
from pathlib import Path
import numpy as np
from alma.types.identity import Fingerprint
from alma.vectors import SnapshotIdentity, load, save
path, upto = Path(sys.argv[1]), int(sys.argv[2])
fingerprint = Fingerprint(model="m", revision="1", dimension=8, precision="float32", token_limit=256, preparation="none")
identity = SnapshotIdentity("0190-database", "project \\u00fc", fingerprint, "partition 5")
for _ in range(40):
    save({"keys": np.arange(1000 * upto)}, path, identity, upto=upto, head=f"{upto}")
    found = load(path, identity, newest=100, head_at=str)
    assert found is not None and len(found[1]["keys"]) == 1000 * found[0], found
"""
    savers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(upto)]) for upto in (11, 12, 13)]
    assert [saver.wait(timeout=120) for saver in savers] == [0, 0, 0]
    upto, _ = loaded(path, newest=100, head=str)
    assert upto in (11, 12, 13)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
def test_a_process_killed_while_saving_leaves_the_former_snapshot(path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
import numpy as np
from alma.types.identity import Fingerprint
from alma.vectors import SnapshotIdentity, save
fingerprint = Fingerprint(model="m", revision="1", dimension=8, precision="float32", token_limit=256, preparation="none")
identity = SnapshotIdentity("0190-database", "project \\u00fc", fingerprint, "partition 5")
setattr(os, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
save({"keys": np.arange(9)}, Path(sys.argv[1]), identity, upto=8, head="a1")
"""
    before = path.read_bytes()
    for step in ("fsync", "replace"):
        assert subprocess.run([sys.executable, "-c", code, str(path), step], check=False).returncode == -9
        assert path.read_bytes() == before
    assert loaded(path) is not None


def test_what_a_killed_process_left_is_cleared_away_and_nothing_that_may_be_in_the_making(tmp_path: Path) -> None:
    path = tmp_path / "vectors[1].snapshot"
    left, other = tmp_path / f".{path.name}.a.tmp", tmp_path / ".vectors1.snapshot.c.tmp"
    for file in (left, other):
        file.touch()
    with folders.making_in(tmp_path):  # as another process that saves does
        save(arrays(), path, IDENTITY, upto=UPTO, head=HEAD)
        assert sorted(tmp_path.iterdir()) == sorted([path, left, other])
    save(arrays(), path, IDENTITY, upto=UPTO, head=HEAD)
    assert sorted(tmp_path.iterdir()) == sorted([path, other])


def test_only_the_owner_may_read_a_snapshot(path: Path) -> None:
    assert os.name == "nt" or path.stat().st_mode & 0o077 == 0
