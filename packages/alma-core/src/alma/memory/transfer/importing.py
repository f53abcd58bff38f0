"""Imports an export: checks the whole file, embeds it, then stores it in one transaction."""

import hashlib
import io
import itertools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from alma.errors import ConflictError, ValidationError
from alma.files import checked_path, opened_file
from alma.memory import arguments as args
from alma.memory.episodes.records import LEASE
from alma.memory.progress import with_progress
from alma.memory.room import Room
from alma.memory.transfer.export import REPORT_EVERY, Progress, Target
from alma.memory.transfer.former_export import modern_export
from alma.memory.transfer.import_checks import Contents, Line, checked_file, decoded_vector, lines_between, lines_of, version_of
from alma.memory.transfer.merging import Merge, planned
from alma.memory.transfer.redacted_export import redacted_export
from alma.protocols import NextWrite, Write
from alma.storage.relational.transfer import changes_for
from alma.text import matched_text, quoted, shortened
from alma.types.custom import DEFINITIONS, stored_type
from alma.types.exported import (
    FORMER_VERSION,
    ExportedCounts,
    ExportedMemory,
    ExportedRecord,
    ImportReport,
)
from alma.types.identity import to_micros
from alma.types.kinds import MemoryType
from alma.types.stored import Change

EMBEDDED_AT_ONCE = 512
LINES_A_RECORD = 1_000
"""A large import is several journal records, so that none has to be held whole in memory."""

NAMED_CONFLICTS = 5
LONGEST_CONFLICT = 200
CHOICES = ("error", "skip", "merge")


@dataclass(slots=True)
class Present:
    """Content of a file that the project has already, and definitions of kinds that the file extends."""

    memories: set[str] = field(default_factory=set)
    records: set[tuple[str, str]] = field(default_factory=set)
    merge: Merge = field(default_factory=Merge)
    grown: list[Change] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)

    def fitted(self, line: Line) -> Line:
        """Returns the line as it is stored."""
        if isinstance(line, ExportedMemory):
            return self.merge.usages.get(line.id, line)
        return self.merge.records.get((line.kind, line.key), line)

    def has(self, line: Line) -> bool:
        """Returns whether the project has what a line holds."""
        if isinstance(line, ExportedMemory):
            return line.id in self.memories
        return (line.kind, line.key) in self.records

    def takes_words_of(self, line: ExportedMemory) -> bool:
        """Returns whether the passages of a line are stored: it is new, or newer than what is here."""
        return not self.has(line) or line.id in self.merge.said


def import_from(room: Room, source: Target, *, on_conflict: str = "error", progress: Progress | None = None) -> ImportReport:
    """Stores the content of an export in this project, in one transaction, after checking the whole file.

    `ValidationError` names the line of a file that is torn, foreign or unsound, and nothing is stored. Content that exists already is
    a `ConflictError`, skipped with `on_conflict="skip"`, or with "merge" compared: the newer version stays, and what one side purged
    goes, so the exports of clones result in the same content in any order. Evidence that both have is pooled: each outcome counts
    once. `progress` is called with the number of steps done and their total.
    """
    args.checked_choice(on_conflict, "on_conflict", CHOICES)
    return with_progress(progress, lambda on_progress: _imported(room, source, on_progress, on_conflict))


def _imported(room: Room, source: Target, on_progress: Progress | None, on_conflict: str) -> ImportReport:
    with opened(source) as given, room.store.spool() as spool, room.store.spool() as clean, room.store.spool() as renewed:
        try:
            file, claimed = renewed_export(given, renewed)
            if room.store.redaction.given != "off":
                file = redacted_export(file, room.store.redaction, clean)
            contents = checked_file(file)
        except ValidationError as error:
            raise ValidationError(f"{name_of(source)} cannot be imported: {error}; nothing was stored") from error
        present = _present(room, file, contents, is_merge=on_conflict == "merge")
        if present.conflicts and on_conflict == "error":
            raise _conflict(room, present.conflicts)
        steps = Steps(on_progress, 2 * len(contents.memories) - len(present.memories))
        vectors = Vectors(spool, 2 * room.store.texts.fingerprint.dimension)
        embed(room, file, contents, present, vectors, steps)
        stored = _store(room, file, contents, present, vectors, steps)
    skipped = {name: count - getattr(stored, name) for name, count in contents.counts}
    merge = present.merge
    return ImportReport(
        project=contents.header.project,
        stored=stored,
        skipped=ExportedCounts(**skipped),
        changed=tuple(sorted(merge.changed)),
        deleted=tuple(sorted(merge.deleted)),
        claimed=tuple(one for one in claimed if one not in present.memories),
    )


