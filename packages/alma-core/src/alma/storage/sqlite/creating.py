"""Making a database file: whole or not at all."""

import glob
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from alma import folders
from alma.storage.sqlite.connections import connect
from alma.storage.sqlite.driver_errors import storage_errors
from alma.storage.sqlite.session import Connection


def create_database(path: Path, fill: Callable[[Connection], None]) -> None:
    """Makes the file whole under a temporary name, then gives it its own; an existing file, also one made meanwhile, is left alone."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with draft_beside(path) as draft:
            _fill(draft, fill)
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


def _fill(draft: Path, fill: Callable[[Connection], None]) -> None:
    with closing(connect(draft)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        fill(connection)
        connection.execute("COMMIT")


def _give_name(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            draft.replace(path)
    folders.sync(path.parent)
