"""Looks things up by their keys, many at once: for a project as it is stored, and for a write in its own session."""

import json
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

from alma.errors import CorruptStoreError
from alma.protocols import Place
from alma.storage.relational.logical import NO_USAGE, PartitionKey, View
from alma.storage.relational.rows import TEXT, UNREADABLE, Row, memory_from, text_hash
from alma.storage.relational.session import Seal, hide_key, reveal_key
from alma.types.custom import DEFINITIONS, CustomMemoryType, stored_type
from alma.types.identity import Partition
from alma.types.kinds import MemoryType
from alma.types.memories import MEMORY_CLASSES, AnyMemory
from alma.types.stored import RecordedOutcome

_COLUMNS = ("id", "agent", "body", "confidence", "successes", "trials", "seen_at", "created_at", "updated_at")

RecordName = tuple[str, str]
"""Kind and key of a small record."""

Definitions = dict[str, tuple[dict[str, Any], CustomMemoryType]]
"""Definitions of kinds by name, each with the stored body that it was made of."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions by row, and their rows by key; all that have a row up to `upto`. They are only ever added, so what was read once stays true."""

    by_row: MutableMapping[int, Partition]
    by_key: MutableMapping[PartitionKey, int]
    upto: int

    def grown(self, rows: Iterable[tuple[int, int, str, str]], upto: int) -> "Partitions":
        """Returns these and those of rows as they are stored: row, whether of a user, owner and kind. One without a kind was dropped."""
        made = [Partition(row, bool(is_user), owner, kind) for row, is_user, owner, kind in rows if kind]
        by_row = {one.row: one for one in made}
        by_key = {(one.is_user, one.owner, one.kind): one.row for one in made}
        return Partitions({**self.by_row, **by_row}, {**self.by_key, **by_key}, upto)

    def without(self, rows: Collection[int]) -> "Partitions":
        """Returns the others."""
        by_row = {row: one for row, one in self.by_row.items() if row not in rows}
        return Partitions(by_row, {key: row for key, row in self.by_key.items() if row not in rows}, self.upto)

    def extensible(self) -> "Partitions":
        """Returns these for one write, which adds its own without changing these."""
        return Partitions(ChainMap({}, self.by_row), ChainMap({}, self.by_key), self.upto)


