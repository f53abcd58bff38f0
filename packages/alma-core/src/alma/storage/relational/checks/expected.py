"""The content that the tables of a project must have: the journal replayed from its first record."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from alma import journal
from alma.errors import CorruptStoreError
from alma.journal import BrokenChainError, Change, JournalRecord, ReplayError, State, entity
from alma.storage.relational.hidden_keys import hide_operation, reveal_operation
from alma.storage.relational.logical import PartitionKey, View
from alma.storage.relational.readback import Redactions, record_from
from alma.storage.relational.rows import PLACES

NUMBERED = frozenset({"memory", "passage"})
"""Tables whose rows name the record that changed them last."""

Report = Callable[[str, str], None]
"""Takes the place of a problem, and what is wrong there."""


@dataclass(slots=True)
class Expected:
    """The content of one project by its journal.

    `rows` are the logical rows, those of a table in the order in which they were made. `removals` has the number of passages that a record took out
    of the indexes; `None` where the record does not say. `owners` are all that ever had a memory, those that were purged left out.
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
    """True to include retired tables and columns, as they were left."""

    def keys(self, table: str) -> list[str]:
        """The keys of the rows of a table, in the order in which they were made."""
        return [key for name, key in self.rows if name == table]


def replay(found: Expected, view: View, name: str, report: Report) -> None:
    """Follows the journal of a project link by link, and replays it. What is wrong with it is reported, and what can be read of it is taken."""
    kept = _redactions(view)
    for place, *values in view.session.all("journal_of", {"project": view.project}):
        record = _record(values, view, name, report)
        _check_link(found, record, report)
        if (values[0], place) != (view.project, view.project * PLACES + record.seq):
            report(f"journal record {record.seq}", f"is kept at place {place} as a record of project {values[0]}")
        found.records += 1
        found.seq, found.head = record.seq, record.hash
        changes = _changes(found, record, kept, report)
        try:
            _take(found, record, changes)
        except ReplayError as error:
            report(f"journal record {record.seq}", f"cannot be replayed: {error}")
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            report(f"journal record {record.seq}", f"its payload is not readable: {error}")


def _record(values: Sequence[Any], view: View, name: str, report: Report) -> JournalRecord:
    """The record of a row; one that cannot be decrypted has nothing in it."""
    try:
        return record_from(values, view, name)
    except CorruptStoreError as error:
        _, seq, at, actor, stored, _, _, digest, head = values
        report(f"journal record {seq}", str(error))
        operation = reveal_operation(view.seal, stored)
        return JournalRecord(name, seq, at, actor, operation, b"", b"", digest, head)


def _check_link(found: Expected, record: JournalRecord, report: Report) -> None:
    try:
        journal.follow(record, previous=found.head, seq=found.seq + 1)
    except BrokenChainError as error:
        report(f"journal record {record.seq}", str(error))
    except ValueError as error:
        report(f"journal record {record.seq}", f"is not readable: {error}")


def _redactions(view: View) -> Redactions:
    """Returns what purge records keep of the records that they erased. One that cannot be read is found with its own record."""
    kept: Redactions = {}
    given = {"project": view.project, "operation": hide_operation(view.seal, journal.PURGE)}
    for _, *values in list(view.session.all("journal_operation", given)):
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            payload = record_from(values, view, "").payload
            kept |= journal.redacted(journal.decode_payload(payload)) if payload is not None else {}
    return kept


def _changes(found: Expected, record: JournalRecord, kept: Redactions, report: Report) -> Sequence[Change]:
    """Returns the changes of a record, as far as that can be read."""
    place = f"journal record {record.seq}"
    if record.payload is None:
        found.purged += 1
        if record.seq not in kept:
            report(place, "its payload was erased, but by no purge")
        elif record.salt is not None:
            report(place, "its payload was erased, but its salt was not")
        return kept.get(record.seq, [])
    try:
        return journal.decode_payload(record.payload)
    except (ValueError, TypeError, RecursionError) as error:
        report(place, f"its payload is not readable: {error}")
        return []


def _take(found: Expected, record: JournalRecord, changes: Sequence[Change]) -> None:
    """Takes in what a record changed."""
    found.touched |= {(entity(change.table, change.key), record.seq) for change in changes}
    if journal.changes_learning(record.operation, changes):
        found.learned_seq = record.seq
    _note_removals(found, record, changes)
    rows = [change for change in changes if change.table != journal.PURGE]
    if not found.has_retired:
        rows = list(journal.current(rows))
    journal.replay(rows, found.rows)
    for change in rows:
        if change.after is None:
            continue
        row = found.rows[change.table, change.key]
        if change.table in NUMBERED:
            row["seq"] = record.seq
        if change.table == "memory":
            found.owners.add((bool(row["is_user"]), row["owner"], row["kind"]))


def _note_removals(found: Expected, record: JournalRecord, changes: Sequence[Change]) -> None:
    """Counts the passages that leave the indexes. A rebuild names all that are gone once more."""
    if record.operation == journal.REBUILD:
        found.removals = dict.fromkeys(found.removals, 0)
    if record.payload is None or record.operation == journal.REBUILD:
        count = None
    elif any(change.table == journal.PURGE for change in changes):
        count = journal.removed_passages(changes)
    else:
        count = sum(map(_removes, changes))
    found.removals[record.seq] = count


def _removes(change: Change) -> bool:
    if change.table != "passage" or change.before is None:
        return False
    if change.after is None:
        return True
    return change.before.get("text_hash") is not None and change.after.get("text_hash", "") is None
