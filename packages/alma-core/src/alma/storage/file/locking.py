"""The lock of a folder: one process writes at a time. The operating system releases it when the process ends."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alma.storage.sqlite.driver_errors import locked, unusable

PAUSE = 0.002


@contextmanager
def locked_file(path: Path, *, seconds: float) -> Iterator[int]:
    """Holds the lock of a file inside the block. `StorageError` if it is not free in time."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise unusable(path, error) from error
    try:
        until = time.monotonic() + seconds
        while not lock(descriptor):
            if time.monotonic() >= until:
                raise locked(path.parent.parent, seconds)
            time.sleep(PAUSE)
        try:
            yield descriptor
        finally:
            unlock(descriptor)
    finally:
        os.close(descriptor)


if sys.platform == "win32":  # pragma: no cover - run on Windows only
    import msvcrt

    def lock(descriptor: int) -> bool:
        """Locks an open file, if it is free."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Unlocks an open file."""
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(descriptor: int) -> bool:
        """Locks an open file, if it is free."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Unlocks an open file, also where a forked child has inherited it."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)
