"""Snapshot files of caches, so that a process need not make them anew from the database. All content is checked before use.

    magic 8 bytes | keyed blake2b-256 of all that follows | length of the header, uint32 | header, JSON | arrays, little-endian

The header says whose the arrays are, and what kind and length each has. The key is the journal's hash at the `seq` that they are as of, which
stands in the database: no file of another database or of another history of it has the right checksum, and none that is damaged.
"""

import contextlib
import glob
import json
import logging
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma import folders
from alma.errors import AlmaError
from alma.types.embedding import Fingerprint

MAGIC = b"ALMAVEC3"
DIGEST_SIZE = 32
PREFIX_SIZE = len(MAGIC) + DIGEST_SIZE + 4
ALIGNMENT = 64
BIGGEST_HEADER = 262_144
KINDS = ("<i8", "<i4", "<f4", "|u1", "|b1")

_log = logging.getLogger("alma")

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class SnapshotIdentity:
    """Identifies the content of a snapshot: one database, one project in it, one embedder, and what of it is saved."""

    database: str
    project: str
    fingerprint: Fingerprint
    content: str = ""
    partitions: tuple[int, ...] = ()
    """The partitions that are written; those of which any is looked for, of all if none is."""


HeadAt = Callable[[int], str]
"""Returns the journal's hash at a seq, which distinguishes two histories of one database; "" if there is no such record."""


class _UnusableError(AlmaError):
    """States why a snapshot cannot be used."""


def save(arrays: Arrays, path: Path, identity: SnapshotIdentity, *, upto: int, head: str) -> None:
    """Writes a snapshot atomically: `path` holds the former or the new one, whole, also after a crash or when two processes save at once.

    `head` is the journal's hash at `upto`. `OSError` when the folder cannot be written to.
    """
    path = Path(path)
    remove_drafts(path)
    with folders.making_in(path.parent):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                digest = _digest(head)
                file.write(MAGIC + bytes(DIGEST_SIZE))
                for part in _parts(arrays, identity, upto):
                    digest.update(part)
                    file.write(part)
                file.seek(len(MAGIC))
                file.write(digest.digest())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    folders.sync(path.parent)


def remove_drafts(path: Path) -> None:
    """Deletes temporary files of this snapshot that killed writers left behind."""
    folders.sweep(path.parent, f".{glob.escape(path.name)}.*.tmp")


def load(path: Path, identity: SnapshotIdentity, *, newest: int, head_at: HeadAt) -> tuple[int, Arrays] | None:
    """Returns the `seq` that a snapshot is as of, and its arrays; `None` when there is no whole one of this identity up to at most `newest`, the
    store's last `seq`.

    The reason for None is logged. Never raises for the content of the file, and allocates no more than the file's length. What is returned
    was read before it was checked, and no longer depends on the file.
    """
    try:
        with _opened(path) as descriptor:
            return _read(descriptor, identity, newest, head_at)
    except FileNotFoundError:
        reason = "there is none"
    except (AlmaError, OSError, ValueError, RecursionError, MemoryError) as error:
        reason = str(error)
    _log.info("snapshot %s is not used: %s", path, reason)
    return None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Opens a descriptor for reading. Raises `_UnusableError` for anything but an ordinary file, since opening or reading a pipe would
    block."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _UnusableError("it is no ordinary file")
        yield descriptor
    finally:
        os.close(descriptor)


def _digest(head: str) -> Any:
    return blake2b(key=head.encode()[: blake2b.MAX_KEY_SIZE], digest_size=DIGEST_SIZE)


