"""Exports one project in a consistent read, and makes changes of exported lines."""

import base64
import json
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alma import journal
from alma.errors import CorruptStoreError
from alma.protocols import StoredRow
from alma.storage.relational.logical import TABLES, View, passages_of
from alma.storage.relational.readback import purges
from alma.storage.relational.rows import TEXT, UNREADABLE, Row, content_hash, passage_key, text_hash
from alma.types.custom import DEFINITIONS
from alma.types.episodes import END, EPISODE, RUN, STEP
from alma.types.exported import (
    ExportedCounts,
    ExportedMemory,
    ExportedPassage,
    ExportedPurge,
    ExportedRecord,
    ExportedUsage,
)
from alma.types.identity import agent_in, from_micros, owner_name, to_micros, user_in
from alma.types.kinds import MemoryType
from alma.types.package_records import is_of_package
from alma.types.stored import OF_THIS_STORE, Change
from alma.types.strategies import RULE

_TIMES = ("seen_at", "created_at", "updated_at", "archived_at")
_DERIVED = frozenset({"is_user", "owner", "content_hash"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A project in an open read transaction. With `agent` or `user`, only what belongs to that one, and the definitions of kinds."""

    view: View
    agent: str | None = None
    user: str | None = None

    @property
    def _is_whole(self) -> bool:
        return self.agent is None and self.user is None

    def _is_wanted(self, owner: str, *, is_user: bool = False) -> bool:
        if self.user is not None:
            return self.user == (owner if is_user else user_in(owner))
        return self.agent is None or (not is_user and agent_in(owner) == self.agent)

    def _selection(self) -> Mapping[str, object]:
        """Returns the partitions that are wanted, as the statements take them."""
        found = self.view.all("partitions", after=0)
        owners = {row["row"]: (row["owner"], bool(row["is_user"])) for row in found}
        wanted = [row for row, (owner, is_user) in owners.items() if self._is_wanted(owner, is_user=is_user)]
        return {"is_of_all": int(self._is_whole), "partitions": json.dumps(wanted)}

    def head(self) -> tuple[int, str]:
        """Returns number and hash of the newest journal record."""
        row = self.view.one("project_ends")
        return (row["head_seq"], row["head_hash"].hex()) if row else (0, "")

    def counts(self) -> ExportedCounts:
        """Returns how much there is to read."""
        counted = self.view.one("export_counts", **self._selection()) or {}
        return ExportedCounts(**counted, records=sum(1 for _ in self.records()))

    def records(self) -> Iterator[ExportedRecord]:
        """Yields the small records by kind and stored key, but for those of this store only."""
        began = () if self._is_whole else self._records()
        episodes = {record.key for record in began if record.kind == EPISODE and self._belongs(record.body)}
        for record in self._records():
            if self._is_whole or _episode_of(record.kind, record.key) in episodes or self._is_own(record):
                yield record

    def _records(self) -> Iterator[ExportedRecord]:
        for stored in TABLES["record"].rows(self.view):
            kind, _, key = stored.key.partition("/")
            row = whole(stored)
            if kind not in OF_THIS_STORE:
                yield ExportedRecord(kind=kind, key=key, **_with_times(row, ("updated_at",)))

    def _is_own(self, record: ExportedRecord) -> bool:
        if record.kind == RULE:
            return self._is_wanted(record.body["owner"])
        return record.kind == DEFINITIONS or (is_of_package(record.kind) and self._belongs(record.body))

    def _belongs(self, body: Row) -> bool:
        return bool(body.get("user_id") == self.user if self.user is not None else body.get("agent") == self.agent)

    def memories(self, *, vectors: bool) -> Iterator[ExportedMemory]:
        """Yields each memory in the order they were made, archived ones too, with its passages by position and its usage."""
        # Eight bytes for each: the rows themselves are read one at a time, never sorted.
        for number in array("q", (row["row"] for row in self.view.all("export_numbers", **self._selection()))):
            raw = self.view.one("memory_by_row", row=number) or {}
            try:
                row = TABLES["memory"].decoded(self.view, raw)
                passages = list(passages_of(self.view, row["id"]).values())
            except UNREADABLE as error:
                raise CorruptStoreError(f"memory {raw.get('id')} is not readable: {error}; see `alma verify`") from error
            usage = TABLES["usage"].raw(self.view, row["id"])
            yield ExportedMemory(
                **_with_times(row, _TIMES, left_out=_DERIVED),
                passages=tuple(self._passage(passage, vectors) for passage in passages),
                usage=None if usage is None else ExportedUsage(**TABLES["usage"].decoded(self.view, usage)),
            )

    def purged(self) -> Iterator[ExportedPurge]:
        """Yields the purges, here or where an import came from. Not stated of one agent or one user."""
        for _, changes in purges(self.view) if self._is_whole else ():
            yield from (ExportedPurge(**stated) for stated in journal.stated_tombstones(changes))

    def _passage(self, row: Row, vectors: bool) -> ExportedPassage:
        is_embedded = row["text_hash"] is not None
        return ExportedPassage(
            **_with_times(row, ("time",), left_out={"memory", "text_hash", "is_live"}),
            is_embedded=is_embedded,
            vector=self._vector(row["text"]) if vectors and is_embedded else None,
        )

    def _vector(self, text: str) -> str:
        digest = self.view.seal.hide(text_hash(text), place=TEXT)
        wanted = {"project": self.view.project, "text_hash": digest}
        found = next(self.view.session.many("vectors", [wanted]), None)
        if found is None:
            raise CorruptStoreError(f"the vector of {text[:60]!r} is missing; see `alma verify`")
        return base64.b64encode(
            self.view.seal.open(found["vector"], place="vector.vector", row=(self.view.project, digest, self.view.embedder()))
        ).decode()


def _episode_of(kind: str, key: str) -> str | None:
    """Returns the id of the episode that a small record is part of."""
    if kind == STEP:
        return key.rpartition("/")[0]
    if kind == RUN:
        return key.partition("/")[2]
    return key if kind in (EPISODE, END) else None


def changes_for(line: ExportedMemory | ExportedRecord) -> list[Change]:
    """Returns the changes that store a line: the opposite of reading it from a snapshot."""
    if isinstance(line, ExportedRecord):
        record = {"version": line.version, "body": line.body, "updated_at": to_micros(line.updated_at)}
        return [Change("record", f"{line.kind}/{line.key}", None, record)]
    is_user = line.kind == MemoryType.USER_PREFERENCE
    row = {
        **line.model_dump(include={"id", "kind", "agent", "body", "confidence", "successes", "trials"}),
        **{name: _micros(getattr(line, name)) for name in _TIMES},
        "is_user": is_user,
        "owner": line.body["user_id"] if is_user else owner_name(line.agent, line.body.get("user_id")),
        "content_hash": content_hash(line.kind, line.body),
    }
    changes = [Change("memory", line.id, None, row)]
    for passage in line.passages:
        made = {
            **passage.model_dump(include={"position", "text", "keywords", "speaker", "is_own"}),
            "memory": line.id,
            "time": _micros(passage.time),
            "text_hash": text_hash(passage.text).hex() if passage.is_embedded else None,
            "is_live": line.archived_at is None,
        }
        changes.append(Change("passage", passage_key(line.id, passage.position), None, made))
    return changes if line.usage is None else [*changes, Change("usage", line.id, None, line.usage.model_dump())]


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _with_times(row: Row, times: Collection[str], *, left_out: Collection[str] = ()) -> dict[str, Any]:
    """Returns the columns, with times for microseconds."""
    return {
        name: from_micros(value) if name in times and value is not None else value
        for name, value in row.items()
        if name not in left_out
    }


def whole(stored: StoredRow) -> Row:
    """Returns the logical row. `CorruptStoreError` if it cannot be read."""
    if stored.row is None:
        raise CorruptStoreError(f"{stored.table} {stored.key} {stored.fault}; see `alma verify`")
    return stored.row
