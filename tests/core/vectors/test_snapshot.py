"""A snapshot is whole, its own and not too new, or it is not used; whatever the file holds, loading it never raises."""

import json
import logging
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import folders
from alma.types.embedding import Fingerprint
from alma.vectors import ProjectIndex, SnapshotIdentity, load, save

Make = Callable[..., Any]

FINGERPRINT = Fingerprint(model="m", revision="1", dimension=8, precision="float32", token_limit=256, preparation="none")
IDENTITY = SnapshotIdentity("0190-database", "project ü", FINGERPRINT)
PREFIX = 8 + 32 + 4


@pytest.fixture
def index(make_changes: Make, unit_vectors: Make) -> ProjectIndex:
    index = ProjectIndex(8)
    index.apply(make_changes(1, unit_vectors(30), partitions=np.arange(30) % 3, is_own=np.arange(30) % 2 == 0))
    index.apply(make_changes(7, unit_vectors(3, seed=2), first=40, removed=[4, 5]))
    return index


@pytest.fixture
def path(index: ProjectIndex, tmp_path: Path) -> Path:
    path = tmp_path / "vectors.snapshot"
    save(index, path, IDENTITY)
    return path


def answers(index: ProjectIndex) -> list[Any]:
    query = np.arange(8, dtype=np.float32)
    found = index.search(query, partitions=[0, 1, 2], limit=40)
    sample, count = index.sample(partitions=[0, 1, 2], all_up_to=50, otherwise=5)
    columns = (found.passages, found.memories, found.partitions, found.ties, found.is_own, found.scores, sample)
    return [index.upto, len(index), count, *(column.tolist() for column in columns)]


def sealed(header: bytes, payload: bytes) -> bytes:
    """A file with a right checksum, whatever it holds."""
    body = struct.pack("<I", len(header)) + header + payload
    return b"ALMAVEC1" + blake2b(body, digest_size=32).digest() + body


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[PREFIX - 4 : PREFIX])
    return json.loads(data[PREFIX : PREFIX + length]), data[PREFIX + length :]


def test_a_loaded_index_answers_like_the_saved_one(index: ProjectIndex, path: Path, make_changes: Make) -> None:
    loaded = load(path, IDENTITY, newest=7)
    assert loaded is not None
    assert answers(loaded) == answers(index)
    for either in (index, loaded):
        either.apply(make_changes(8, np.eye(8), first=50, removed=[1, 40]))
    assert answers(loaded) == answers(index)


def test_a_flat_index_is_saved_and_loaded_too(make_changes: Make, unit_vectors: Make, tmp_path: Path) -> None:
    index = ProjectIndex(8)
    index.apply(make_changes(3, unit_vectors(20_500), partitions=np.arange(20_500) % 3))
    save(index, tmp_path / "s", IDENTITY)
    loaded = load(tmp_path / "s", IDENTITY, newest=3)
    assert loaded is not None
    assert answers(loaded) == answers(index)


def test_an_empty_index_is_saved_and_loaded_too(tmp_path: Path) -> None:
    save(ProjectIndex(8), tmp_path / "s", IDENTITY)
    loaded = load(tmp_path / "s", IDENTITY, newest=0)
    assert loaded is not None
    assert (loaded.upto, len(loaded)) == (0, 0)


def test_a_missing_snapshot_is_none_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="alma"):
        assert load(tmp_path / "nothing", IDENTITY, newest=9) is None
        assert load(tmp_path, IDENTITY, newest=9) is None
        assert load(tmp_path / "no" / "folder", IDENTITY, newest=9) is None
    assert [record.levelname for record in caplog.records] == ["INFO"] * 3
    assert "there is none" in caplog.messages[0]


@pytest.mark.parametrize(
    ("foreign", "word"),
    [
        (replace(IDENTITY, database="another"), "database"),
        (replace(IDENTITY, project="another"), "project"),
        (replace(IDENTITY, fingerprint=FINGERPRINT.model_copy(update={"revision": "2"})), "fingerprint"),
        (replace(IDENTITY, fingerprint=FINGERPRINT.model_copy(update={"dimension": 4})), "fingerprint"),
    ],
)
def test_a_foreign_snapshot_is_not_used(
    path: Path, foreign: SnapshotIdentity, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="alma"):
        assert load(path, foreign, newest=7) is None
    assert f"its {word} is" in caplog.text


def test_a_snapshot_newer_than_the_database_is_not_used(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="alma"):
        assert load(path, IDENTITY, newest=6) is None
    assert "newer than the database: 7 > 6" in caplog.text


@pytest.mark.slow
def test_a_snapshot_cut_anywhere_is_not_used(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert load(path, IDENTITY, newest=7) is None, length


def test_a_snapshot_with_something_behind_it_is_not_used(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")
    assert load(path, IDENTITY, newest=7) is None


@pytest.mark.slow
def test_one_flipped_bit_in_any_byte_is_noticed(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    for place in range(len(whole)):
        whole[place] ^= 1 << place % 8
        path.write_bytes(whole)
        assert load(path, IDENTITY, newest=10**12) is None, place
        whole[place] ^= 1 << place % 8


def test_garbage_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "garbage"

    @settings(max_examples=300, deadline=None)
    @given(head=st.sampled_from([b"", b"ALMAVEC1", b"ALMAVEC1" + bytes(32)]), tail=st.binary(max_size=300))
    def never_raises(head: bytes, tail: bytes) -> None:
        path.write_bytes(head + tail)
        assert load(path, IDENTITY, newest=9) is None

    never_raises()


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"NaN",
        b"[" * 60_000,
        b'{"database": "0190-database"}',
        b"1" * 5_000,
    ],
    ids=["empty", "no text", "list", "null", "NaN", "deep", "lacking", "long number"],
)
def test_a_header_that_is_none_is_not_used_even_with_a_right_checksum(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "s"
    path.write_bytes(sealed(header, b""))
    assert load(path, IDENTITY, newest=9) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("passages", 2**62),
        ("passages", 10**300),
        ("passages", 30),
        ("passages", -1),
        ("passages", 31.0),
        ("passages", True),
        ("passages", "31"),
        ("passages", None),
        ("dimension", 2**40),
        ("dimension", "8"),
        ("upto", -1),
        ("upto", 1.5),
        ("upto", [7]),
        ("fingerprint", []),
    ],
)
def test_a_header_that_lies_is_not_used_even_with_a_right_checksum(path: Path, name: str, value: object) -> None:
    facts, payload = parts(path)
    path.write_bytes(sealed(json.dumps({**facts, name: value}).encode(), payload))
    assert load(path, IDENTITY, newest=7) is None