class Lookups:
    """Looks up what a project holds, by key: a project as it is stored, a write as it sees it."""

    name: str
    _defined: Definitions
    """Definitions of kinds that were read."""
    _places: dict[str, Place] | None = None
    """Where memories are that a write looked up; `None` to look each time, as for small records."""
    _records: dict[RecordName, Row] | None = None
    _embedded: Mapping[bytes, bytes] = MappingProxyType({})
    """Vectors that are not stored yet, by the hashes of their texts."""

    def _reading(self) -> AbstractContextManager[View]:
        """Opens the rows: none while the project does not exist."""
        raise NotImplementedError

    def _look(self, statement: str, **given: Any) -> list[tuple[Any, ...]]:
        """Returns the rows that a statement about this project finds; sequences are given as JSON."""
        listed = {
            name: value if isinstance(value, str | bytes | int | float | None) else json.dumps(list(value))
            for name, value in given.items()
        }
        with self._reading() as view:
            return list(view.session.all(statement, {"project": view.project, **listed}))

    def _holding(self, rows: Iterable[int]) -> Mapping[int, Partition]:
        """Returns partitions by row, the wanted ones among them."""
        raise NotImplementedError

    def partitions(self) -> Mapping[int, Partition]:
        """All partitions by row that are known without looking."""
        return self._holding(())

    def find(self, memory_ids: Iterable[str]) -> dict[str, Place]:
        """Returns where memories are kept, by id, in the order of the ids. Ids that this project does not have are left out."""
        ids, held = _distinct(memory_ids), {} if self._places is None else self._places
        missing = [memory_id for memory_id in ids if memory_id not in held]
        if missing:
            rows = self._look("places", ids=missing)
            partitions = self._holding(partition for _, _, partition, *_ in rows)
            held |= {
                memory_id: Place(row, partitions[partition], archived_at is not None, _usage(counts))
                for memory_id, row, partition, archived_at, *counts in rows
            }
        return {memory_id: held[memory_id] for memory_id in ids if memory_id in held}

    def memories(self, rows: Sequence[int]) -> dict[int, AnyMemory]:
        """The memories themselves, by row. Unknown rows are left out."""
        return dict(self._read("memories", {"rows": json.dumps(list(rows))})) if rows else {}

    def named(self, memory_ids: Iterable[str]) -> dict[str, AnyMemory]:
        """The memories themselves, by id, in the order of the ids. Ids that this project does not have are left out."""
        ids = _distinct(memory_ids)
        found = {memory.id: memory for _, memory in self._read("memories_named", {"ids": json.dumps(ids)})} if ids else {}
        return {memory_id: found[memory_id] for memory_id in ids if memory_id in found}

    def _read(self, statement: str, given: Mapping[str, str]) -> list[tuple[int, AnyMemory]]:
        """Returns the memories that a statement finds, each with its row."""
        with self._reading() as view:
            found = list(view.session.all(statement, {"project": view.project, **given}))
            partitions = self._holding({partition for _, partition, *_ in found})
            definitions = self._definitions({partitions[partition].kind for _, partition, *_ in found})
            return [(row, self._memory(view, partitions[partition], values, definitions)) for row, partition, *values in found]

    def vectors(self, texts: Iterable[str]) -> dict[str, bytes]:
        """The stored float16 vectors of those of the texts that have one."""
        hashes = {text_hash(text): text for text in texts}
        at_hand = {text: self._embedded[digest] for digest, text in hashes.items() if digest in self._embedded}
        with self._reading() as view:
            if len(at_hand) == len(hashes):
                return at_hand
            hidden = {view.seal.hide(digest, place=TEXT): text for digest, text in hashes.items() if text not in at_hand}
            wanted = [{"project": view.project, "text_hash": digest} for digest in hidden]
            for row in view.session.many("vectors", wanted):
                digest, number = row["text_hash"], row["embedder"]
                self._check_embedder(number)
                at_hand[hidden[digest]] = view.seal.open(row["vector"], place="vector.vector", row=(view.project, digest, number))
            return at_hand

    def _check_embedder(self, number: int | None) -> None:
        """Raises an error if the vectors of this embedder do not compare with the caller's. A write has checked it as it began."""

    def rows_in(self, partitions: Iterable[int]) -> list[int]:
        """The rows of the memories of partitions, ascending: the order in which they were recorded, archived ones included."""
        return [row for (row,) in self._look("rows_in", rows=partitions)]

    def outcomes(self, partitions: Iterable[int], *, since: int = 0) -> Iterator[RecordedOutcome]:
        """The outcomes of partitions from a row on, in the order in which they were recorded, archived ones included."""
        return self._outcomes("outcomes_in", {"rows": json.dumps(list(partitions)), "since": since})

    def outcomes_named(self, memory_ids: Iterable[str]) -> Iterator[RecordedOutcome]:
        """Yields the outcomes among the memories in the order in which they were recorded, archived ones included."""
        return self._outcomes("outcomes_named", {"ids": json.dumps(_distinct(memory_ids))})

    def _outcomes(self, statement: str, given: Mapping[str, object]) -> Iterator[RecordedOutcome]:
        with self._reading() as view:
            seal, held = view.seal, self._holding(())
            found = view.session.all(statement, {"project": view.project, **given})
            for row, partition, memory_id, body, successes, seen_at, created_at, archived_at in found:
                if partition not in held:
                    held = self._holding((partition,))
                if held[partition].kind == MemoryType.OUTCOME:
                    times = seen_at, created_at, archived_at is not None
                    said = _body(seal, body, (view.project, memory_id))
                    yield RecordedOutcome(row, held[partition], memory_id, said, successes, *times)

    def record(self, kind: str, keys: Iterable[str]) -> dict[str, tuple[int, dict[str, Any]]]:
        """Version and body of each of the small records, by key, in the order of the keys; version 0 and an empty body where there is none."""
        found: dict[str, tuple[int, dict[str, Any]]] = {key: (0, {}) for key in _distinct(keys)}
        with self._reading() as view:
            stored = {hide_key(view.seal, key): key for key in found}
            rows = self._look("records_by_key", kind=hide_key(view.seal, kind), keys=stored) if stored else ()
            for name, version, sealed, updated_at in rows:
                key = stored[name]
                body = json.loads(view.seal.open(sealed, place="record.body", row=(view.project, kind, key)))
                found[key] = version, body
                if self._records is not None:
                    self._records[kind, key] = {"version": version, "body": body, "updated_at": updated_at}
        return found

    def records(
        self, kind: str, *, newest: int | None = None, under: str | None = None
    ) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """Key, version and body of the small records of a kind, in a consistent read: all, by key, or the `newest` that changed last, newest first.

        `under` leaves all but those whose key begins with it and a slash, without looking at others; it is given without `newest`.
        """
        with self._reading() as view:
            stored_kind = hide_key(view.seal, kind)
            if under is not None:
                start = hide_key(view.seal, under)  # "0" is the character behind the slash
                found = self._look("records_under", kind=stored_kind, first=f"{start}/", last=f"{start}0")
            elif newest is None:
                found = self._look("records_of_kind", kind=stored_kind)
            else:
                found = self._look("records_newest", kind=stored_kind, newest=newest)
        named = [(reveal_key(view.seal, stored), version, body) for stored, version, body in found]
        if newest is None and view.seal.is_secret:
            named.sort()  # encrypted keys have another order
        for key, version, body in named:
            yield key, version, json.loads(view.seal.open(body, place="record.body", row=(view.project, kind, key)))

    def _definitions(self, kinds: Iterable[str]) -> dict[str, CustomMemoryType]:
        """The definitions of those of the kinds that users registered, each taken apart again only when it is stored otherwise than the last time."""
        wanted = [kind for kind in kinds if kind not in MEMORY_CLASSES]
        found = {kind: body for kind, (_, body) in self.record(DEFINITIONS, wanted).items() if body} if wanted else {}
        for kind, body in found.items():
            if kind not in self._defined or self._defined[kind][0] != body:
                self._defined[kind] = body, stored_type(body)
        return {kind: self._defined[kind][1] for kind in found}

    def _memory(
        self, view: View, partition: Partition, values: Sequence[object], definitions: Mapping[str, CustomMemoryType]
    ) -> AnyMemory:
        fields = dict(zip(_COLUMNS, values, strict=True))
        fields["body"] = view.seal.open(fields["body"], place="memory.body", row=(view.project, fields["id"]))  # type: ignore[arg-type] # a blob column
        fields["definition"] = definitions.get(partition.kind)
        return memory_from(project=self.name, kind=partition.kind, **fields)  # type: ignore[arg-type] # columns of known types


def _distinct(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str):  # it would be taken for keys of one character each
        raise TypeError(f"keys are needed, not the text {keys[:60]!r}")
    return list(dict.fromkeys(keys))


def _body(seal: Seal, stored: bytes, row: tuple[int, str]) -> dict[str, Any]:
    try:
        return dict(from_json(seal.open(stored, place="memory.body", row=row)))
    except UNREADABLE as error:
        raise CorruptStoreError(f"memory {row[1]} is damaged: {error}; see `alma verify`") from error


def _usage(counts: Sequence[float | None]) -> dict[str, float] | None:
    """Returns the usage counts of a memory, by name; `None` if nothing was yet."""
    found = {name: count for name, count in zip(NO_USAGE, counts, strict=True) if count is not None}
    return found or None
