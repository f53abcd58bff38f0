"""Projects journal records into the tables: those of a whole file as a rebuild does, new ones as the calls that made them did."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from alma import journal
from alma.errors import AlmaError, CorruptStoreError
from alma.journal import Change, JournalRecord, entity
from alma.storage.relational.applying import apply_changes
from alma.storage.relational.logical import TABLES, PartitionKey, View, read_rows
from alma.storage.relational.purging import drop_partitions
from alma.storage.relational.readback import Expected, replay
from alma.storage.relational.reembedding import compared_texts
from alma.storage.relational.rows import PLACES, text_hash
from alma.storage.relational.session import OpenSeal
from alma.storage.relational.text_index import fill
from alma.storage.sqlite.connections import Connection
from alma.storage.sqlite.fulltext import FTS5Index
from alma.storage.sqlite.verify import insert_rows

SEAL = OpenSeal()


def project_row(connection: Connection, name: str) -> int:
    """The row of a project, made if need be."""
    for (row,) in connection.all("project_by_name", {"name": name}):
        return int(row)
    row = connection.insert("project_insert", {"name": name, "head_seq": 0, "head_hash": journal.GENESIS, "learned_seq": 0})
    FTS5Index(SEAL).begin(connection, row)
    return row


def project_whole(connection: Connection, name: str, records: Sequence[JournalRecord]) -> None:
    """Fills the tables of a project that has no row yet with what its records say."""
    row = project_row(connection, name)
    wanted = _replayed(connection, row, name, records)
    view = View(connection, row, SEAL)
    insert_rows(view, wanted, None)
    _number_removals(connection, row, wanted, after=0)
    _end(connection, row, wanted)
    fill(view, FTS5Index(SEAL))


def project_difference(connection: Connection, name: str, records: Sequence[JournalRecord]) -> None:
    """Makes the rows of a project what all its records say, where some were erased since. Rows that stay keep their numbers."""
    row = project_row(connection, name)
    ((before, _, _),) = connection.all("project_ends", {"project": row})
    wanted = _replayed(connection, row, name, records)
    view = View(connection, row, SEAL, lambda key: _partition(connection, row, key))
    apply_changes(view, FTS5Index(SEAL), list(_differences(view, wanted)), {}, seq=wanted.seq)
    for table in ("memory", "passage"):
        for stored in list(TABLES[table].rows(view)):
            raw = TABLES[table].raw(view, stored.key) or {}
            seq = wanted.rows[table, stored.key]["seq"]
            connection.execute(f"UPDATE {table} SET seq = ? WHERE row = ?", (seq, raw["row"]))  # noqa: S608 - one of our own names
    last = {(key, found["seq"]) for (table, key), found in wanted.rows.items() if table == "memory"}
    connection.execute("DELETE FROM touched WHERE project = ?", (row,))
    connection.run_many("touched_insert", [{"project": row, "key": key, "seq": seq} for key, seq in wanted.touched - last])
    _number_removals(connection, row, wanted, after=before)
    used = {text_hash(text) for project, text in compared_texts(connection, SEAL) if project == row}
    kept = {digest for (digest,) in connection.all("hashes", {"project": row})} | used
    stored_vectors = connection.execute("SELECT row, text_hash FROM vector WHERE project = ?", (row,)).fetchall()
    connection.run_many("vector_delete", [{"of_row": number} for number, digest in stored_vectors if digest not in kept])
    drop_partitions(view)
    _end(connection, row, wanted)


def _replayed(connection: Connection, row: int, name: str, records: Sequence[JournalRecord]) -> Expected:
    connection.execute("DELETE FROM journal WHERE place >= ? AND place < ?", (row * PLACES, (row + 1) * PLACES))
    for record in records:
        connection.run("journal_insert", _journal_row(row, record))
    wanted = Expected()

    def report(place: str, what: str) -> None:
        raise CorruptStoreError(f"the journal of project {name!r}, {place}: {what}; restore the file, from git say")

    replay(wanted, View(connection, row, SEAL), name, report)
    return wanted


def _differences(view: View, wanted: Expected) -> Iterator[Change]:
    """The changes that make the stored rows the wanted ones."""
    stored = {(found.table, found.key): found.row for found in read_rows(view)}
    for place in dict.fromkeys([*stored, *wanted.rows]):
        before, after = stored.get(place), wanted.rows.get(place)
        if after is not None:
            after = {name: value for name, value in after.items() if name != "seq"}
        if before != after:
            yield Change(*place, before, after)


def _number_removals(connection: Connection, row: int, wanted: Expected, *, after: int) -> None:
    """Lists as removed how many passages each record after one removed: those that are gone from here, and numbers that no passage has."""
    query = "SELECT passage FROM removed WHERE project = ? AND seq > ?"
    gone = [passage for (passage,) in connection.execute(query, (row, after))]
    connection.execute("DELETE FROM removed WHERE project = ? AND seq > ?", (row, after))
    last = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'passage'").fetchone()[0] or 0
    made, rows = count(last + 1), []
    for seq, number in wanted.removals.items():
        taken = (number or 0) if seq > after else 0
        rows += [{"project": row, "seq": seq, "passage": gone.pop() if gone else next(made)} for _ in range(taken)]
    rows += [{"project": row, "seq": wanted.seq, "passage": passage} for passage in gone]
    connection.run_many("removed_insert", rows)
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'passage'")
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('passage', ?)", (next(made) - 1,))


def _end(connection: Connection, row: int, wanted: Expected) -> None:
    end = {"head_seq": wanted.seq, "head_hash": wanted.head, "learned_seq": wanted.learned_seq}
    connection.run("project_advance", {"of_row": row, **end})


def project_new(connection: Connection, name: str, records: Iterable[JournalRecord]) -> bool:
    """Adds records after those that are there. `False` if they have to be projected with all others: they erase some, or do not fit alone."""
    row = project_row(connection, name)
    view = View(connection, row, SEAL, lambda key: _partition(connection, row, key))
    for record in records:
        changes = [] if record.payload is None else journal.decode_payload(record.payload)
        if record.payload is None or any(change.table == journal.PURGE for change in changes):
            return False
        try:
            for portion in _each_once(list(journal.current(changes))):
                apply_changes(view, FTS5Index(SEAL), portion, {}, seq=record.seq)
        except (AlmaError, LookupError, ValueError):
            return False
        _advance(connection, row, record, changes)
    return True


def _advance(connection: Connection, row: int, record: JournalRecord, changes: Sequence[Change]) -> None:
    connection.run("journal_insert", _journal_row(row, record))
    by_row = {change.key for change in changes if change.table == "memory" and change.after is not None}
    keys = dict.fromkeys(entity(change.table, change.key) for change in changes)
    touched = [{"project": row, "key": key, "seq": record.seq} for key in keys if key not in by_row]
    connection.run_many("touched_insert", touched)
    learned = next(connection.execute("SELECT learned_seq FROM project WHERE row = ?", (row,)))[0]
    if journal.changes_learning(record.operation, changes):
        learned = record.seq
    connection.run("project_advance", {"of_row": row, "head_seq": record.seq, "head_hash": record.hash, "learned_seq": learned})


def _each_once(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """The changes in portions in which no row stands twice."""
    portion: dict[tuple[str, str], Change] = {}
    for change in changes:
        if (change.table, change.key) in portion:
            yield list(portion.values())
            portion = {}
        portion[change.table, change.key] = change
    yield list(portion.values())


def _partition(connection: Connection, row: int, key: PartitionKey) -> int:
    is_user, owner, kind = key
    query = "SELECT row FROM partition WHERE project = ? AND is_user = ? AND owner = ? AND kind = ?"
    for (found,) in connection.execute(query, (row, int(is_user), owner, kind)):
        return int(found)
    return connection.insert("partition_insert", {"project": row, "is_user": int(is_user), "owner": owner, "kind": kind})


def _journal_row(row: int, record: JournalRecord) -> dict[str, object]:
    names = ("seq", "at", "actor", "operation", "payload", "salt", "digest", "hash")
    return {"project": row, **{name: getattr(record, name) for name in names}}
