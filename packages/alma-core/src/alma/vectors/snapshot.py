"""Snapshot files of an index, so that a process need not read every vector from the database. All content is checked before use.

    magic 8 bytes | blake2b-256 of all that follows | length of the header, uint32 | header, JSON | arrays, little-endian

The header identifies the snapshot and counts its passages. The arrays are passages, memories, partitions and ties (int64), vectors
(float16) and is_own (one byte each), in this order.
"""

import contextlib
import glob
import json
import logging
import mmap
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from alma import folders
from alma.errors import AlmaError
from alma.protocols import VectorChanges
from alma.types.embedding import Fingerprint
from alma.vectors.index import ProjectIndex

MAGIC = b"ALMAVEC1"
DIGEST_SIZE = 32
PREFIX_SIZE = len(MAGIC) + DIGEST_SIZE + 4
ALIGNMENT = 64
BIGGEST_HEADER = 65_536

_log = logging.getLogger("alma")


@dataclass(frozen=True, slots=True)
class SnapshotIdentity:
    """Identifies the vectors of a snapshot: one database, one project in it, one embedder."""

    database: str
    project: str
    fingerprint: Fingerprint


HeadAt = Callable[[int], str]
"""Returns the journal's hash at a seq, which distinguishes two histories of one database."""


NewIndex = Callable[[int], ProjectIndex]
"""Makes an empty index of a dimension."""


def no_history(seq: int) -> str:
    """Serves as `HeadAt` for an index whose source has no history."""
    return ""


class _UnusableError(AlmaError):
    """States why a snapshot cannot be used."""


def save(index: ProjectIndex, path: Path, identity: SnapshotIdentity, *, head_at: HeadAt = no_history) -> None:
    """Writes a snapshot atomically: `path` holds the former or the new one, whole, also after a crash or when two processes save at once.

    The index takes no changes meanwhile. `OSError` when the folder cannot be written to.
    """
    path = Path(path)
    remove_drafts(path)
    with folders.making_in(path.parent):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file, index.still() as (image, blocks):
                header = _header(image, identity, index.dimension, head_at(image.upto))
                _write(file, header, _arrays(image, blocks))
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    folders.sync(path.parent)


def remove_drafts(path: Path) -> None:
    """Deletes temporary files of this snapshot that killed writers left behind."""
    folders.sweep(path.parent, f".{glob.escape(path.name)}.*.tmp")


def _write(file: BinaryIO, header: bytes, arrays: Iterable[NDArray[Any]]) -> None:
    """Writes header and arrays, then their digest, and syncs the file to disk."""
    digest = blake2b(header, digest_size=DIGEST_SIZE)
    file.write(MAGIC + bytes(DIGEST_SIZE) + header)
    for array in arrays:
        digest.update(array.data)
        file.write(array.data)
    file.seek(len(MAGIC))
    file.write(digest.digest())
    file.flush()
    os.fsync(file.fileno())


def load(
    path: Path, identity: SnapshotIdentity, *, newest: int, head_at: HeadAt = no_history, new_index: NewIndex = ProjectIndex
) -> ProjectIndex | None:
    """Returns the saved index, or None when there is no whole snapshot of this identity up to at most `newest`, the store's last `seq`.

    The reason for None is logged. Never raises for the content of the file, and allocates no more than the file's length.
    """
    try:
        with _opened(path) as descriptor:
            return _read(descriptor, identity, newest, head_at, new_index)
    except FileNotFoundError:
        reason = "there is none"
    except (AlmaError, OSError, ValueError, RecursionError) as error:
        reason = str(error)
    _log.info("vector snapshot %s is not used: %s", path, reason)
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


def _header(image: VectorChanges, identity: SnapshotIdentity, dimension: int, head: str) -> bytes:
    """Returns the length of the header and the header, padded so that the arrays after it are aligned."""
    facts = {
        **_identity_facts(identity),
        "dimension": dimension,
        "upto": image.upto,
        "head": head,
        "passages": len(image.passages),
    }
    text = json.dumps(facts, sort_keys=True).encode()
    text += b" " * (-(PREFIX_SIZE + len(text)) % ALIGNMENT)
    return struct.pack("<I", len(text)) + text