def test_vectors_that_are_not_finite_are_not_used_even_with_a_right_checksum(path: Path) -> None:
    facts, payload = parts(path)
    spoilt = bytearray(payload)
    spoilt[31 * 32 : 31 * 32 + 2] = np.float16("nan").tobytes()
    path.write_bytes(sealed(json.dumps(facts).encode(), bytes(spoilt)))
    assert load(path, IDENTITY, newest=7) is None


def test_the_same_file_made_anew_by_these_tests_is_used(path: Path) -> None:
    """The lies above are refused for what they say, not for how the tests write them."""
    facts, payload = parts(path)
    path.write_bytes(sealed(json.dumps(facts).encode(), payload))
    assert load(path, IDENTITY, newest=7) is not None


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.mkfifo(path := tmp_path / "vectors.snapshot")
    with caplog.at_level(logging.INFO, logger="alma"):
        assert load(path, IDENTITY, newest=9) is None
    assert "no ordinary file" in caplog.text


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "sprung"),)

    (tmp_path / "s").write_bytes(pickle.dumps(Trap()))
    assert load(tmp_path / "s", IDENTITY, newest=9) is None
    assert not (tmp_path / "sprung").exists()


def test_a_save_that_fails_leaves_the_former_snapshot_and_nothing_else(
    index: ProjectIndex, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    index.apply(replace(index.image(), upto=8))

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="No space left"):
            save(index, path, IDENTITY)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_file_is_synced_before_it_gets_its_name(index: ProjectIndex, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (events.append("sync"), sync(descriptor))[1])
    monkeypatch.setattr(os, "replace", lambda old, new: (events.append("rename"), rename(old, new))[1])
    save(index, path, IDENTITY)
    assert events == ["sync", "rename", "sync"]


@pytest.mark.slow
def test_processes_that_save_at_once_leave_one_whole_snapshot(path: Path) -> None:
    code = """
import sys
from pathlib import Path
import numpy as np
from alma.protocols import VectorChanges
from alma.types.embedding import Fingerprint
from alma.vectors import ProjectIndex, SnapshotIdentity, load, save
path, upto = Path(sys.argv[1]), int(sys.argv[2])
fingerprint = Fingerprint(model="m", revision="1", dimension=8, precision="float32", token_limit=256, preparation="none")
identity = SnapshotIdentity("0190-database", "project \\u00fc", fingerprint)
numbers = np.arange(1000 + upto)
index = ProjectIndex(8)
index.apply(VectorChanges(upto, numbers, numbers, numbers % 3, numbers > 0, numbers, np.ones((len(numbers), 8), np.float16), numbers[:0]))
for _ in range(40):
    save(index, path, identity)
    loaded = load(path, identity, newest=100)
    assert loaded is not None and len(loaded) in (31, 1000 + loaded.upto), loaded
"""
    savers = [subprocess.Popen([sys.executable, "-c", code, str(path), str(upto)]) for upto in (11, 12, 13)]
    assert [saver.wait(timeout=120) for saver in savers] == [0, 0, 0]
    loaded = load(path, IDENTITY, newest=100)
    assert loaded is not None
    assert loaded.upto in (11, 12, 13)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
def test_a_process_killed_while_saving_leaves_the_former_snapshot(path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from alma.types.embedding import Fingerprint
from alma.vectors import SnapshotIdentity, load, save
fingerprint = Fingerprint(model="m", revision="1", dimension=8, precision="float32", token_limit=256, preparation="none")
identity = SnapshotIdentity("0190-database", "project \\u00fc", fingerprint)
index = load(Path(sys.argv[1]), identity, newest=7)
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
save(index, Path(sys.argv[1]), identity)
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert load(path, IDENTITY, newest=7) is not None


def test_what_a_killed_process_left_is_cleared_away_and_nothing_that_may_be_in_the_making(
    index: ProjectIndex, tmp_path: Path
) -> None:
    path = tmp_path / "vectors[1].snapshot"
    left, other = tmp_path / f".{path.name}.a.tmp", tmp_path / ".vectors1.snapshot.c.tmp"
    for file in (left, other):
        file.touch()
    with folders.making_in(tmp_path):  # as another process that saves does
        save(index, path, IDENTITY)
        assert sorted(tmp_path.iterdir()) == sorted([path, left, other])
    save(index, path, IDENTITY)
    assert sorted(tmp_path.iterdir()) == sorted([path, other])


def test_only_the_owner_may_read_a_snapshot(path: Path) -> None:
    assert os.name == "nt" or path.stat().st_mode & 0o077 == 0