def _parts(arrays: Arrays, identity: SnapshotIdentity, upto: int) -> Iterator[bytes | memoryview]:
    """Yields what is hashed: the length of the header, the header, padded so that the arrays after it are aligned, and the arrays."""
    little = {name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    facts = {
        **_identity_facts(identity),
        "partitions": identity.partitions,
        "upto": upto,
        "arrays": [[name, *_kind(array)] for name, array in little.items()],
    }
    text = json.dumps(facts, sort_keys=True).encode()
    text += b" " * (-(PREFIX_SIZE + len(text)) % ALIGNMENT)
    yield struct.pack("<I", len(text)) + text
    for array in sorted(little.values(), key=lambda array: -array.itemsize):
        yield array.view(np.uint8).data


def _kind(array: NDArray[Any]) -> tuple[str, int]:
    return array.dtype.str, len(array)


def _identity_facts(identity: SnapshotIdentity) -> dict[str, Any]:
    return {
        "database": identity.database,
        "project": identity.project,
        "fingerprint": identity.fingerprint.model_dump(mode="json"),
        "content": identity.content,
    }


def _read(descriptor: int, identity: SnapshotIdentity, newest: int, head_at: HeadAt) -> tuple[int, Arrays]:
    size = os.fstat(descriptor).st_size
    with open(descriptor, "rb", closefd=False) as file:
        beginning = file.read(min(size, PREFIX_SIZE + BIGGEST_HEADER))
        if len(beginning) < min(size, PREFIX_SIZE + BIGGEST_HEADER):
            raise _UnusableError("it became shorter while it was read")
        facts, start = _read_header(beginning, size, identity)
        upto = facts["upto"]
        if upto > newest:
            raise _UnusableError(f"it is newer than the database: {upto} > {newest}")
        content = np.empty(size, dtype=np.uint8)
        content[: len(beginning)] = np.frombuffer(beginning, dtype=np.uint8)
        if file.readinto(content[len(beginning) :].data) != size - len(beginning):
            raise _UnusableError("it became shorter while it was read")
    head = head_at(upto)
    digest = _digest(head)
    digest.update(content[PREFIX_SIZE - 4 :].data)
    if not head or digest.digest() != beginning[len(MAGIC) : len(MAGIC) + DIGEST_SIZE]:
        raise _UnusableError(
            "its checksum is wrong: it is damaged, or of another history of the database, which was restored from a backup"
        )
    return upto, _arrays(content, facts["arrays"], start)


def _read_header(view: bytes, size: int, identity: SnapshotIdentity) -> tuple[dict[str, Any], int]:
    if size < PREFIX_SIZE:
        raise _UnusableError(f"it is only {size} bytes long")
    if view[: len(MAGIC)] != MAGIC:
        raise _UnusableError("it does not begin as a snapshot")
    (length,) = struct.unpack("<I", view[PREFIX_SIZE - 4 : PREFIX_SIZE])
    if length > min(BIGGEST_HEADER, size - PREFIX_SIZE):
        raise _UnusableError(f"its header claims {length} bytes")
    facts = json.loads(view[PREFIX_SIZE : PREFIX_SIZE + length])
    if not isinstance(facts, dict):
        raise _UnusableError("its header is no object")
    for name, expected in _identity_facts(identity).items():
        if facts.get(name) != expected:
            raise _UnusableError(f"its {name} is {facts.get(name)!r}, not {expected!r}")
    partitions = facts.get("partitions")
    if not isinstance(partitions, list) or any(type(each) is not int for each in partitions):
        raise _UnusableError(f"its partitions are {partitions!r}")
    if identity.partitions and set(identity.partitions).isdisjoint(partitions):
        raise _UnusableError(f"it holds none of the partitions {identity.partitions}")
    if type(facts.get("upto")) is not int or facts["upto"] < 0:
        raise _UnusableError(f"its upto is {facts.get('upto')!r}")
    start = PREFIX_SIZE + length
    needed = start + sum(np.dtype(kind).itemsize * count for _, kind, count in _checked_arrays(facts.get("arrays")))
    if needed != size:
        raise _UnusableError(f"it is {size} bytes long, and should be {needed}")
    return facts, start


def _checked_arrays(claimed: object) -> list[tuple[str, str, int]]:
    if not isinstance(claimed, list):
        raise _UnusableError(f"its arrays are {claimed!r}")
    for each in claimed:
        if not isinstance(each, list) or len(each) != 3 or type(each[0]) is not str or each[1] not in KINDS:
            raise _UnusableError(f"one of its arrays is {each!r}")
        if type(each[2]) is not int or each[2] < 0:
            raise _UnusableError(f"the length of one of its arrays is {each[2]!r}")
    return claimed


def _arrays(content: NDArray[np.uint8], claimed: list[tuple[str, str, int]], start: int) -> Arrays:
    """Returns the arrays, as views. In the file the widest come first, which keeps all aligned."""
    found: dict[str, NDArray[Any]] = {}
    for name, kind, count in sorted(claimed, key=lambda each: -np.dtype(each[1]).itemsize):
        end = start + np.dtype(kind).itemsize * count
        found[name] = content[start:end].view(kind)
        start = end
    return found
