"""Imports an export: checks the whole file, embeds it, then stores it in one transaction. A project is redacted by importing its own export."""

import itertools
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from alma import journal
from alma.errors import ConflictError, ValidationError
from alma.memory import arguments as args
from alma.memory.arguments import IDS, Redaction, with_progress
from alma.memory.room import Room
from alma.memory.transfer.export import REPORT_EVERY, Progress, Target, export
from alma.memory.transfer.merging import Plan, plan_import
from alma.memory.transfer.reading import Line, SoundExport, key_of, opened_export, read_export, vector_in
from alma.protocols import NextWrite
from alma.storage.relational.rows import compared_text, text_hash
from alma.storage.relational.transfer import changes_for
from alma.text import shortened
from alma.types.episodes import LEASE
from alma.types.exported import ExportedCounts, ExportedMemory, ImportReport
from alma.types.reports import RedactReport
from alma.types.stored import OF_THIS_STORE, Erased
from alma_guard import kind_of_placeholder

EMBEDDED_AT_ONCE = 512
LINES_A_RECORD = 1_000
"""A large import is several journal records, so that none has to be held whole in memory."""

NAMED_CONFLICTS = 5
LONGEST_CONFLICT = 200
CHOICES = ("error", "skip", "merge")
_NAMES = IDS | {"owner"}
"""Columns that name something: what they hold is stored as it is, so it is no reason to store all again."""


def import_from(room: Room, source: Target, *, on_conflict: str = "error", progress: Progress | None = None) -> ImportReport:
    """Stores the content of an export in this project, in one transaction, after checking the whole file.

    `ValidationError` names the line of a file that is torn, foreign or unsound, and nothing is stored. Content that exists already is
    a `ConflictError`, skipped with `on_conflict="skip"`, or with "merge" compared: the newer version stays, and what one side purged
    goes, so the exports of clones result in the same content in any order. Evidence that both have is pooled: each outcome counts
    once. `progress` is called with the number of steps done and their total.
    """
    args.checked_choice(on_conflict, "on_conflict", CHOICES)
    return with_progress(progress, lambda on_progress: _import(room, source, on_progress, on_conflict))


def _import(room: Room, source: Target, on_progress: Progress | None, on_conflict: str) -> ImportReport:
    with opened_export(room, source, room.store.redaction) as read, room.store.spool() as spool:
        plan = plan_import(room, read, is_merge=on_conflict == "merge")
        if plan.conflicts and on_conflict == "error":
            raise _conflict(room, plan.conflicts)
        storing = Storing(room, read, plan, spool, on_progress)
        storing.embed()
        with room.project.writes(actor="", operation="import", at=room.now()) as next_write:
            storing.change(next_write)
            stored = storing.put(next_write)
    return ImportReport(
        project=read.header.project,
        stored=stored,
        skipped=ExportedCounts(**{name: count - getattr(stored, name) for name, count in read.counts}),
        changed=tuple(sorted(plan.changed)),
        deleted=tuple(sorted(plan.deleted)),
        claimed=tuple(one for one in read.claimed if one not in plan.left_out),
    )


def _conflict(room: Room, conflicts: list[str]) -> ConflictError:
    named = ", ".join(shortened(conflict, LONGEST_CONFLICT) for conflict in conflicts[:NAMED_CONFLICTS])
    more = f" and {len(conflicts) - NAMED_CONFLICTS:,} more" if len(conflicts) > NAMED_CONFLICTS else ""
    return ConflictError(
        f"project {room.name!r} has already {named}{more}; nothing was stored. "
        "on_conflict='skip' (`alma import --skip`) leaves those out and takes the rest"
    )


