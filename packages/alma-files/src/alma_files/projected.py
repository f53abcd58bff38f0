"""Converts rows of a projection to lines of the files, and back."""

from collections.abc import Iterator, Mapping, Sequence

from alma import journal
from alma.journal import JournalRecord
from alma.storage.relational.rows import PLACES, compared_text, vector_checksum
from alma.storage.relational.session import CHECKSUM, OpenSeal, note_checksum
from alma.storage.sqlite.connections import Connection
from alma.storage.sqlite.migrations import migrate

_RECORDS = (
    "SELECT seq, at, actor, operation, payload, salt, digest, hash FROM journal WHERE place > ? AND place < ? ORDER BY place"
)


def fill(connection: Connection, values: Mapping[str, str], at: int) -> None:
    """Makes the tables, with these values of the store."""
    migrate(connection, OpenSeal(), at=at)
    connection.execute("DELETE FROM store")
    connection.run_many("store_put", [{"key": key, "value": value} for key, value in values.items()])
    note_checksum(connection)


def stored_values(connection: Connection) -> dict[str, str]:
    """The values of the store, without their checksum."""
    return {key: value for key, value in connection.all("store_values") if key != CHECKSUM}


def heads(connection: Connection) -> dict[str, int]:
    """The newest record of each project."""
    return {str(name): int(seq) for name, seq in connection.execute("SELECT name, head_seq FROM project")}


def end_of(connection: Connection, project: str) -> tuple[int, bytes]:
    """Number and hash of the newest record of a project."""
    found = connection.execute("SELECT head_seq, head_hash FROM project WHERE name = ?", (project,)).fetchone()
    return found or (0, journal.GENESIS)


def row_of(connection: Connection, project: str) -> int:
    """The row of a project."""
    return next(int(row) for (row,) in connection.all("project_by_name", {"name": project}))


def records_of(connection: Connection, project: str, row: int, after: int) -> Iterator[JournalRecord]:
    """The records of a project after a `seq`, oldest first."""
    for values in connection.execute(_RECORDS, (row * PLACES + after, (row + 1) * PLACES)):
        yield JournalRecord(project, *values)


def erased_seqs(connection: Connection, row: int) -> set[int]:
    """The records of a project whose payload was erased."""
    query = "SELECT seq FROM journal WHERE place > ? AND place < ? AND payload IS NULL"
    return {seq for (seq,) in connection.execute(query, (row * PLACES, (row + 1) * PLACES))}


def erased_in(records: Sequence[JournalRecord]) -> set[int]:
    """Returns the `seq` of each record whose payload was erased."""
    return {record.seq for record in records if record.payload is None}


def erases(record: JournalRecord) -> bool:
    """Returns True if a record is that of a purge."""
    return record.payload is not None and b'["purge",' in record.payload


def texts_of(record: JournalRecord) -> Iterator[str]:
    """The texts in a record that need a vector."""
    if record.payload is not None:
        for change in journal.decode_payload(record.payload):
            after = change.after or {}
            if change.table == "passage" and after.get("text_hash") and "text" in after:
                yield after["text"]
            if change.before is None and (text := compared_text(change.table, after)):
                yield text


def newest_vector(connection: Connection) -> int:
    """The newest row of a vector."""
    return connection.execute("SELECT coalesce(max(row), 0) FROM vector").fetchone()[0]  # type: ignore[no-any-return]


def vectors_after(connection: Connection, after: int, keys: tuple[str, str]) -> dict[bytes, bytes]:
    """The vectors after a row of the embedder that these keys of the store name, by the hash of their text."""
    number = int(stored_values(connection)[keys[1]])
    query = "SELECT text_hash, vector FROM vector WHERE row > ? AND embedder = ?"
    return dict(connection.execute(query, (after, number)).fetchall())


def vector_row(project: int, digest: bytes, vector: bytes) -> dict[str, object]:
    """The columns of a vector."""
    return {"project": project, "text_hash": digest, "vector": vector, "checksum": vector_checksum(digest, vector)}


def hash_at(connection: Connection, row: int, seq: int) -> bytes:
    """The hash of a record, that before the first one included."""
    return next((bytes(found) for (found,) in connection.all("journal_hash", {"project": row, "seq": seq})), journal.GENESIS)
