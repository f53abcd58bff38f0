"""Files that callers name: written atomically, never onto a store, readable by their owner only."""

import glob
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from alma import folders
from alma.errors import StorageError, ValidationError
from alma.storage.sqlite.connections import is_open_here
from alma.text import shortened

SQLITE_HEADER = b"SQLite format 3\0"
"""The first bytes of each SQLite database."""

STORE_ENDING = ".files"
"""Of the name of the folder of a file store, which the package alma-files makes."""

STORE_HEADER = "store.json"
"""The file in that folder that makes it a store."""

_OF_A_STORE = ("-wal", "-shm", "-journal", ".index")
_BESIDE_A_STORE = ("config.yaml", ".gitignore")
_DRAFT_NAME = 40


def checked_path(value: str | os.PathLike[str]) -> Path:
    """Returns the path. `ValidationError` if it is empty or impossible in any file system."""
    text = os.fsdecode(value)
    if not text:
        raise ValidationError("the path is empty; name a file")
    try:
        is_possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise ValidationError(f"{_shown(text)} cannot be the path of a file")
    return Path(text)


def checked_target(value: str | os.PathLike[str], store: Path) -> Path:
    """Returns a path that may be written to: a new one or that of an ordinary file, no symbolic link, no file of a store.

    `store` is the folder of the open store, whose configuration is refused as well. `ValidationError` otherwise.
    """
    path = checked_path(value)
    with _storage_errors(path, "written"):
        _check_ordinary(path)
        if _is_of_a_store(path, store):
            raise ValidationError(f"{_shown(path)} belongs to a store of ALMA, which would be lost; name another file")
    return path


def checked_copy(value: str | os.PathLike[str], database: Path, *, may_replace: bool) -> Path:
    """Returns a path that a copy of the database may be written to: a new one, or if `may_replace` that of an ordinary file, no database
    in use.

    `ValidationError` otherwise. No database is opened for the check, because closing it would end the locks that guard it.
    """
    path = checked_path(value)
    with _storage_errors(path, "written"):
        _check_ordinary(path)
        if _stands_at(path, database) or is_open_here(path) or _has_log(path):
            raise ValidationError(f"{_shown(path)} is a database in use, which would be lost; name another file")
        if (path.name.casefold().endswith(_OF_A_STORE) or _is_in_a_file_store(path)) or (
            _stands_at(path.parent, database.parent) and path.name in _BESIDE_A_STORE
        ):
            raise ValidationError(f"{_shown(path)} is a name that belongs to a store of ALMA; name another file")
        if os.path.lexists(path) and not may_replace:
            raise exists_already(path)
    return path


def _check_ordinary(path: Path) -> None:
    if path.is_dir():
        raise ValidationError(f"{_shown(path)} is a folder; name a file")
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise ValidationError(f"{_shown(path)} is a link or a device, not an ordinary file; name the file itself")


def _stands_at(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve()


def _has_log(path: Path) -> bool:
    """Returns True when a process uses the database, or was killed while using it."""
    return any(Path(f"{path}{ending}").exists() for ending in ("-wal", "-shm", "-journal"))


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Opens a file that gets its name only when it is whole and on disk. Only its owner may read it."""
    with drafted(path, may_replace=True) as draft, draft.open("wb") as file:
        yield file


@contextmanager
def drafted(path: Path, *, may_replace: bool) -> Iterator[Path]:
    """Creates an empty file beside `path`, readable by its owner only. When the block ends without an error, it is synced and gets the
    name.

    `ValidationError` if a file of that name was made meanwhile that may not be replaced.
    """
    drafts = f".{path.name[:_DRAFT_NAME]}."
    draft = path.with_name(f"{drafts}{uuid.uuid4().hex}.new")
    folders.sweep(path.parent, f"{glob.escape(drafts)}*.new")
    with _storage_errors(path, "written"), folders.making_in(path.parent):
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield draft
            folders.sync(draft)
            _give_name(draft, path, may_replace=may_replace)
        finally:
            draft.unlink(missing_ok=True)
        folders.sync(path.parent)


def _give_name(draft: Path, path: Path, *, may_replace: bool) -> None:
    if may_replace:
        draft.replace(path)
        return
    try:
        os.link(draft, path)
    except FileExistsError as error:
        raise exists_already(path) from error
    except OSError as error:  # a file system without hard links
        if path.exists():
            raise exists_already(path) from error
        draft.replace(path)


def exists_already(path: Path) -> ValidationError:
    """Returns the error for an existing file that may not be replaced."""
    return ValidationError(f"{_shown(path)} exists already; name another file, or allow it to be replaced (force)")


@contextmanager
def opened_file(path: Path) -> Iterator[BinaryIO]:
    """Opens the file for reading. `ValidationError` for a database that is open: closing the file would end the locks that guard it."""
    if is_open_here(path):
        raise ValidationError(f"{_shown(path)} is a database that is open, not an export")
    with _storage_errors(path, "read"), path.open("rb") as file:
        yield file


def _is_of_a_store(path: Path, store: Path) -> bool:
    name = path.name.casefold()
    if path.parent.resolve() == store.resolve() and (name.endswith(_OF_A_STORE) or name in _BESIDE_A_STORE):
        return True
    if _is_in_a_file_store(path):
        return True
    if not path.exists():
        return False
    beside = [file for file in store.glob("*") if file.name.endswith(_OF_A_STORE) or file.name in _BESIDE_A_STORE]
    return _is_database(path) or any(_is_same(path, file) for file in beside)


def _is_in_a_file_store(path: Path) -> bool:
    """Returns True if a file at that path would stand among those of a file store."""
    places = path.parent.resolve(), path.parent.resolve().parent
    return any(place.name.endswith(STORE_ENDING) and (place / STORE_HEADER).is_file() for place in places)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except FileNotFoundError:  # its store was closed meanwhile
        return False


def _is_database(path: Path) -> bool:
    if is_open_here(path):
        return True
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


@contextmanager
def _storage_errors(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{_shown(path)} cannot be {done}: {error.strerror or error}") from error


def _shown(path: str | Path) -> str:
    text = str(path)
    return shortened(text if text.isprintable() else repr(text), 200)
