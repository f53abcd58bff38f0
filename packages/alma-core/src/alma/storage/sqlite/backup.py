"""A copy of the whole database while others write to it, by SQLite's online backup."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from alma import journal
from alma.errors import CorruptStoreError, StorageError
from alma.storage.relational.logical import View, read_rows
from alma.storage.relational.seal import Seal
from alma.storage.relational.transfer import whole
from alma.storage.sqlite.database import Database
from alma.storage.sqlite.session import Connection
from alma.types.stored import Copied, CopiedProject

PAGES_AT_ONCE = 2_000
"""The number of pages that are copied between two reports of progress: 8 MB."""

_PROJECTS = "SELECT row, name, head_seq FROM project"


def copy_database(database: Database, target: Path, *, seal: Seal, progress: Callable[[int, int], None] | None = None) -> Copied:
    """Copies the database into an empty file, all of one view. `progress` receives how many pages are done, and how many there are.

    The view is held from the first page to the last. Without, SQLite would begin again whenever another process wrote, and never end while
    some process always writes.
    """
    with database.snapshot_apart() as source:
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the view begins with the first look
        with _copy_errors(database.path, target), closing(sqlite3.connect(target, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode=OFF")  # what fails is deleted
            copy.execute("PRAGMA synchronous=OFF")  # the caller syncs the file before it gives it its name
            source.backup(copy, pages=PAGES_AT_ONCE, progress=_reporting(progress))
    return _looked_at(target, seal)


def _reporting(progress: Callable[[int, int], None] | None) -> Callable[[int, int, int], None] | None:
    """The callback of SQLite, which gets a status, the number of pages that are left, and that of all pages."""
    return None if progress is None else lambda _, left, pages: progress(pages - left, pages)


@contextmanager
def _copy_errors(path: Path, target: Path) -> Iterator[None]:
    """Turns what the driver raises over the copy into an error that names it: a full disk is that of the target."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StorageError(f"{path} could not be copied to {target.parent}: {error}; nothing is left there") from error


def _looked_at(target: Path, seal: Seal) -> Copied:
    """The content of a copy, read from it row by row. No process writes to it, so it is opened without a log beside it."""
    with closing(sqlite3.connect(f"{target.absolute().as_uri()}?mode=ro&immutable=1", uri=True, factory=Connection)) as copy:
        (pages,) = copy.execute("PRAGMA page_count").fetchone()
        projects = []
        with suppress(sqlite3.DatabaseError):  # a damaged store is copied as it is
            projects = copy.execute(_PROJECTS).fetchall()
        named = sorted((name, row, seq) for row, name, seq in projects)
        return Copied(pages, [CopiedProject(name, seq, _content_hash(View(copy, row, seal))) for name, row, seq in named])


def _content_hash(view: View) -> str | None:
    try:
        return journal.content_hash((stored.table, stored.key, whole(stored)) for stored in read_rows(view))
    except (CorruptStoreError, ValueError, sqlite3.DatabaseError):
        return None
