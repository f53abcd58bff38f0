"""Driver and file-system errors, translated into errors of ALMA."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from alma.errors import CorruptStoreError, StorageError

BUSY_SECONDS = 30.0
"""How long a write waits for other processes."""

_SIGNS_OF_DAMAGE = ("malformed", "not a database", "no such ", "Could not decode")


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Translates errors of the driver and of the file system."""
    try:
        with DriverErrors(path):
            yield
    except OSError as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: OSError) -> StorageError:
    """The error for a file that the operating system refuses."""
    return StorageError(f"{path} cannot be used: {error.strerror or error}")


class DriverErrors:
    """Translates what the driver raises in a `with` block. Errors of other files than the database pass through."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):  # the driver also fails to decode damaged names
            raise _translated(error, self._path) from error


def _translated(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> StorageError:
    if isinstance(error, sqlite3.OperationalError):
        return _operational(error, path)
    if "not a database" in str(error):
        return CorruptStoreError(f"{path} is not an ALMA database; move it away or restore it from a backup")
    if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError) and not isinstance(error, sqlite3.ProgrammingError):
        return CorruptStoreError(f"{path} is damaged ({error}); restore it from a backup, or see `alma verify`")
    return StorageError(f"{path}: {error}")  # another thread closed it meanwhile


def _operational(error: sqlite3.OperationalError, path: Path) -> StorageError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return StorageError(f"{path} was locked by another process for more than {BUSY_SECONDS:.0f} s; try again")
    if any(sign in text for sign in _SIGNS_OF_DAMAGE):
        return CorruptStoreError(f"{path} is damaged ({text}); restore it from a backup")
    return StorageError(f"{path}: {text}")
