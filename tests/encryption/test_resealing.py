"""Encrypting, decrypting and changing the key: the former store or the new one, whole, whatever happens meanwhile."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from alma.encryption import decrypt_store, encrypt_store, rotate_key
from alma.errors import ConfigurationError, CorruptStoreError, StorageError
from alma_encryption import resealing
from encrypted import KEY, OTHER_KEY, Words, open_encrypted, readable, write_everything, write_names
from killed import kill_while_changing_key
from stores import execute, rows

STEPS = ("_fill", "_copy_table", "fill", "_check_same", "_drop_copies", "_overwrite")
WAYS: dict[str, tuple[bytes | None, Callable[[Path], None], bytes | None]] = {
    "encrypt": (None, lambda folder: encrypt_store(folder, KEY), KEY),
    "decrypt": (KEY, lambda folder: decrypt_store(folder, KEY), None),
    "rotate": (KEY, lambda folder: rotate_key(folder, KEY, OTHER_KEY), OTHER_KEY),
}
"""The key before, the call, and the key afterwards."""


class DiskFullError(OSError):
    """Stands for any failure of the machine."""


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> tuple[bytes | None, Callable[[Path], None], bytes | None]:
    return WAYS[request.param]


def made(folder: Path, key: bytes | None, words: Words | None = None) -> str:
    """A store with something of everything, and its content hash."""
    with open_encrypted(folder, key=key) as alma:
        write_everything(alma, words or Words())
    with open_encrypted(folder, key=key) as alma:  # which closes the episode that was left open
        return alma.content_hash()


def whole(folder: Path, *keys: bytes | None) -> tuple[bytes | None, str]:
    """The key that opens the store, and its content hash. It verifies, and nothing lies beside it."""
    for key in keys:
        try:
            with open_encrypted(folder, key=key) as alma:
                assert alma.verify().ok
                found = key, alma.content_hash()
        except ConfigurationError:
            continue
        assert sorted(os.listdir(folder)) == ["alma.db"]
        assert rows(folder / "alma.db", "PRAGMA journal_mode") == [("wal",)]
        return found
    raise AssertionError("no key opens it")


def test_a_store_holds_and_answers_the_same_under_another_seal(tmp_path: Path, way: Any) -> None:
    before, call, after = way
    held = made(tmp_path, before)
    numbers = rows(tmp_path / "alma.db", "SELECT name, seq FROM sqlite_sequence ORDER BY name")
    call(tmp_path)
    assert whole(tmp_path, after) == (after, held)
    assert rows(tmp_path / "alma.db", "SELECT name, seq FROM sqlite_sequence ORDER BY name") == numbers
    with open_encrypted(tmp_path, key=after) as alma:
        assert alma.retrieve("vorplax deploys", "dev").total_items > 0
        alma.learn("dev", "Deploy once more", "success")
        assert alma.verify().ok


def test_nothing_is_readable_after_encrypting_neither_in_the_former_file(tmp_path: Path, words: Words) -> None:
    made(tmp_path, None, words)
    write_names(tmp_path, words, key=None)
    with open(tmp_path / "alma.db", "rb") as former:
        assert list(readable(tmp_path, words))
        encrypt_store(tmp_path, KEY)
        assert list(readable(tmp_path, words)) == []
        (tmp_path / "former").write_bytes(former.read())
    assert list(readable(tmp_path, words)) == []


@pytest.mark.parametrize("step", STEPS)
def test_a_failure_at_any_step_leaves_a_whole_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Any, step: str) -> None:
    before, call, after = way
    held = made(tmp_path, before)

    def fails(*_: object) -> None:
        raise DiskFullError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(resealing, step, fails)
        with pytest.raises(StorageError, match="No space left"):
            call(tmp_path)
    expected = after if step == "_overwrite" else before
    assert whole(tmp_path, before, after) == (expected, held)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize(("call", "points"), [("rotate", 50), ("encrypt", 20), ("decrypt", 20)])
def test_a_process_that_is_killed_at_any_point_leaves_one_whole_store(tmp_path: Path, call: str, points: int) -> None:
    before, _, after = WAYS[call]
    held = made(tmp_path / "store", before)
    given = [KEY, OTHER_KEY] if call == "rotate" else [KEY]
    folders = kill_while_changing_key(tmp_path / "store", tmp_path, call, given, points=points)
    assert len(folders) >= points - 2
    found = [whole(folder, before, after) for folder in folders]
    assert {content for _, content in found} == {held}
    assert {key for key, _ in found} == {before, after}


_WRITER = """
import sys
from alma import ALMA, AlmaError
folder, keys = sys.argv[1], [bytes.fromhex(key) for key in sys.argv[2:]]
number = 0
while number < 40:
    for key in keys:
        try:
            with ALMA.open(folder, project_id="shop", encryption_key=key) as alma:
                for _ in range(3):
                    print(alma.add_domain_knowledge("dev", "x", f"fact {number}").id, flush=True)
                    number += 1
        except AlmaError:
            pass
