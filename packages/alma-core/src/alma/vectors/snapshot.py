"""Snapshot files of caches, so that a process need not rebuild them from the database. All content is checked before use.

    magic 8 bytes | keyed blake2b-256 of all that follows | upto, length, count | partitions | arrays, as `numpy.savez` writes them

The checksum covers the identity of the content, too. Its key is the journal's hash at the `seq` that the arrays are as of, which stands in the
database: no file of another database or of another history of it has the right checksum, and none that is damaged.
"""

import glob
import io
import json
import logging
import os
import struct
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma import folders
from alma.errors import AlmaError
from alma.types.identity import Fingerprint

MAGIC = b"ALMAVEC4"
DIGEST_SIZE = 32
HEADER = struct.Struct("<QQQ")
PREFIX_SIZE = len(MAGIC) + DIGEST_SIZE + HEADER.size

_log = logging.getLogger("alma")

Arrays = Mapping[str, NDArray[Any]]
HeadAt = Callable[[int], str]
"""Returns the journal's hash at a seq, which distinguishes two histories of one database; "" if there is no such record."""


@dataclass(frozen=True, slots=True)
class SnapshotIdentity:
    """Identifies the content of a snapshot: one database, one project in it, one embedder, and what of it is saved."""

    database: str
    project: str
    fingerprint: Fingerprint
    content: str = ""

    def digest(self, head: str, *parts: bytes | memoryview) -> bytes:
        """Returns the checksum of a snapshot of this identity as of the journal record whose hash is `head`."""
        fingerprint = self.fingerprint.model_dump(mode="json")
        facts = json.dumps([self.database, self.project, fingerprint, self.content], sort_keys=True)
        digest = blake2b(facts.encode(), key=head.encode()[: blake2b.MAX_KEY_SIZE], digest_size=DIGEST_SIZE)
        for part in parts:
            digest.update(part)
        return digest.digest()


def save(arrays: Arrays, path: Path, identity: SnapshotIdentity, *, upto: int, head: str) -> None:
    """Writes a snapshot atomically: `path` holds the former or the new one, whole, also after a crash or when two processes save at once.

    The array `held`, if any, has the partitions that are in it. `head` is the journal's hash at `upto`. `OSError` when the folder cannot be
    written to.
    """
    held = np.asarray(arrays.get("held", ()), dtype="<i8").tobytes()
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    content = HEADER.pack(upto, len(packed.getbuffer()), len(held) // 8) + held, packed.getbuffer()
    folders.sweep(path.parent, f".{glob.escape(path.name)}.*.tmp")  # drafts of killed writers
    with folders.making_in(path.parent):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines((MAGIC, identity.digest(head, *content), *content))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    folders.sync(path.parent)


def load(
    path: Path, identity: SnapshotIdentity, *, newest: int, head_at: HeadAt, wanted: Collection[int] = ()
) -> tuple[int, Arrays] | None:
    """Returns the `seq` that a snapshot is as of, and its arrays; `None` when there is no whole one of this identity up to at most `newest`, the
    store's last `seq`, or none of the `wanted` partitions is in it.

    The reason for None is logged. Never raises for the content of the file, and allocates no more than a few times its length.
    """
    try:
        if path.is_file():  # opening a pipe would block
            return _read(path, identity, newest, head_at, wanted)
        reason = "it is no ordinary file" if path.exists() else "there is none"
    except (AlmaError, OSError, ValueError, MemoryError) as error:
        reason = str(error)
    _log.info("snapshot %s is not used: %s", path, reason)
    return None


def _read(path: Path, identity: SnapshotIdentity, newest: int, head_at: HeadAt, wanted: Collection[int]) -> tuple[int, Arrays]:
    with path.open("rb") as file:
        prefix, size = file.read(PREFIX_SIZE), os.fstat(file.fileno()).st_size
        if len(prefix) < PREFIX_SIZE or not prefix.startswith(MAGIC):
            raise ValueError("it does not begin as a snapshot")
        header = prefix[-HEADER.size :]
        upto, length, count = HEADER.unpack(header)
        if upto > newest:
            raise ValueError(f"it is newer than the database: {upto} > {newest}")
        if size != PREFIX_SIZE + 8 * count + length:
            raise ValueError(f"it is {size} bytes long, and should be {PREFIX_SIZE + 8 * count + length}")
        held = file.read(8 * count)
        if wanted and not {*wanted}.intersection(np.frombuffer(held, dtype="<i8").tolist()):
            raise ValueError(f"it holds none of the partitions {sorted(wanted)}")
        packed = file.read(length)
    head = head_at(upto)
    if not head or identity.digest(head, header + held, packed) != prefix[len(MAGIC) : len(MAGIC) + DIGEST_SIZE]:
        raise ValueError(
            "its checksum is wrong: it is damaged, of another database or embedder, or of another history of the database"
        )
    with np.load(io.BytesIO(packed)) as arrays:
        return upto, dict(arrays)
