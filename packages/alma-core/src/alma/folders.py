"""Folders: temporary files in them, the removal of those that killed processes left, and fsync. Locks on open files and on folders.

The operating system releases a lock when its process ends, however it ends.

A process that makes a temporary file holds a shared lock on the folder meanwhile, which the operating system releases with the process. A
process with the exclusive lock therefore knows that every temporary file in the folder is left over. Where a folder cannot be locked,
nothing is removed.
"""

import contextlib
import glob
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def making_in(folder: Path) -> Iterator[None]:
    """Prevents other processes from removing temporary files in a folder."""
    with _locked(folder, alone=False):
        yield


def sweep(folder: Path, pattern: str) -> int:
    """Deletes the temporary files of a folder whose names match, unless one may still be in use. Returns their number."""
    names = [Path(name) for name in glob.iglob(os.path.join(glob.escape(str(folder)), pattern), include_hidden=True)]
    if not names:
        return 0
    with _locked(folder, alone=True) as is_locked:
        return sum(_deleted(name) for name in names) if is_locked else 0


def sync(path: Path) -> None:
    """Syncs a file, or the names in a folder, to disk."""
    is_folder = path.is_dir()
    if is_folder and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _deleted(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:  # another process was quicker, or the folder is read-only
        return False
    return True


if sys.platform == "win32":  # pragma: no cover - run on Windows only, where folders cannot be locked
    import msvcrt

    def lock(descriptor: int) -> bool:
        """Locks an open file if it is free, and returns whether it was."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Unlocks an open file."""
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

    @contextmanager
    def _locked(folder: Path, *, alone: bool) -> Iterator[bool]:
        yield False

else:
    import fcntl

    def lock(descriptor: int) -> bool:
        """Locks an open file if it is free, and returns whether it was."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Unlocks an open file, also where a forked child has inherited it."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    @contextmanager
    def _locked(folder: Path, *, alone: bool) -> Iterator[bool]:
        """Locks the folder and yields whether it is locked: shared, which waits for a sweep to end, or exclusively, which does not
        wait."""
        with contextlib.ExitStack() as stack:
            is_locked = False
            with contextlib.suppress(OSError):  # an unreadable folder, or a file system without locks
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
                # closing is not enough where a forked child has inherited the descriptor
                stack.callback(fcntl.flock, descriptor, fcntl.LOCK_UN)
                is_locked = True
            yield is_locked
