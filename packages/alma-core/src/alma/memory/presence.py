"""Whether the process that holds something is still there: a file that it keeps locked for as long as it lives."""

import contextlib
import os
import re
import sys
import threading
import uuid
from pathlib import Path

from alma.errors import CorruptStoreError, StorageError
from alma.forking import renewed_in_children
from alma.text import quoted

SUFFIX = ".holder"
ATTEMPTS = 20

_NAME = re.compile("[0-9a-f]{32}")


class Presence:
    """This open store, as others see it. The lock is the operating system's: it goes with the process, however that ends, and only then.

    Unlike a process number it cannot be mistaken for another's, also when containers share a folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        self._id = ""
        self._guard = threading.Lock()
        renewed_in_children(self)

    @property
    def id(self) -> str:
        """The name under which this store holds something, locked from now until `leave`. `StorageError` if that cannot be."""
        with self._guard:
            if self._descriptor is None:
                self._id, self._descriptor = self._entered()
            return self._id

    def is_there(self, holder: object) -> bool:
        """Whether that holder is still there. One that never was is not. `CorruptStoreError` for what is no name of one."""
        return holder == self._id or _is_locked(self._path(holder))

    def sweep(self) -> None:
        """Removes the files of holders that are gone, as far as the folder can be read."""
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{SUFFIX}"):
                if path.stem != self._id:
                    _remove_unless_locked(path)

    def leave(self) -> None:
        """Lets go of everything held."""
        with self._guard:
            if self._descriptor is not None:
                os.close(self._descriptor)
                with contextlib.suppress(OSError):  # somebody made it something else; the lock has gone all the same
                    self._path(self._id).unlink()
            self._descriptor, self._id = None, ""

    def renew_in_child(self) -> None:
        """Lets go of the parent's lock, which would outlive it otherwise, and becomes somebody else: what the parent holds stays the parent's."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._id, self._guard = None, "", threading.Lock()

    def _path(self, holder: object) -> Path:
        if not isinstance(holder, str) or not _NAME.fullmatch(holder):
            raise CorruptStoreError(f"{quoted(holder)} is no name of a holder; see `alma verify`")
        return self._folder / f"{holder}{SUFFIX}"

    def _entered(self) -> tuple[str, int]:
        for _ in range(ATTEMPTS):
            holder = uuid.uuid4().hex
            path = self._path(holder)
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            except OSError as error:
                raise StorageError(f"{path} cannot be made: {error.strerror or error}") from error
            if _lock(descriptor) and path.exists():  # else somebody swept it away between its making and its locking
                return holder, descriptor
            os.close(descriptor)
            with contextlib.suppress(OSError):
                path.unlink()
        raise StorageError(f"no file in {self._folder} can be locked; ALMA needs a file system that knows locks")


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:  # not ours to open: whoever made it may well be there
        return True
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)


def _remove_unless_locked(path: Path) -> None:
    """Removed while locked, so that a holder which makes its file at this moment sees that it has to make another."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR)
        try:
            if _lock(descriptor):
                path.unlink()
        finally:
            os.close(descriptor)


if sys.platform == "win32":  # pragma: no cover - run on Windows only
    import msvcrt

    def _lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
