"""Making the file small and forgetful: what was deleted is in no byte of it afterwards."""

import sqlite3
from pathlib import Path

from alma.storage.relational.rows import TEXT
from alma.storage.relational.seal import Seal
from alma.storage.relational.strategies import compared_hashes
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.database import Database

_VECTORS_UNUSED = """
    DELETE FROM vector WHERE (project, text_hash) NOT IN (SELECT project, text_hash FROM passage WHERE text_hash IS NOT NULL)
    AND (project, text_hash) NOT IN (SELECT project, text_hash FROM compared)"""

PATIENCE_MS = 2000
"""How long others may go on reading before the log is left as it is."""


def compact(database: Database, *, seal: Seal) -> bool:
    """Merges the full text, drops vectors that no passage has and no strategy is compared by, rewrites the file and empties the write-ahead log.

    SQLite overwrites deleted rows by itself (`secure_delete`); words of deleted documents stay in FTS5's segments until these are merged, and
    former pages in the log until it is emptied. Whether it was emptied: not while another process is in the middle of reading.
    Others wait with their writes meanwhile.
    """
    with database.transaction() as connection:
        for (project,) in connection.execute("SELECT row FROM project").fetchall():
            fulltext.optimize(connection, project)
        connection.execute("CREATE TEMP TABLE compared (project INTEGER, text_hash BLOB, PRIMARY KEY (project, text_hash))")
        connection.executemany(
            "INSERT OR IGNORE INTO compared VALUES (?, ?)",
            ((project, seal.hide(digest, place=TEXT)) for project, digest in compared_hashes(connection, seal)),
        )
        connection.execute(_VECTORS_UNUSED)
        connection.execute("DROP TABLE compared")
    with database.alone() as connection:
        settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("temp_store", "busy_timeout")}
        try:
            connection.execute("PRAGMA temp_store=FILE")  # VACUUM would copy the whole file into memory
            connection.execute("VACUUM")
            return _emptied_log(connection, database.path)
        finally:
            for name, value in settings.items():
                connection.execute(f"PRAGMA {name}={value:d}")


def _emptied_log(connection: sqlite3.Connection, path: Path) -> bool:
    connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS:d}")
    is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    log = Path(f"{path}-wal")
    return not is_busy and (not log.exists() or log.stat().st_size == 0)
