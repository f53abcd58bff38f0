"""Driver and file-system errors, translated into errors of ALMA."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from alma.errors import CorruptStoreError, StorageError

BUSY_SECONDS = 30.0
"""How long a call waits for other processes, unless the store or the caller asks for another time."""

_SIGNS_OF_DAMAGE = ("malformed", "not a database", "Could not decode")

_SIGNS_OF_NO_ACCESS = ("unable to open", "readonly")


@contextmanager
def storage_errors(path: Path, waits: Callable[[], float] | None = None) -> Iterator[None]:
    """Translates errors of the driver and of the file system; `waits` as for `DriverErrors`."""
    try:
        with DriverErrors(path, waits):
            yield
    except OSError as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: OSError) -> StorageError:
    """The error for a file that the operating system refuses."""
    return StorageError(f"{path} cannot be used: {error.strerror or error}")


class DriverErrors:
    """Translates what the driver raises in a `with` block. Errors of other files than the database pass through."""

    def __init__(self, path: Path, waits: Callable[[], float] | None = None) -> None:
        """`waits` gives the seconds that a call waits for a lock, `BUSY_SECONDS` by default."""
        self._path = path
        self._waits = waits or (lambda: BUSY_SECONDS)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):  # the driver also fails to decode damaged names
            raise _translated(error, self._path, self._waits()) from error


def locked(path: Path, seconds: float) -> StorageError:
    """The error for a file that others write to for longer than a call waits."""
    return StorageError(f"{path} was locked by another process for more than {seconds:g} s; try again")


def _translated(error: sqlite3.Error | UnicodeDecodeError, path: Path, waited: float) -> StorageError:
    if isinstance(error, sqlite3.OperationalError):
        return _operational(error, path, waited)
    if "not a database" in str(error):
        return CorruptStoreError(f"{path} is not an ALMA database; move it away or restore it from a backup")
    if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError) and not isinstance(error, sqlite3.ProgrammingError):
        return CorruptStoreError(f"{path} is damaged ({error}); restore it from a backup, or see `alma verify`")
    return StorageError(f"{path}: {error}")  # another thread closed it meanwhile


def _operational(error: sqlite3.OperationalError, path: Path, waited: float) -> StorageError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return locked(path, waited)
    if "no such " in text:
        return CorruptStoreError(
            f"{path} is damaged, or a newer ALMA has changed its tables since it was opened here ({text}); open it again, with that version "
            "if there is one, or else restore it from a backup"
        )
    if any(sign in text for sign in _SIGNS_OF_DAMAGE):
        return CorruptStoreError(f"{path} is damaged ({text}); restore it from a backup")
    if any(sign in text for sign in _SIGNS_OF_NO_ACCESS):
        return StorageError(f"{path}: {text}; SQLite has to read and write it, and to write in its folder, also for a look")
    return StorageError(f"{path}: {text}")
