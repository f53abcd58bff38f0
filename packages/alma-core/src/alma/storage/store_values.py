"""The checksum of the `store` table. Nothing else in the file repeats what stands there: the database's id and its embedder."""

import hashlib
import json
import sqlite3

from alma.errors import CorruptStoreError

CHECKSUM = "checksum"
RELEARN = "relearn"
"""The key of the names of projects whose evidence has to be made anew from their outcomes, as JSON."""

_OTHERS = "SELECT key, value FROM store WHERE key <> ? ORDER BY key"


def checksum(connection: sqlite3.Connection) -> str:
    """The checksum of the other values as they are now."""
    values = connection.execute(_OTHERS, (CHECKSUM,)).fetchall()
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def note_checksum(connection: sqlite3.Connection) -> None:
    """Stores the checksum anew. Every change of the table ends with this."""
    connection.execute("INSERT OR REPLACE INTO store (key, value) VALUES (?, ?)", (CHECKSUM, checksum(connection)))


def check_whole(connection: sqlite3.Connection) -> None:
    """`CorruptStoreError` if the values are not those that were stored: a checksum made of them anew would hide that."""
    if not is_whole(connection):
        raise CorruptStoreError("the database's id or embedder is damaged; nothing was changed, restore it from a backup")


def is_whole(connection: sqlite3.Connection) -> bool:
    """Whether the values are those that were stored."""
    found = connection.execute("SELECT value FROM store WHERE key = ?", (CHECKSUM,)).fetchone()
    return found is not None and found[0] == checksum(connection)