def renewed_export(file: BinaryIO, spool: BinaryIO) -> tuple[BinaryIO, list[str]]:
    """Returns the file, if it is of the former version as one of today's, with the ids of rules that it only claims. `ValidationError` if it is no
    sound export of the former version."""
    if version_of(file) != FORMER_VERSION:
        return file, []
    return spool, modern_export(file, checked_file(file), spool)


@dataclass(slots=True)
class Steps:
    """Reports progress: a step is a memory embedded, or a memory stored."""

    on_progress: Progress | None
    total: int
    done: int = 0

    def one(self) -> None:
        """Counts a step."""
        self.done += 1
        if self.on_progress and (self.done % REPORT_EVERY == 0 or self.done == self.total):
            self.on_progress(self.done, self.total)


@dataclass(slots=True)
class Vectors:
    """Vectors by text, on disk, because they may not fit in memory."""

    spool: BinaryIO
    size: int
    places: dict[str, int] = field(default_factory=dict)

    def put(self, text: str, vector: bytes) -> None:
        """Stores the vector of a text."""
        self.places[_key(text)] = self.spool.seek(0, os.SEEK_END)
        self.spool.write(vector)

    def get(self, text: str) -> bytes:
        """Returns the vector of a text."""
        self.spool.seek(self.places[_key(text)])
        return self.spool.read(self.size)

    def __contains__(self, text: str) -> bool:
        return _key(text) in self.places


