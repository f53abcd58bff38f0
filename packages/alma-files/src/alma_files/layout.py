"""Where things lie in the folder of a file store, and how they get there whole."""

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from zlib import crc32

from alma import folders
from alma.errors import CorruptStoreError, StorageError
from alma.files import STORE_HEADER
from alma.folders import lock
from alma.journal import JournalRecord
from alma.storage.sqlite.connections import storage_errors

FORMAT, FORMER_FORMAT = 2, 1
"""Format of the header that is written, and that of stores of a former version: their journals lead to counts and learned rules, too."""

_PLAIN = re.compile("[a-z0-9][a-z0-9_-]{0,60}")

_NOTED = re.compile(rb"((\d{20}) ([0-9a-f]{64})) ([0-9a-f]{8})\n")

HEAD_ENDING = ".head"

State = Mapping[str, tuple[int, int, int]]
"""Inode, size and time of change of each file, by name."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one store."""

    folder: Path

    @property
    def cache(self) -> Path:
        """The folder that may be deleted at any time while the store is closed."""
        return self.folder / "cache"

    @property
    def lock(self) -> Path:
        """The file whose lock a writer holds."""
        return self.cache / "lock"

    def journal(self, project: str) -> Path:
        """The journal of a project."""
        if _PLAIN.fullmatch(project):
            return self.folder / f"{project}.jsonl"
        digest = hashlib.sha256(project.encode()).hexdigest()[:8]
        return self.folder / f"{quote(project, safe='')[:60]}-{digest}.jsonl"

    def head(self, journal: Path) -> Path:
        """The file beside a journal that has number and hash of its newest record."""
        return journal.with_suffix(HEAD_ENDING)

    def begin(self) -> None:
        """Makes the folders. `StorageError` if that cannot be."""
        with storage_errors(self.folder):
            self.cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            ignored = self.folder / ".gitignore"
            if not ignored.exists():
                ignored.write_text("/cache/\n/.*.new\n", encoding="utf-8")

    def state(self) -> State:
        """One cheap look at what may have changed."""
        with storage_errors(self.folder), os.scandir(self.folder) as entries:
            found = {}
            for entry in entries:
                if entry.name.endswith(".jsonl") or entry.name == STORE_HEADER:
                    stat = os.stat(entry.path)
                    found[entry.name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            return found

    def read_header(self) -> dict[str, str] | None:
        """The values of the store; `None` if there is none here. `CorruptStoreError` if they are not as they were written."""
        path = self.folder / STORE_HEADER
        with storage_errors(path):
            if not path.exists():
                return None
            data = path.read_bytes()
        try:
            found = json.loads(data)
            version, values, checksum = found["format"], dict(found["values"]), found["checksum"]
        except (ValueError, TypeError, KeyError) as error:
            raise CorruptStoreError(f"{path} is not readable: {error}; restore it, from git say") from error
        if version not in (FORMAT, FORMER_FORMAT):
            raise StorageError(f"{path} has format {version!r}; this ALMA reads format {FORMAT}")
        if checksum != _checksum(values):
            raise CorruptStoreError(f"{path} was edited or merged; restore it, from git say")
        return {str(key): str(value) for key, value in values.items()}

    def is_former(self) -> bool:
        """Returns True if a former version wrote the header."""
        path = self.folder / STORE_HEADER
        with storage_errors(path):
            return path.exists() and json.loads(path.read_bytes())["format"] == FORMER_FORMAT

    def write_header(self, values: Mapping[str, str]) -> None:
        """Puts the values of the store in place of those before."""
        found = {"format": FORMAT, "values": dict(sorted(values.items())), "checksum": _checksum(values)}
        self.replace(self.folder / STORE_HEADER, json.dumps(found, indent=2, ensure_ascii=False).encode() + b"\n")

    def replace(self, path: Path, data: bytes) -> None:
        """Writes a file whole: temporary name, fsync, rename."""
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
        with storage_errors(path):
            try:
                with draft.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
                folders.sync(path.parent)
            finally:
                draft.unlink(missing_ok=True)

    def append(self, path: Path, data: bytes) -> int:
        """Appends whole lines and syncs them, and gives the size before; nothing of them is left if that fails."""
        is_new = not path.exists()
        with storage_errors(path):
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
            try:
                size = os.fstat(descriptor).st_size
                try:
                    written = 0
                    while written < len(data):
                        written += os.write(descriptor, data[written:])
                    os.fsync(descriptor)
                except BaseException:
                    os.ftruncate(descriptor, size)
                    raise
            finally:
                os.close(descriptor)
            if is_new:
                folders.sync(path.parent)
        return size

    def note_newest(self, path: Path, record: JournalRecord) -> None:
        """Writes number and hash of the newest record beside its journal, after the journal is synced.

        No fsync: after a crash it is older than the journal, torn or not there, never newer. So is it where it cannot be written.
        """
        noted = f"{record.seq:020d} {record.hash.hex()}".encode()
        line = b"%b %08x\n" % (noted, crc32(noted))  # so that a torn line is none
        with suppress(OSError), open(os.open(self.head(path), os.O_CREAT | os.O_RDWR, 0o600), "r+b", buffering=0) as file:
            if file.read() != line:
                file.seek(0)
                file.write(line)
                file.truncate()

    def check_newest(self, path: Path, records: Sequence[JournalRecord]) -> None:
        """`CorruptStoreError` if a journal with these records, all that it has, lacks the record that was noted beside it."""
        head = self.head(path)
        with storage_errors(head):
            if not head.exists():
                return
            noted = _NOTED.fullmatch(head.read_bytes())
        seq = int(noted[2]) if noted and crc32(noted[1]) == int(noted[4], 16) else 0
        if len(records) < max(seq, 1) or (noted and seq and records[seq - 1].hash.hex().encode() != noted[3]):
            raise CorruptStoreError(
                f"{path} has {len(records)} records and lacks record {seq or 1}, which was written to it: it was emptied, cut or replaced. "
                f"Restore it, from git say; if an older state was put there on purpose, delete {head.name}, too"
            )

    def truncate(self, path: Path, size: int) -> None:
        """Cuts off what a crash left."""
        with storage_errors(path), path.open("r+b") as file:
            file.truncate(size)
            os.fsync(file.fileno())

    def sweep(self) -> None:
        """Deletes what processes that were killed left behind. The caller holds the lock."""
        for draft in self.folder.glob(".*.new"):
            draft.unlink(missing_ok=True)
        for place in self.cache.glob("projection-*"):
            try:
                descriptor = os.open(place / "lock", os.O_RDWR)
            except OSError:
                shutil.rmtree(place, ignore_errors=True)
                continue
            if lock(descriptor):
                shutil.rmtree(place, ignore_errors=True)
            os.close(descriptor)


def _checksum(values: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(values.items())).encode()).hexdigest()
