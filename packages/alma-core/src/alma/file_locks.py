"""Locks on open files. The operating system releases one when its process ends, however it ends."""

import sys

if sys.platform == "win32":  # pragma: no cover - run on Windows only
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