@dataclass(slots=True)
class Storing:
    """Stores an export as it is planned. `spool` holds the vectors, which may not fit in memory, `places` their places by the hash of the text.
    A step of progress is a memory embedded, or a memory stored."""

    room: Room
    export: SoundExport
    plan: Plan
    spool: BinaryIO
    on_progress: Progress | None = None
    places: dict[bytes, int] = field(default_factory=dict)
    done: int = 0
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = 2 * len(self.export.memories) - len(self.plan.left_out & self.export.memories.keys())

    def _step(self) -> None:
        self.done += 1
        if self.on_progress and (self.done % REPORT_EVERY == 0 or self.done == self.total):
            self.on_progress(self.done, self.total)

    def embed(self) -> None:
        """Finds the vector of every text that needs one: from the file, if it has the same embedder, else from the store or the model. The
        file has no vectors of strategies."""
        header, fingerprint = self.export.header, self.room.store.texts.fingerprint
        are_given = header.has_vectors and header.embedder == fingerprint
        waiting: dict[str, None] = {}
        for line in self.export.lines():
            if not isinstance(line, ExportedMemory):
                continue
            if line.id not in self.plan.left_out and (strategy := compared_text("memory", vars(line))):
                waiting[strategy] = None
            for passage in line.passages if self.plan.takes_words_of(line) else ():
                if not passage.is_embedded or text_hash(passage.text) in self.places:
                    continue
                if are_given and passage.vector is not None:
                    self._keep(passage.text, vector_in(passage.vector, fingerprint.dimension))
                else:
                    waiting[passage.text] = None
            self._step()
            if len(waiting) >= EMBEDDED_AT_ONCE:
                self._embed_now(waiting)
        self._embed_now(waiting)

    def _embed_now(self, waiting: dict[str, None]) -> None:
        for text, vector in self.room.store.texts.of(list(waiting), self.room.project).items():
            self._keep(text, vector)
        waiting.clear()

    def _keep(self, text: str, vector: bytes) -> None:
        self.places[text_hash(text)] = self.spool.seek(0, os.SEEK_END)
        self.spool.write(vector)

    def _vectors(self, texts: set[str]) -> dict[str, bytes]:
        found = {}
        for text in texts:
            self.spool.seek(self.places[text_hash(text)])
            found[text] = self.spool.read(2 * self.room.store.texts.fingerprint.dimension)
        return found

    def change(self, next_write: NextWrite) -> None:
        """Changes what is here already, before anything new is stored, and notes what was purged elsewhere."""
        plan = self.plan
        with next_write() as write:
            write.apply(plan.changes, self._vectors({text for text in plan.new_texts if text_hash(text) in self.places}))
            for key, version, body in plan.leases:
                write.drop_record(LEASE, key, body, version=version)
        if plan.purges:
            with next_write() as write:
                write.apply(plan.purges)

    def put(self, next_write: NextWrite) -> ExportedCounts:
        """Stores the lines that the project does not have, with a journal record for every `LINES_A_RECORD`."""
        counts: Counter[str] = Counter()
        wanted = (self.plan.fitted(line) for line in self.export.lines() if key_of(line) not in self.plan.left_out)
        while batch := list(itertools.islice(wanted, LINES_A_RECORD)):
            self._put(next_write, batch)
            for line in batch:
                if isinstance(line, ExportedMemory):
                    counts.update(memories=1, archived=int(line.archived_at is not None))
                    self._step()
                else:
                    counts["records"] += 1
        return ExportedCounts(**counts)

    def _put(self, next_write: NextWrite, batch: list[Line]) -> None:
        memories = [line for line in batch if isinstance(line, ExportedMemory)]
        texts = {passage.text for line in memories for passage in line.passages if passage.is_embedded}
        with next_write() as write:
            write.apply([change for line in batch for change in changes_for(line)], self._vectors(texts))
            write.keep_vectors(
                self._vectors({strategy for line in memories if (strategy := compared_text("memory", vars(line)))})
            )


def redact_existing(room: Room, *, dry_run: bool = False) -> RedactReport:
    """Replaces the secrets that this project holds from before it redacted, everywhere, in one transaction.

    With `dry_run` it only reports them. All is stored again without them, with the same ids, counts and rules, and new vectors. The former
    records of the journal are erased, for a secret may be in any: history begins with this call, which has no undo. `compact` then removes the
    last bytes from the files. `ConflictError` if another process writes meanwhile: nothing was changed then.
    """
    redaction = room.store.redaction
    if redaction.given == "off":
        raise ValidationError(
            'the store was opened with redact="off"; open it with "on", "personal" or a function to redact what it holds'
        )
    with room.store.spool() as file, room.store.spool() as copy, room.store.spool() as spool:
        export(room, file)
        file.seek(0)
        read = read_export(file, copy, redaction)
        history = sum(any(_holds_secret(redaction, change.after) for change in entry.changes) for entry in room.project.entries())
        kinds = Counter(map(kind_of_placeholder, read.secrets))
        found = RedactReport(project=room.name, rows=read.redacted, history=history, kinds=dict(sorted(kinds.items())))
        if dry_run or not (read.redacted or history):
            return found
        storing = Storing(room, read, Plan(), spool)
        storing.embed()

        def store(next_write: NextWrite, _: Erased) -> None:
            with next_write() as write:
                if write.seq != read.header.seq + 2:  # the record of the purge is between
                    raise ConflictError(
                        "the project was written to while its secrets were looked for; nothing was changed, so call it again"
                    )
            storing.put(next_write)

        memories, records = _ever_stored(room)
        erased = room.project.purge(memories, records=records, actor="", at=room.now(), then=store)
    room.forget_texts()
    room.index.drop_snapshot()
    return found.model_copy(update={"seq": None if erased is None else erased.seq})


def _holds_secret(redaction: Redaction, row: Mapping[str, Any] | None) -> bool:
    texts = {name: value for name, value in (row or {}).items() if name not in _NAMES}
    return bool(redaction.value(texts) != texts)


def _ever_stored(room: Room) -> tuple[list[str], list[str]]:
    """Returns the ids of all memories, names of retired rows, and names of all small records that there ever were, but for those of this store
    alone."""
    memories, records = dict[str, None](), dict[str, None]()
    for entry in room.project.entries():
        for change in entry.changes:
            if change.table in ("memory", journal.RETIRED_TABLE):
                memories[journal.entity(change.table, change.key)] = None
            elif change.table == "record" and change.key.partition("/")[0] not in OF_THIS_STORE:
                records[change.key] = None
    return list(memories), list(records)