def _identity_facts(identity: SnapshotIdentity) -> dict[str, Any]:
    return {
        "database": identity.database,
        "project": identity.project,
        "fingerprint": identity.fingerprint.model_dump(mode="json"),
    }


def _arrays(image: VectorChanges, blocks: Iterable[NDArray[np.float16]]) -> Iterator[NDArray[Any]]:
    for array in (image.passages, image.memories, image.partitions, image.ties):
        yield np.ascontiguousarray(array, dtype="<i8").view(np.uint8)
    for block in blocks:
        yield np.ascontiguousarray(block, dtype="<f2").view(np.uint8).reshape(-1)
    yield image.is_own.view(np.uint8)


def _read(descriptor: int, identity: SnapshotIdentity, newest: int, head_at: HeadAt, new_index: NewIndex) -> ProjectIndex:
    size = os.fstat(descriptor).st_size
    if size < PREFIX_SIZE:
        raise _UnusableError(f"it is only {size} bytes long")
    mapped = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)  # stays open until the last array that refers to it is freed
    facts, start = _read_header(mapped, size, identity)
    if facts["upto"] > newest:
        raise _UnusableError(f"it is newer than the database: {facts['upto']} > {newest}")
    if facts.get("head") != head_at(facts["upto"]):
        raise _UnusableError("it belongs to another history of the database, which was restored from a backup since")
    return _restored(memoryview(mapped), facts, start, new_index(identity.fingerprint.dimension))


def _read_header(mapped: mmap.mmap, size: int, identity: SnapshotIdentity) -> tuple[dict[str, Any], int]:
    if mapped[: len(MAGIC)] != MAGIC:
        raise _UnusableError("it does not begin as a snapshot")
    (length,) = struct.unpack("<I", mapped[PREFIX_SIZE - 4 : PREFIX_SIZE])
    if length > min(BIGGEST_HEADER, size - PREFIX_SIZE):
        raise _UnusableError(f"its header claims {length} bytes")
    facts = json.loads(mapped[PREFIX_SIZE : PREFIX_SIZE + length])
    if not isinstance(facts, dict):
        raise _UnusableError("its header is no object")
    for name, expected in {**_identity_facts(identity), "dimension": identity.fingerprint.dimension}.items():
        if facts.get(name) != expected:
            raise _UnusableError(f"its {name} is {facts.get(name)!r}, not {expected!r}")
    for name in ("upto", "passages"):
        if type(facts.get(name)) is not int or facts[name] < 0:
            raise _UnusableError(f"its {name} is {facts.get(name)!r}")
    start = PREFIX_SIZE + length
    needed = start + facts["passages"] * _bytes_a_passage(facts["dimension"])
    if needed != size:
        raise _UnusableError(f"it is {size} bytes long, and should be {needed}")
    return facts, start


def _bytes_a_passage(dimension: int) -> int:
    return 4 * 8 + 2 * dimension + 1


def _restored(view: memoryview, facts: dict[str, Any], start: int, index: ProjectIndex) -> ProjectIndex:
    if blake2b(view[PREFIX_SIZE - 4 :], digest_size=DIGEST_SIZE).digest() != view[len(MAGIC) : len(MAGIC) + DIGEST_SIZE]:
        raise _UnusableError("its checksum is wrong")
    count, dimension = facts["passages"], index.dimension
    whole = [np.frombuffer(view, dtype="<i8", count=count, offset=start + 8 * count * place) for place in range(4)]
    start += 4 * 8 * count
    vectors = np.frombuffer(view, dtype="<f2", count=count * dimension, offset=start).reshape(count, dimension)
    is_own = np.frombuffer(view, dtype=np.uint8, count=count, offset=start + 2 * count * dimension)
    index.apply(
        VectorChanges(
            upto=facts["upto"],
            passages=whole[0],
            memories=whole[1],
            partitions=whole[2],
            ties=whole[3],
            vectors=vectors,
            is_own=is_own != 0,
            removed=np.empty(0, dtype=np.int64),
        )
    )
    return index
