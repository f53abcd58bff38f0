"""Writes a project to a file from one consistent snapshot: one JSON document per line, one memory per line."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOBase
from itertools import chain
from typing import BinaryIO, TextIO

from pydantic import BaseModel

from alma import __version__
from alma.errors import ValidationError
from alma.files import checked_target, new_file
from alma.memory import arguments as args
from alma.memory.arguments import Progress as Progress
from alma.memory.arguments import with_progress
from alma.memory.room import Room
from alma.protocols import Snapshot
from alma.text import quoted
from alma.types.custom import DEFINITIONS
from alma.types.exported import ExportEnd, ExportHeader, ExportReport

Target = str | os.PathLike[str] | BinaryIO | TextIO
Write = Callable[[bytes], object]

REPORT_EVERY = 100


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

    def work(on_progress: Progress | None) -> ExportReport:
        with _open(target, room) as write, room.project.snapshot(agent=owner, user=user) as stored:
            seq, head = stored.head()
            header = ExportHeader(
                alma=__version__,
                project=room.name,
                agent=owner,
                user_id=user,
                exported_at=room.store.clock(),
                embedder=room.store.texts.fingerprint,
                has_vectors=vectors,
                seq=seq,
                head=head,
                counts=stored.counts(),
            )
            return _write(write, header, stored, on_progress)

    return with_progress(progress, work)


def _write(write: Write, header: ExportHeader, stored: Snapshot, on_progress: Progress | None) -> ExportReport:
    digest, count, size = hashlib.sha256(), 0, 0

    def put(line: BaseModel) -> None:
        nonlocal count, size
        data = line.model_dump_json().encode() + b"\n"
        write(data)
        digest.update(data)
        count, size = count + 1, size + len(data)

    put(header)
    definitions = (record for record in stored.records() if record.kind == DEFINITIONS)  # a reader needs them before the memories
    for record in chain(definitions, (record for record in stored.records() if record.kind != DEFINITIONS)):
        put(record)
    total = header.counts.memories
    for done, memory in enumerate(stored.memories(vectors=header.has_vectors), start=1):
        put(memory)
        if on_progress and (done % REPORT_EVERY == 0 or done == total):
            on_progress(done, total)
    for purge in stored.purged():
        put(purge)
    sha256 = digest.hexdigest()
    put(ExportEnd(lines=count, sha256=sha256))
    return ExportReport(counts=header.counts, size=size, sha256=sha256)


@contextmanager
def _open(target: Target, room: Room) -> Iterator[Write]:
    if isinstance(target, str | os.PathLike):
        with new_file(checked_target(target, room.store.folder)) as file:
            yield file.write
    elif isinstance(target, TextIOBase):
        yield lambda data: target.write(data.decode())
    elif callable(write := getattr(target, "write", None)):
        yield write
    else:
        raise ValidationError(f"export needs a path or an open file, not {quoted(target)}")
