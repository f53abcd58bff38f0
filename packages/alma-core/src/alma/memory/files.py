"""Files that callers name: written whole or not at all, never onto a store, readable by their owner only."""

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
from alma.storage.connections import is_open_here
from alma.text import shortened

_OF_A_STORE = ("-wal", "-shm", "-journal", ".holder", ".index")
_BESIDE_A_STORE = ("config.yaml", ".gitignore")
_DATABASE = b"SQLite format 3\0"
_DRAFT_NAME = 40


def checked_path(value: str | os.PathLike[str]) -> Path:
    """The path that was given. `ValidationError` if it is empty or no file system could have it."""
    text = os.fsdecode(value)
    if not text:
        raise ValidationError("the path is empty; name a file")
    try:
        is_possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise ValidationError(f"{_told(text)} cannot be the path of a file")
    return Path(text)


def checked_target(value: str | os.PathLike[str], store: Path) -> Path:
    """A path that may be written to: a new one or that of an ordinary file, no symbolic link, nothing that a store is made of.

    `store` is the folder of the store that is open, whose configuration is refused as well. `ValidationError` otherwise.
    """
    path = checked_path(value)
    with _storage_errors(path, "written"):
        if path.is_dir():
            raise ValidationError(f"{_told(path)} is a folder; name a file")
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise ValidationError(f"{_told(path)} is a link or a device, not an ordinary file; name the file itself")
        if _is_of_a_store(path, store):
            raise ValidationError(f"{_told(path)} belongs to a store of ALMA, which would be lost; name another file")
    return path


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that has its name only once it is whole and on disk; only its owner may read it."""
    drafts = f".{path.name[:_DRAFT_NAME]}."
    draft = path.with_name(f"{drafts}{uuid.uuid4().hex}.new")
    folders.sweep(path.parent, f"{glob.escape(drafts)}*.new")
    with _storage_errors(path, "written"), folders.making_in(path.parent):
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def opened_file(path: Path) -> Iterator[BinaryIO]:
    """The file, open for reading. `ValidationError` for a database that is open: closing the file would end the locks that guard it."""
    if is_open_here(path):
        raise ValidationError(f"{_told(path)} is a database that is open, not an export")
    with _storage_errors(path, "read"), path.open("rb") as file:
        yield file


def _is_of_a_store(path: Path, store: Path) -> bool:
    name = path.name.casefold()
    if path.parent.resolve() == store.resolve() and (name.endswith(_OF_A_STORE) or name in _BESIDE_A_STORE):
        return True
    if not path.exists():
        return False
    beside = [file for file in store.glob("*") if file.name.endswith(_OF_A_STORE) or file.name in _BESIDE_A_STORE]
    return _is_database(path) or any(_is_same(path, file) for file in beside)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except FileNotFoundError:  # its store was closed meanwhile
        return False


def _is_database(path: Path) -> bool:
    if is_open_here(path):
        return True
    with path.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


@contextmanager
def _storage_errors(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{_told(path)} cannot be {done}: {error.strerror or error}") from error


def _told(path: str | Path) -> str:
    text = str(path)
    return shortened(text if text.isprintable() else repr(text), 200)
