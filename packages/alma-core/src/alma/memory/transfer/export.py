"""Writes a project to a file from one consistent snapshot: one JSON document per line, one memory per line."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import TextIOBase
from typing import Any, BinaryIO, Protocol, TextIO

from pydantic import BaseModel

from alma import __version__
from alma.errors import ValidationError
from alma.files import checked_target, new_file
from alma.memory import arguments as args
from alma.memory.progress import Progress as Progress
from alma.memory.progress import with_progress
from alma.memory.room import Room
from alma.protocols import Snapshot
from alma.text import quoted
from alma.types.custom import DEFINITIONS
from alma.types.exported import (
    ExportedCounts,
    ExportedRecord,
    ExportEnd,
    ExportHeader,
    ExportReport,
)

Target = str | os.PathLike[str] | BinaryIO | TextIO

REPORT_EVERY = 100


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


@dataclass(slots=True)
class _Lines:
    """Writes lines, counts and hashes them."""

    sink: _Sink
    digest: Any = field(default_factory=hashlib.sha256)
    count: int = 0
    size: int = 0

    def put(self, line: BaseModel) -> None:
        data = line.model_dump_json().encode() + b"\n"
        self.sink.write(data)
        self.digest.update(data)
        self.count += 1
        self.size += len(data)


def export(
    room: Room,
    target: Target,
    *,
    agent: str | None = None,
    user_id: str | None = None,
    vectors: bool = False,
    progress: Progress | None = None,
) -> ExportReport:
    """Writes the content of the project, or of one agent or one user in it, to a path or an open file: JSON lines, lossless, from one consistent
    snapshot.

    A file appears under its name when it is whole, and replaces an older one. `ValidationError` for a path that is a folder, a link
    or a device, or a file of a store, which would be lost. `vectors` adds the vectors, which saves an import with the same embedder
    the work of the model. `progress` is called with the number of memories done and their total.
    """
    owner, user = args.optional_name(agent, "agent"), args.optional_name(user_id, "user_id")
    if owner is not None and user is not None:
        raise ValidationError("export takes an agent or a user_id, not both: what is of a user is exported for all agents")
    wanted = owner, user
    return with_progress(progress, lambda on_progress: _exported(room, target, wanted, on_progress, has_vectors=vectors))


def _exported(
    room: Room,
    target: Target,
    wanted: tuple[str | None, str | None],
    on_progress: Progress | None,
    *,
    has_vectors: bool,
) -> ExportReport:
    agent, user = wanted
    with _opened(target, room) as sink, room.project.snapshot(agent=agent, user=user) as stored:
        counts = stored.counts()
        lines = _Lines(sink)
        lines.put(_header(room, stored, counts, wanted, has_vectors=has_vectors))
        for record in _definitions_first(stored):
            lines.put(record)
        for done, memory in enumerate(stored.memories(vectors=has_vectors), start=1):
            lines.put(memory)
            if on_progress and (done % REPORT_EVERY == 0 or done == counts.memories):
                on_progress(done, counts.memories)
        for purge in stored.purged():
            lines.put(purge)
        digest = lines.digest.hexdigest()
        lines.put(ExportEnd(lines=lines.count, sha256=digest))
    return ExportReport(counts=counts, size=lines.size, sha256=digest)


def _header(
    room: Room, stored: Snapshot, counts: ExportedCounts, wanted: tuple[str | None, str | None], *, has_vectors: bool
) -> ExportHeader:
    seq, head = stored.head()
    return ExportHeader(
        alma=__version__,
        project=room.name,
        agent=wanted[0],
        user_id=wanted[1],
        exported_at=room.store.clock(),
        embedder=room.store.texts.fingerprint,
        has_vectors=has_vectors,
        seq=seq,
        head=head,
        counts=counts,
    )


def _definitions_first(stored: Snapshot) -> Iterator[ExportedRecord]:
    """Yields the small records. Definitions of kinds come first, so that a reader knows them before the memories."""
    yield from (record for record in stored.records() if record.kind == DEFINITIONS)
    yield from (record for record in stored.records() if record.kind != DEFINITIONS)


@contextmanager
def _opened(target: Target, room: Room) -> Iterator[_Sink]:
    if isinstance(target, str | os.PathLike):
        with new_file(checked_target(target, room.store.folder)) as file:
            yield file
    elif isinstance(target, TextIOBase):
        yield _AsText(target)
    elif callable(getattr(target, "write", None)):
        yield target  # type: ignore[misc] # an open binary file
    else:
        raise ValidationError(f"export needs a path or an open file, not {quoted(target)}")


@dataclass(frozen=True, slots=True)
class _AsText:
    file: TextIOBase

    def write(self, data: bytes) -> None:
        self.file.write(data.decode())
