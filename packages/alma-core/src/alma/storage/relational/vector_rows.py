"""Rows with vectors as arrays, for the vector index."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.errors import CorruptStoreError
from alma.protocols import VectorChanges
from alma.storage.relational.rows import CONTENT
from alma.storage.relational.seal import Seal, revealed_hash

ChangeRow = tuple[int, int, int, int, int, bytes, int, bytes | None, bytes | None]
"""Seq, passage, memory, partition, is_own, content hash, is_live, vector, the hash of its text as it is stored."""

VectorRow = tuple[int, bytes | None, bytes | None]
"""Passage, vector and the hash of its text."""


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Decodes the rows of one project."""

    name: str
    seal: Seal
    embedder: int
    dimension: int

    def changes(self, project: int | None, rows: Sequence[ChangeRow], upto: int, gone: Sequence[int]) -> VectorChanges:
        """Returns the changes of rows: those that are live as added, the others and those that are `gone` as removed."""
        live = [row for row in rows if row[6]]
        _, passages, memories, partitions, is_own, hashes, *_ = zip(*live, strict=True) if live else [()] * 9
        return VectorChanges(
            upto=upto,
            passages=np.array(passages, dtype=np.int64),
            memories=np.array(memories, dtype=np.int64),
            partitions=np.array(partitions, dtype=np.int64),
            is_own=np.array(is_own, dtype=np.bool_),
            ties=self._ties(hashes),
            vectors=self.vectors(project, [(row[1], row[7], row[8]) for row in live]),
            removed=integers([*gone, *(row[1] for row in rows if not row[6])]),
        )

    def vectors(self, project: int | None, rows: Sequence[VectorRow]) -> NDArray[np.float16]:
        """Returns the vectors of rows. `CorruptStoreError` if one is missing or has another length."""
        size = 2 * self.dimension
        stored = [vector for _, vector, _ in rows if vector is not None and len(vector) == size]
        if self.seal.is_secret or len(stored) < len(rows):
            stored = [self._vector(project, *row) for row in rows]
        return np.frombuffer(b"".join(stored), dtype="<f2").reshape(len(rows), self.dimension)

    def tie(self, content_hash: bytes) -> int:
        """Returns the tie of a memory with this hash, as it is stored."""
        return int.from_bytes(revealed_hash(self.seal, content_hash, place=CONTENT)[:8], "big", signed=True)

    def _ties(self, hashes: Sequence[bytes]) -> NDArray[np.int64]:
        """Returns the ties of memories with these hashes. Those that are readable and whole are taken all at once: a new process has as many
        as there are passages."""
        firsts = b"" if self.seal.is_secret else b"".join(content_hash[:8] for content_hash in hashes)
        if len(firsts) != 8 * len(hashes):
            return integers(self.tie(content_hash) for content_hash in hashes)
        return np.frombuffer(firsts, dtype=">i8").astype(np.int64)

    def _vector(self, project: int | None, passage: int, stored: bytes | None, text_hash: bytes | None) -> bytes:
        if stored is None:
            raise CorruptStoreError(f"the vector of passage {passage} in project {self.name!r} is missing; see `alma verify`")
        vector = self.seal.open(stored, place="vector.vector", row=(project, text_hash, self.embedder))
        if len(vector) != 2 * self.dimension:
            raise CorruptStoreError(
                f"the vector of passage {passage} in project {self.name!r} has {len(vector)} bytes; see `alma verify`"
            )
        return vector


def integers(values: Iterable[int]) -> NDArray[np.int64]:
    """Returns numbers as an array."""
    return np.fromiter(values, dtype=np.int64)
