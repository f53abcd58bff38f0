"""Database files: made whole or not at all, copied by SQLite's online backup while others write, compacted so that what was deleted is in no byte."""

import glob
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from alma import folders, journal
from alma.errors import CorruptStoreError, StorageError
from alma.storage.relational.logical import View, read_rows
from alma.storage.relational.reembedding import drop_unused
from alma.storage.relational.session import Seal
from alma.storage.relational.transfer import whole
from alma.storage.sqlite import fulltext
from alma.storage.sqlite.connections import Connection, connect, storage_errors
from alma.storage.sqlite.database import Database
from alma.types.stored import Copied, CopiedProject


def create_database(path: Path, fill: Callable[[Connection], None]) -> None:
    """Makes the file whole under a temporary name, then gives it its own; an existing file, also one made meanwhile, is left alone."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with draft_beside(path) as draft:
            with closing(connect(draft)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("BEGIN IMMEDIATE")
                fill(connection)
                connection.execute("COMMIT")
            _give_name(draft, path)


@contextmanager
def draft_beside(path: Path) -> Iterator[Path]:
    """Makes an empty file beside a path, for its owner alone, and deletes it at the end, unless it was renamed."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    with folders.making_in(path.parent):
        try:
            draft.touch(mode=0o600, exist_ok=False)
            yield draft
        finally:
            for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
                leftover.unlink(missing_ok=True)


def remove_drafts(path: Path) -> None:
    """Deletes what makers of this file that were killed have left behind."""
    folders.sweep(path.parent, f".{glob.escape(path.name)}.*.new*")


def _give_name(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            draft.replace(path)
    folders.sync(path.parent)


PAGES_AT_ONCE = 2_000
"""The number of pages that are copied between two reports of progress: 8 MB."""


def copy_database(database: Database, target: Path, *, seal: Seal, progress: Callable[[int, int], None] | None = None) -> Copied:
    """Copies the database into an empty file, all of one view. `progress` receives how many pages are done, and how many there are.

    The view is held from the first page to the last. Without, SQLite would begin again whenever another process wrote, and never end while
    some process always writes.
    """
    with database.snapshot_apart() as source:
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the view begins with the first look

        def report(status: int, left: int, pages: int) -> None:
            if progress is not None:
                progress(pages - left, pages)

        try:
            with closing(sqlite3.connect(target, isolation_level=None)) as copy:
                copy.execute("PRAGMA journal_mode=OFF")  # what fails is deleted
                copy.execute("PRAGMA synchronous=OFF")  # the caller syncs the file before it gives it its name
                source.backup(copy, pages=PAGES_AT_ONCE, progress=report)
        except sqlite3.OperationalError as error:  # a full disk is that of the target
            what = f"{database.path} could not be copied to {target.parent}: {error}; nothing is left there"
            raise StorageError(what) from error
    return _read_copy(target, seal)


def _read_copy(target: Path, seal: Seal) -> Copied:
    """The content of a copy, read from it row by row. No process writes to it, so it is opened without a log beside it."""
    with closing(sqlite3.connect(f"{target.absolute().as_uri()}?mode=ro&immutable=1", uri=True, factory=Connection)) as copy:
        (pages,) = copy.execute("PRAGMA page_count").fetchone()
        projects = []
        with suppress(sqlite3.DatabaseError):  # a damaged store is copied as it is
            projects = copy.execute("SELECT name, head_seq, row FROM project ORDER BY name").fetchall()
        return Copied(pages, [CopiedProject(name, seq, _content_hash(View(copy, row, seal))) for name, seq, row in projects])


def _content_hash(view: View) -> str | None:
    try:
        return journal.content_hash((stored.table, stored.key, whole(stored)) for stored in read_rows(view))
    except (CorruptStoreError, ValueError, sqlite3.DatabaseError):
        return None


PATIENCE_MS = 2000
"""The time that others may go on reading before the log is left as it is."""


def compact(database: Database, *, seal: Seal) -> bool:
    """Merges the full text, drops vectors that no passage has and no strategy is compared by, rewrites the file and empties the write-ahead log.

    SQLite overwrites deleted rows by itself (`secure_delete`); words of deleted documents stay in FTS5's segments until these are merged, and
    former pages in the log until it is emptied. Whether it was emptied: not while another process is in the middle of reading.
    Others wait with their writes meanwhile.
    """
    with database.transaction() as connection:
        for project, _ in list(connection.all("projects")):
            fulltext.optimize(connection, project)
        drop_unused(connection, seal)
    with storage_errors(database.path), database.alone() as connection:
        settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("temp_store", "busy_timeout")}
        try:
            connection.execute("PRAGMA temp_store=FILE")  # VACUUM would copy the whole file into memory
            connection.execute("VACUUM")
            return _empty_log(connection, database.path)
        finally:
            for name, value in settings.items():
                connection.execute(f"PRAGMA {name}={value:d}")


def _empty_log(connection: sqlite3.Connection, path: Path) -> bool:
    connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS:d}")
    is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    log = Path(f"{path}-wal")
    return not is_busy and (not log.exists() or log.stat().st_size == 0)