"""


@pytest.mark.slow
def test_writers_that_open_the_store_meanwhile_lose_nothing(tmp_path: Path) -> None:
    made(tmp_path, KEY)
    command = [sys.executable, "-c", _WRITER, str(tmp_path), KEY.hex(), OTHER_KEY.hex()]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    keys, changes = (KEY, OTHER_KEY), 0
    while any(writer.poll() is None for writer in writers) or not changes:
        with suppress(StorageError):
            rotate_key(tmp_path, *keys)
            keys, changes = keys[::-1], changes + 1
    ended = [writer.communicate() for writer in writers]
    assert [error for _, error in ended] == ["", ""]
    stored = [line for out, _ in ended for line in out.split()]
    assert len(stored) >= 80
    with open_encrypted(tmp_path, key=keys[0]) as alma:
        assert {memory.id for memory in alma.list_memories("domain_knowledge", limit=1000)} >= set(stored)
        assert alma.verify().ok
    assert sorted(os.listdir(tmp_path)) == ["alma.db"]


def test_a_store_that_is_in_use_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Any) -> None:
    before, call, _ = way
    monkeypatch.setattr(resealing, "PATIENCE_MS", 50)
    held = made(tmp_path, before)
    with open_encrypted(tmp_path, key=before), pytest.raises(StorageError, match="is open in this process; close it first"):
        call(tmp_path)
    with closing(sqlite3.connect(tmp_path / "alma.db", isolation_level=None)) as other:
        other.execute("SELECT count(*) FROM memory").fetchone()
        with pytest.raises(StorageError, match="is in use; end every program that has it open"):
            call(tmp_path)
        other.execute("UPDATE store SET value = value")
    assert whole(tmp_path, before) == (before, held)


def test_a_damaged_store_is_not_encrypted(tmp_path: Path) -> None:
    made(tmp_path, None)
    execute(tmp_path / "alma.db", "UPDATE vector SET checksum = zeroblob(8) WHERE row = 1")
    with pytest.raises(CorruptStoreError, match="nothing was changed, see `alma verify`"):
        encrypt_store(tmp_path, KEY)
    with open_encrypted(tmp_path, key=None) as alma:
        assert alma.verify(rebuild=True).ok
    encrypt_store(tmp_path, KEY)
    assert whole(tmp_path, KEY)[0] == KEY


def test_wrong_calls_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no store at"):
        encrypt_store(tmp_path, KEY)
    made(tmp_path, None)
    calls: list[tuple[Callable[[], None], str]] = [
        (lambda: decrypt_store(tmp_path, KEY), "is not encrypted"),
        (lambda: rotate_key(tmp_path, KEY, OTHER_KEY), "is not encrypted"),
        (lambda: encrypt_store(tmp_path, KEY), ""),
        (lambda: encrypt_store(tmp_path, KEY), "is encrypted already; `alma rotate-key` changes its key"),
        (lambda: decrypt_store(tmp_path, OTHER_KEY), "is encrypted with another key"),
        (lambda: rotate_key(tmp_path, OTHER_KEY, KEY), "is encrypted with another key"),
    ]
    for call, told in calls:
        if told:
            with pytest.raises(ConfigurationError, match=told):
                call()
        else:
            call()


def test_a_changed_key_opens_the_store_alone_and_nothing_of_the_former_one_is_left(tmp_path: Path) -> None:
    held = made(tmp_path, KEY)
    sealed = rows(tmp_path / "alma.db", "SELECT body FROM memory")
    former = rows(tmp_path / "alma.db", "SELECT value FROM store WHERE key = 'encryption'")[0][0]
    rotate_key(tmp_path, KEY, OTHER_KEY)
    assert whole(tmp_path, KEY, OTHER_KEY) == (OTHER_KEY, held)
    assert not set(sealed) & set(rows(tmp_path / "alma.db", "SELECT body FROM memory"))
    assert former.encode() not in (tmp_path / "alma.db").read_bytes()
    with pytest.raises(ConfigurationError, match="another key"):
        open_encrypted(tmp_path)


@pytest.mark.slow
def test_two_that_encrypt_at_once_do_it_once(tmp_path: Path) -> None:
    held = made(tmp_path, None)
    program = "import sys; from alma.encryption import encrypt_store; encrypt_store(sys.argv[1], bytes.fromhex(sys.argv[2]))"
    command = [sys.executable, "-c", program, str(tmp_path)]
    both = [subprocess.Popen([*command, key.hex()], stderr=subprocess.PIPE) for key in (KEY, OTHER_KEY)]
    for process in both:
        process.communicate(timeout=120)
    done = [key for process, key in zip(both, (KEY, OTHER_KEY), strict=True) if process.returncode == 0]
    assert len(done) <= 1
    assert whole(tmp_path, *(done or [None])) == ((done or [None])[0], held)
