"""Values of ALMA as rows, and back. A *logical* row is what the journal holds: plain JSON values, text ids, no row numbers, no vectors."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from alma.errors import CorruptStoreError
from alma.protocols import VectorChanges
from alma.storage.relational.session import Seal, revealed_hash
from alma.text import matched_text
from alma.types.custom import CustomMemoryType, unknown_type
from alma.types.identity import from_micros, owner_name, to_micros
from alma.types.kinds import KINDS, MemoryType, VerdictSource
from alma.types.memories import MEMORY_CLASSES, AnyMemory, CustomMemory, Memory, Passage, UserPreference

Row = dict[str, Any]

PLACES = 1 << 32
"""The number of records that a project's journal has room for: a record's place is its project's row times this, plus its `seq`."""

TEXT, CONTENT = "text_hash", "content_hash"
"""The places of hashes in the seal: that of a text is the same in passages and vectors, which are joined by it."""

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""Errors that a damaged row raises where it is decoded."""

_CONTENT = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
_BODY = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"), allow_nan=False)
_COLUMNS = frozenset(Memory.model_fields) - {"user_id"}
_TIMES = {kind.value: spec.time_field for kind, spec in KINDS.items()}
_CIRCUMSTANCES = frozenset({"metadata", "duration_ms", "source"})
_COUNTS: Mapping[str, Mapping[str, str]] = {kind.value: spec.counts for kind, spec in KINDS.items()}
_BODY_FIELDS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(
        name for name in cls.model_fields if name not in {*_COLUMNS, _TIMES[kind], *_COUNTS.get(kind, ())} or name == "metadata"
    )
    for kind, cls in MEMORY_CLASSES.items()
}

_USUAL: Mapping[str, Any] = {"verdict_source": VerdictSource.CALLER}
"""Fields that a body leaves out where they are as usual."""


def memory_row(memory: Memory) -> Row:
    """The logical row of a memory."""
    body = _body(memory)
    return {
        "id": memory.id,
        "kind": memory.kind,
        "is_user": isinstance(memory, UserPreference),
        "owner": memory.user_id if isinstance(memory, UserPreference) else owner_name(memory.agent, memory.user_id),
        "agent": memory.agent,
        "body": body,
        "confidence": memory.confidence,
        "successes": memory.successes,
        "trials": memory.trials,
        "seen_at": to_micros(memory.seen_at),
        "created_at": to_micros(memory.created_at),
        "updated_at": to_micros(memory.updated_at),
        "archived_at": None,
        "content_hash": content_hash(memory.kind, body),
    }


def _body(memory: Memory) -> Row:
    if isinstance(memory, CustomMemory):
        fields = {"fields": memory.definition.plain(memory.fields)}
        rest = {"metadata": memory.metadata, "user_id": memory.user_id}
        return {**fields, **{name: value for name, value in rest.items() if value}}
    said = {name: value for name in _BODY_FIELDS[memory.kind] if (value := getattr(memory, name)) not in (None, {})}
    return {name: value for name, value in said.items() if name not in _USUAL or value != _USUAL[name]}


def content_hash(kind: str, body: Mapping[str, Any]) -> str:
    """Hash of the content of a memory, 32 hexadecimal digits: equal for equal kind and content, for any owner and time."""
    content = [kind, {name: value for name, value in body.items() if name not in _CIRCUMSTANCES}]
    return hashlib.blake2b(_CONTENT.encode(content).encode(), digest_size=16).hexdigest()


def memory_from(
    *,
    project: str,
    kind: str,
    id: str,  # noqa: A002 - the field's name
    agent: str,
    body: bytes,
    confidence: float,
    successes: float | None,
    trials: float | None,
    seen_at: int,
    created_at: int,
    updated_at: int,
    definition: CustomMemoryType | None = None,
) -> AnyMemory:
    """The memory of a row, of a kind that users defined with its `definition`. `CorruptStoreError` if the body is not what was written."""
    shared: dict[str, Any] = {
        "id": id,
        "agent": agent,
        "project_id": project,
        "confidence": confidence,
        "created_at": from_micros(created_at),
        "updated_at": from_micros(updated_at),
    }
    try:
        fields: dict[str, Any] = from_json(body, cache_strings=False)  # a cache would keep what is purged
        if kind not in MEMORY_CLASSES:
            definition = definition or unknown_type(kind, fields["fields"])
            return CustomMemory(kind=kind, definition=definition, **shared, **fields)
        counts = {"successes": successes, "trials": trials}
        for name, column in _COUNTS.get(kind, {}).items():
            fields[name] = int(counts[column] or 0)
        fields[_TIMES[kind]] = from_micros(seen_at)
        return MEMORY_CLASSES[kind](**shared, **fields)  # type: ignore[return-value] # the classes are the members of the union
    except UNREADABLE as error:
        raise CorruptStoreError(f"memory {id} is damaged: {error}; see `alma verify`") from error


def passage_row(memory_id: str, passage: Passage, text_hash: bytes | None) -> Row:
    """The logical row of a passage; without a hash it has no vector."""
    return {
        "memory": memory_id,
        "position": passage.position,
        "speaker": passage.speaker,
        "time": None if passage.time is None else to_micros(passage.time),
        "is_own": passage.is_own,
        "text": passage.text,
        "keywords": passage.keywords,
        "text_hash": text_hash.hex() if text_hash else None,
        "is_live": True,
    }


def passage_key(memory_id: str, position: int) -> str:
    """The key of a passage in the journal."""
    return f"{memory_id}/{position}"


def text_hash(text: str) -> bytes:
    """The key of a text's vector: 16 bytes."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def vector_checksum(text_hash: bytes, vector: bytes) -> bytes:
    """8 bytes by which a vector shows that is damaged, or is that of another text. Both as they are stored."""
    return hashlib.blake2b(text_hash + vector, digest_size=8).digest()


