"""The lock of a folder: one process writes at a time. The operating system releases it when the process ends."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alma.folders import lock, unlock
from alma.storage.sqlite.connections import locked, unusable

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
