"""The journal read back: records with what they changed, also where a purge erased a payload and kept the rest of it elsewhere, and the content
that the tables must have by it, replayed from the first record."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from alma import journal
from alma.errors import CorruptStoreError
from alma.journal import BrokenChainError, Change, JournalRecord, ReplayError, State, entity
from alma.protocols import Entry
from alma.storage.relational.logical import TABLES, PartitionKey, View
from alma.storage.relational.rows import PLACES, UNREADABLE
from alma.storage.relational.session import OPERATION, hide_key, hide_touched, reveal_key

Redactions = dict[int, list[Change]]
"""The changes that are left of erased records, by `seq`."""


def record_from(values: Sequence[Any], view: View, name: str = "") -> JournalRecord:
    """The record of a row of the journal, of the project of that name where its hash is to be checked."""
    _, _, seq, at, actor, operation, payload, salt, digest, head = values
    operation = reveal_key(view.seal, operation, OPERATION)
    opened = None if payload is None else view.seal.open(payload, place="journal.payload", row=(view.project, seq))
    salt = None if salt is None else view.seal.open(salt, place="journal.salt", row=(view.project, seq))
    with suppress(CorruptStoreError):  # a digest that is damaged does not match its payload
        digest = view.seal.open(digest, place="journal.digest", row=(view.project, seq))
    return JournalRecord(name, seq, at, actor, operation, opened, salt, digest, head)


def redactions(view: View) -> Redactions:
    """Returns what purge records keep of those that they erased."""
    return {seq: changes for _, made in purges(view) for seq, changes in journal.redacted(made).items()}


def purges(view: View) -> Iterator[tuple[int, list[Change]]]:
    """The purge records that are in force: their `seq` and changes."""
    for record in [record_from(values, view) for values in touching(view, [journal.PURGE])]:
        if record.payload is not None:
            yield record.seq, changes_of(record, {})


def touching(view: View, keys: Sequence[str], *, after: int = 0) -> Iterator[tuple[Any, ...]]:
    """The rows of the journal after a `seq` that touched any of the keys, each once, oldest first."""
    stored = [hide_touched(view.seal, key) for key in keys]
    given = {"project": view.project, "keys": json.dumps(stored), "after": after}
    return view.session.all("journal_touching", given)


def changes_of(record: JournalRecord, kept: Redactions) -> list[Change]:
    """Returns the changes of a record; of an erased one, what is left of it. `CorruptStoreError` if neither can be read."""
    try:
        if record.payload is not None:
            return journal.decode_payload(record.payload)
        return kept[record.seq]
    except KeyError as error:
        raise CorruptStoreError(
            f"the payload of journal record {record.seq} is gone without a purge; see `alma verify`"
        ) from error
    except (ValueError, TypeError) as error:
        raise CorruptStoreError(f"the payload of journal record {record.seq} is not readable; see `alma verify`") from error


def entries(view: View, *, after: int, keys: Sequence[str] | None) -> Iterator[Entry]:
    """The records after a `seq`, oldest first; with keys, those that touched one of them."""
    kept: Redactions | None = None
    of_project = {"project": view.project, "after": after}
    for values in view.session.all("journal_after", of_project) if keys is None else touching(view, keys, after=after):
        record = record_from(values, view)
        if record.payload is None and kept is None:  # reading purge records costs as much as what they keep
            kept = redactions(view)
        changes = changes_of(record, kept or {})
        yield Entry(record.seq, record.at, record.actor, record.operation, changes, record.payload is None)


Report = Callable[[str, str], None]
"""Takes the place of a problem, and what is wrong there."""

_FAULTS = (BrokenChainError, ReplayError, CorruptStoreError)


@dataclass(slots=True)
class Expected:
    """The content of one project by its journal.

    `rows` are the logical rows, those of a table in the order in which they were made. `removals` has the number of passages that a record took out
    of the indexes; `None` where the record does not say. `owners` are all that ever had a memory, those that were purged left out. `has_retired`
    includes retired tables and columns, as they were left.
    """

    rows: State = field(default_factory=dict)
    touched: set[tuple[str, int]] = field(default_factory=set)
    removals: dict[int, int | None] = field(default_factory=dict)
    owners: set[PartitionKey] = field(default_factory=set)
    learned_seq: int = 0
    seq: int = 0
    head: bytes = journal.GENESIS
    records: int = 0
    purged: int = 0
    has_retired: bool = False

    def keys(self, table: str) -> list[str]:
        """Returns the keys of the rows of a table, in the order in which they were made."""
        return [key for name, key in self.rows if name == table]


def replay(found: Expected, view: View, name: str, report: Report) -> None:
    """Follows the journal of a project link by link, and replays it. Damage is reported, and every record that is readable is replayed."""
    kept = _redactions(view)
    for values in view.session.all("journal_after", {"project": view.project, "after": 0}):
        place, project, seq, *_ = values
        previous, due = found.head, found.seq + 1
        head = values[-1] if isinstance(values[-1], bytes) else b""  # a damaged row may have lost its hash
        found.records, found.seq, found.head = found.records + 1, seq, head
        with _reporting(f"journal record {seq}", report):
            record = record_from(values, view, name)
            with _reporting(f"journal record {seq}", report):
                journal.follow(record, previous=previous, seq=due)
                if (project, place) != (view.project, view.project * PLACES + seq):
                    raise BrokenChainError(f"record {seq} is kept at place {place} as a record of project {project}")
            if record.payload is None:
                found.purged += 1
                if record.salt is not None:
                    report(f"journal record {seq}", "its payload was erased, but its salt was not")
            _take(found, record, changes_of(record, kept))


@contextmanager
def _reporting(place: str, report: Report) -> Iterator[None]:
    """Reports damage that ends the block."""
    try:
        yield
    except _FAULTS as error:
        report(place, str(error).removesuffix("; see `alma verify`"))
    except UNREADABLE as error:
        report(place, f"is not readable: {error}")


def _redactions(view: View) -> Redactions:
    """Returns what purge records keep of the records that they erased. An unreadable one is reported where it is replayed."""
    kept: Redactions = {}
    given = {"project": view.project, "operation": hide_key(view.seal, journal.PURGE, OPERATION)}
    for values in list(view.session.all("journal_operation", given)):
        with suppress(CorruptStoreError, *UNREADABLE):
            record = record_from(values, view)
            kept |= journal.redacted(changes_of(record, {record.seq: []}))
    return kept


def _take(found: Expected, record: JournalRecord, changes: Sequence[Change]) -> None:
    """Takes in the changes of a record."""
    found.touched |= {(entity(change.table, change.key), record.seq) for change in changes}
    if journal.changes_learning(record.operation, changes):
        found.learned_seq = record.seq
    if record.operation == journal.REBUILD:  # it lists every passage that is gone once more
        found.removals = dict.fromkeys(found.removals, 0)
    found.removals[record.seq] = _removals(record, changes)
    rows = [change for change in changes if change.table != journal.PURGE]
    if not found.has_retired:
        rows = list(journal.current(rows))
    journal.replay(rows, found.rows)
    for change in rows:
        if change.after is None:
            continue
        row = found.rows[change.table, change.key]
        if change.table in TABLES and TABLES[change.table].is_numbered:
            row["seq"] = record.seq
        if change.table == "memory":
            found.owners.add((bool(row["is_user"]), row["owner"], row["kind"]))


def _removals(record: JournalRecord, changes: Sequence[Change]) -> int | None:
    """Returns the number of passages that leave the indexes; `None` where the record does not say."""
    if record.payload is None or record.operation == journal.REBUILD:
        return None
    if any(change.table == journal.PURGE for change in changes):
        return journal.removed_passages(changes)
    return sum(map(_removes, changes))


def _removes(change: Change) -> bool:
    if change.table != "passage" or change.before is None:
        return False
    return change.after is None or bool(change.before.get("text_hash") and change.after.get("text_hash", "") is None)