def compared_text(table: str, row: Mapping[str, Any]) -> str | None:
    """The text by which the strategy of a logical row, if it is an outcome, is compared with others."""
    is_outcome = table == "memory" and row.get("kind") == MemoryType.OUTCOME
    strategy = row["body"].get("strategy_used") if is_outcome else None
    return matched_text(strategy) if strategy else None


def dump_body(body: Mapping[str, Any]) -> bytes:
    """A body as it is stored: compact JSON in UTF-8."""
    return _BODY.encode(body).encode()


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

    def changes(self, project: int, rows: Sequence[ChangeRow], upto: int, gone: Sequence[int]) -> VectorChanges:
        """Returns the changes of rows: those that are live as added, the others and those that are `gone` as removed."""
        live = [row for row in rows if row[6]]
        _, passages, memories, partitions, is_own, hashes, *_ = zip(*live, strict=True) if live else [()] * 9
        return VectorChanges(
            upto=upto,
            passages=np.array(passages, dtype=np.int64),
            memories=np.array(memories, dtype=np.int64),
            partitions=np.array(partitions, dtype=np.int64),
            is_own=np.array(is_own, dtype=np.bool_),
            ties=self.ties(hashes),
            vectors=self.vectors(project, [(row[1], row[7], row[8]) for row in live]),
            removed=integers([*gone, *(row[1] for row in rows if not row[6])]),
        )

    def vectors(self, project: int, rows: Sequence[VectorRow]) -> NDArray[np.float16]:
        """Returns the vectors of rows. `CorruptStoreError` if one is missing or has another length."""
        stored = b"".join(self._vector(project, *row) for row in rows)
        return np.frombuffer(stored, dtype="<f2").reshape(len(rows), self.dimension)

    def ties(self, hashes: Sequence[bytes]) -> NDArray[np.int64]:
        """Returns the ties of memories with these hashes, as they are stored."""
        if self.seal.is_secret:
            hashes = [revealed_hash(self.seal, each, place=CONTENT) for each in hashes]
        firsts = b"".join(each[:8].ljust(8, b"\0") for each in hashes)  # a damaged one may be shorter
        return np.frombuffer(firsts, dtype=">i8").astype(np.int64)

    def _vector(self, project: int, passage: int, stored: bytes | None, text_hash: bytes | None) -> bytes:
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
