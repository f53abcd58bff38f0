"""The vectors of a store, in a file that may be deleted: text hash, vector and checksum, one after the other."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

HASH, CHECK = 16, 8


@dataclass(frozen=True, slots=True)
class Extent:
    """Part of a file that was read: from the beginning to `end`."""

    inode: int
    end: int


class VectorCache:
    """The vectors of one embedder. What is damaged reads as missing."""

    def __init__(self, folder: Path, fingerprint: str, dimension: int) -> None:
        self._key = hashlib.sha256(fingerprint.encode()).digest()
        self.path = folder / f"vectors-{self._key.hex()[:16]}.bin"
        self._bytes = 2 * dimension

    def read(self, known: Extent | None = None) -> tuple[dict[bytes, bytes], Extent]:
        """All sound vectors by the hash of their text, or those beyond an extent that was read before; and the extent that is known now.

        A file that was replaced since is read whole.
        """
        data, size, extent = b"", HASH + self._bytes + CHECK, Extent(0, 0)
        with suppress(OSError), self.path.open("rb") as file:
            stat = os.fstat(file.fileno())
            start = known.end if known is not None and known.inode == stat.st_ino and known.end <= stat.st_size else 0
            file.seek(start)
            data = file.read()
            extent = Extent(stat.st_ino, start + len(data) - len(data) % size)
        found = {}
        for at in range(0, len(data) - size + 1, size):
            digest, vector, check = data[at : at + HASH], data[at + HASH : at + size - CHECK], data[at + size - CHECK : at + size]
            if check == self._check(digest, vector):
                found[digest] = vector
        return found, extent

    def add(self, vectors: Mapping[bytes, bytes]) -> None:
        """Appends vectors. One that cannot be written is made anew at the next open."""
        if not vectors:
            return
        with suppress(OSError), self.path.open("ab") as file:
            size = HASH + self._bytes + CHECK
            if torn := file.tell() % size:
                file.truncate(file.tell() - torn)
            file.write(self._data(vectors))

    def replace(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keeps these vectors and no others."""
        draft = self.path.with_suffix(".new")
        draft.write_bytes(self._data(vectors))
        os.replace(draft, self.path)

    def _data(self, vectors: Mapping[bytes, bytes]) -> bytes:
        whole = ((digest, vector) for digest, vector in vectors.items() if len(vector) == self._bytes)
        return b"".join(digest + vector + self._check(digest, vector) for digest, vector in whole)

    def _check(self, digest: bytes, vector: bytes) -> bytes:
        return hashlib.blake2b(digest + vector, digest_size=CHECK, key=self._key).digest()


def drop_others(folder: Path, kept: Sequence[VectorCache]) -> None:
    """Deletes the vectors of all embedders but these: a purged text may have one."""
    paths = {cache.path for cache in kept}
    for path in folder.glob("vectors-*.bin"):
        if path not in paths:
            path.unlink(missing_ok=True)