def _key(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _present(room: Room, file: BinaryIO, contents: Contents, *, is_merge: bool) -> Present:
    present = Present()
    if room.project.head() == 0 and not (is_merge and contents.purged):
        return present
    for memory_id in room.project.find(sorted(contents.memories)):
        present.memories.add(memory_id)
        present.conflicts.append(f"memory {memory_id}")
    if is_merge:
        present.merge = planned(room, lambda: lines_between(file), contents.purged)
    present.memories |= present.merge.dead_memories & contents.memories
    present.records |= present.merge.dead_records & contents.records
    for line in lines_between(file):
        if isinstance(line, ExportedRecord):
            _look_at_record(room, line, present, is_merge=is_merge)
    return present


def _look_at_record(room: Room, line: ExportedRecord, present: Present, *, is_merge: bool) -> None:
    version, body = room.project.record(line.kind, [line.key])[line.key]
    if not version:
        return
    present.records.add((line.kind, line.key))
    if body == line.body or is_merge:
        return
    if line.kind != DEFINITIONS:
        present.conflicts.append(f"record {line.kind}/{line.key}")
        return
    merged = stored_type(body).merged(stored_type(line.body)).model_dump(mode="json")
    if merged != body:
        after = {"version": version + 1, "body": merged, "updated_at": to_micros(room.store.clock())}
        present.grown.append(Change("record", f"{line.kind}/{line.key}", {"version": version, "body": body}, after))


def _conflict(room: Room, conflicts: list[str]) -> ConflictError:
    named = ", ".join(shortened(conflict, LONGEST_CONFLICT) for conflict in conflicts[:NAMED_CONFLICTS])
    more = f" and {len(conflicts) - NAMED_CONFLICTS:,} more" if len(conflicts) > NAMED_CONFLICTS else ""
    return ConflictError(
        f"project {room.name!r} has already {named}{more}; nothing was stored. "
        "on_conflict='skip' (`alma import --skip`) leaves those out and takes the rest"
    )


def embed(room: Room, file: BinaryIO, contents: Contents, present: Present, vectors: Vectors, steps: Steps) -> None:
    """Finds the vector of every text that needs one: from the file, if it has the same embedder, else from the store or the model. The
    file has no vectors of strategies."""
    are_given = contents.header.has_vectors and contents.header.embedder == room.store.texts.fingerprint
    waiting: dict[str, None] = {}
    for line in lines_between(file):
        if not isinstance(line, ExportedMemory):
            continue
        if not present.has(line) and (strategy := _strategy(line)):
            waiting[strategy] = None
        steps.one()
        for passage in line.passages if present.takes_words_of(line) else ():
            if not passage.is_embedded or passage.text in vectors:
                continue
            if are_given and passage.vector is not None:
                vectors.put(passage.text, decoded_vector(passage.vector))
            else:
                waiting[passage.text] = None
        if len(waiting) >= EMBEDDED_AT_ONCE:
            _embed_now(room, waiting, vectors)
    _embed_now(room, waiting, vectors)


def _embed_now(room: Room, waiting: dict[str, None], vectors: Vectors) -> None:
    for text, vector in room.store.texts.of(list(waiting), room.project).items():
        vectors.put(text, vector)
    waiting.clear()


def _store(room: Room, file: BinaryIO, contents: Contents, present: Present, vectors: Vectors, steps: Steps) -> ExportedCounts:
    """Stores everything in one transaction, with a journal record for every `LINES_A_RECORD` lines."""
    with room.project.writes(actor="", operation="import", at=room.now()) as next_write:
        _change(next_write, present, vectors)
        return put(next_write, file, contents, present, vectors, steps)


def _change(next_write: NextWrite, present: Present, vectors: Vectors) -> None:
    """Changes what is here already, before anything new is stored, and notes what was purged elsewhere."""
    merge = present.merge
    texts = {
        str(change.after["text"])
        for change in merge.changes
        if change.table == "passage" and change.after and "text" in change.after
    }
    with next_write() as write:
        write.apply([*present.grown, *merge.changes], {text: vectors.get(text) for text in texts if text in vectors})
        for key, version, body in merge.leases:
            write.drop_record(LEASE, key, body, version=version)
    if merge.purges:
        with next_write() as write:
            write.apply(merge.purges)


def put(
    next_write: NextWrite, file: BinaryIO, contents: Contents, present: Present, vectors: Vectors, steps: Steps
) -> ExportedCounts:
    """Stores the lines that the project does not have. `ConflictError` if the file has changed since it was checked."""
    counts: Counter[str] = Counter()
    wanted = (present.fitted(line) for line in lines_between(file) if not present.has(line))
    while batch := list(itertools.islice(wanted, LINES_A_RECORD)):
        with next_write() as write:
            _apply(write, batch, vectors)
        for line in batch:
            counts[_COUNTED[type(line)]] += 1
            if isinstance(line, ExportedMemory):
                counts["archived"] += line.archived_at is not None
                steps.one()
    if _digest(file) != contents.sha256:
        raise ConflictError("the file was changed while it was read; nothing was stored")
    return ExportedCounts(**counts)


_COUNTED = {ExportedMemory: "memories", ExportedRecord: "records"}


def _strategy(line: ExportedMemory) -> str | None:
    """Returns the text by which the strategy of an outcome is compared with others."""
    strategy = line.body.get("strategy_used") if line.kind == MemoryType.OUTCOME else None
    return matched_text(strategy) if strategy else None


def _apply(write: Write, batch: list[Line], vectors: Vectors) -> None:
    memories = [line for line in batch if isinstance(line, ExportedMemory)]
    texts = {passage.text for line in memories for passage in line.passages if passage.is_embedded}
    write.apply([change for line in batch for change in changes_for(line)], {text: vectors.get(text) for text in texts})
    compared = {strategy for line in memories if (strategy := _strategy(line))}
    write.keep_vectors({text: vectors.get(text) for text in compared})


def _digest(file: BinaryIO) -> str:
    """Returns the digest that the closing line should state of the lines before it."""
    digest = hashlib.sha256()
    previous = b""
    for _, data in lines_of(file):
        digest.update(previous)
        previous = data
    return digest.hexdigest()


@contextmanager
def opened(source: Target) -> Iterator[BinaryIO]:
    """Opens a file that can be read from its start repeatedly."""
    if isinstance(source, str | os.PathLike):
        with opened_file(checked_path(source)) as file:
            if file.seekable():
                yield file
            else:  # a pipe, as of a shell's `<(…)`
                with _copied(file) as copy:
                    yield copy
    elif isinstance(source, io.TextIOBase):
        yield io.BytesIO(source.read().encode("utf-8", "surrogatepass"))
    elif callable(getattr(source, "read", None)):
        with _copied(cast(BinaryIO, source)) as copy:
            yield copy
    else:
        raise ValidationError(f"an import needs a path or an open file, not {quoted(source)}")


@contextmanager
def _copied(source: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(source, copy)
        yield copy


def name_of(source: Target) -> str:
    """Returns the path of a source, or the name of an open file."""
    return str(source) if isinstance(source, str | os.PathLike) else str(getattr(source, "name", "the file"))
