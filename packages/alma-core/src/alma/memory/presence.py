"""Detects whether the process that holds an episode still runs, by a file that it keeps locked while it lives."""

import contextlib
import os
import re
import threading
import uuid
from pathlib import Path

from alma.errors import CorruptStoreError, StorageError
from alma.folders import lock
from alma.forking import renewed_in_children
from alma.text import quoted

SUFFIX = ".holder"
ATTEMPTS = 20

_NAME = re.compile("[0-9a-f]{32}")


class Presence:
    """Identity of this open store, visible to other processes. The operating system releases its lock when the process ends, and only
    then.

    Unlike a process number it is never reused, and it works when containers share a folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        self._id = ""
        self._guard = threading.RLock()
        renewed_in_children(self)

    @property
    def id(self) -> str:
        """Name under which this store holds episodes, locked from the first read until `leave`. `StorageError` if it cannot be locked."""
        with self._guard:
            if self._descriptor is None:
                self._id, self._descriptor = self._entered()
            return self._id

    def is_there(self, holder: object) -> bool:
        """Returns True when that holder still runs. `CorruptStoreError` for an invalid name."""
        return holder == self._id or _is_locked(self._path(holder))

    def sweep(self) -> None:
        """Removes the files of holders that no longer run, as far as the folder can be read."""
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{SUFFIX}"):
                if path.stem != self._id:
                    _remove_unless_locked(path)

    def leave(self) -> None:
        """Releases everything that this store holds."""
        with self._guard:
            if self._descriptor is not None:
                os.close(self._descriptor)
                with contextlib.suppress(OSError):  # another program replaced it; the lock is released all the same
                    self._path(self._id).unlink()
            self._descriptor, self._id = None, ""

    def renew_in_child(self) -> None:
        """Releases the parent's lock, which would outlive the parent otherwise, and takes a new identity: what the parent holds stays the
        parent's."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._id, self._guard = None, "", threading.RLock()

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
            if lock(descriptor) and path.exists():  # otherwise another process removed it between creation and locking
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
    except OSError:  # not ours to open: its owner may well be running
        return True
    try:
        return not lock(descriptor)
    finally:
        os.close(descriptor)


def _remove_unless_locked(path: Path) -> None:
    """Removes the file while it is locked, so that a holder which creates it at this moment notices and creates another."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR)
        try:
            if lock(descriptor):
                path.unlink()
        finally:
            os.close(descriptor)
