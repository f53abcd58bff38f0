"""Imports an export from an untrusted source: outcomes without the standing that the file gives them.

The file decides nothing beside its texts. Who judged its outcomes, what was released from quarantine, which rules were formed, how often
a memory was used: all of that is left out. Texts are screened and redacted, and rules formed, as if they came in one by one.
"""

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

from alma.errors import ValidationError
from alma.memory.learn.adding import GUESSED_CONFIDENCE, passages_by_kind
from alma.memory.progress import with_progress
from alma.memory.room import Room
from alma.memory.transfer.export import Progress, Target
from alma.memory.transfer.import_checks import Contents, checked_file, lines_between, memory_of
from alma.memory.transfer.importing import name_of, opened
from alma.memory.transfer.intake import AT_ONCE, Candidate, Tally, formed_rules, rule_counts, store
from alma.types.exported import ExportedMemory
from alma.types.kinds import VerdictSource
from alma.types.memories import AntiPattern, DomainKnowledge, Heuristic, Memory, Outcome
from alma.types.migrated import MigrationReport
from alma.types.provenance import IMPORTED

ARCHIVED = "it is archived there: replaced, forgotten, or in quarantine"
OF_A_USER = "it belongs to a user, for whom only that user speaks"
PURGED = "it was purged here"
RULE = "rules are formed anew from the outcomes"
PASSAGES = "passages of its own were left out: its text is searched"


def import_untrusted(room: Room, source: Target, *, dry_run: bool = False, progress: Progress | None = None) -> MigrationReport:
    """Stores the outcomes, facts, conversations and custom memories of an export, as a file from elsewhere."""
    return with_progress(progress, lambda on_progress: _imported(room, source, dry_run, on_progress))


def _imported(room: Room, source: Target, is_dry: bool, on_progress: Progress | None) -> MigrationReport:
    with opened(source) as given, room.store.spool() as file:
        given.seek(0)
        shutil.copyfileobj(given, file)  # what is checked is what is stored, whatever becomes of the file
        try:
            contents = checked_file(file)
        except ValidationError as error:
            raise ValidationError(f"{name_of(source)} cannot be imported: {error}; nothing was stored") from error
        return _Intake(room, contents, is_dry, room.store.clock()).run(file, name_of(source), on_progress)


@dataclass(slots=True)
class _Intake:
    """One run. Kinds are counted as they come."""

    room: Room
    contents: Contents
    is_dry: bool
    now: datetime
    tallies: dict[str, Tally] = field(default_factory=dict)

    def run(self, file: BinaryIO, name: str, on_progress: Progress | None) -> MigrationReport:
        """Stores the memories, each batch in a transaction."""
        before = rule_counts(self.room)
        memories = (line for line in lines_between(file) if isinstance(line, ExportedMemory))
        done = 0
        for kind, lines in itertools.groupby(memories, key=lambda line: line.kind):
            tally = self.tallies.setdefault(kind, Tally(kind))
            while batch := list(itertools.islice(lines, AT_ONCE)):
                tally.read += len(batch)
                store(self.room, list(self._candidates(batch, tally)), tally, dry_run=self.is_dry)
                done += len(batch)
                if on_progress:
                    on_progress(done, len(self.contents.memories))
        return MigrationReport(
            source=name,
            source_project=self.contents.header.project,
            project=self.room.name,
            dry_run=self.is_dry,
            kinds=tuple(self.tallies[kind].report() for kind in sorted(self.tallies)),
            rules={} if self.is_dry else formed_rules(self.room, before),
            not_read=self._not_read(),
        )

    def _candidates(self, lines: list[ExportedMemory], tally: Tally) -> Iterator[Candidate]:
        for line in lines:
            row = {"id": line.id}
            memory = memory_of(line, self.contents)
            if reason := self._reason_to_skip(line, memory):
                tally.skipped.add(reason, row)
                continue
            yield Candidate(self._without_standing(memory), row, _remarks(line, memory))

    def _reason_to_skip(self, line: ExportedMemory, memory: Memory) -> str | None:
        if line.archived_at is not None:
            return ARCHIVED
        if isinstance(memory, Heuristic | AntiPattern):
            return RULE
        if memory.user_id is not None:
            return OF_A_USER
        return PURGED if self.room.project.was_purged(memory.id) else None

    def _without_standing(self, memory: Memory) -> Memory:
        """Returns the memory as the word of a file. Its metadata are kept as data: none of them says what only ALMA says."""
        origin: dict[str, Any] = {"project": self.contents.header.project}
        if memory.metadata:
            origin["metadata"] = memory.metadata
        changes: dict[str, Any] = {"metadata": {IMPORTED: origin}, "confidence": min(memory.confidence, GUESSED_CONFIDENCE)}
        if isinstance(memory, Outcome):
            changes["verdict_source"] = VerdictSource.IMPORTED
        elif isinstance(memory, DomainKnowledge):
            origin["source"] = memory.source
            changes["source"] = IMPORTED
        times = {name: min(value, self.now) for name, value in memory if isinstance(value, datetime)}
        return memory.model_copy(update={**changes, **times})

    def _not_read(self) -> dict[str, int]:
        counts = {"records": len(self.contents.records), "evidence": len(self.contents.evidence)}
        return {name: count for name, count in counts.items() if count}


def _remarks(line: ExportedMemory, memory: Memory) -> tuple[str, ...]:
    """Returns what is changed. Only a memory's own text is screened, so passages that a caller gave beside it do not come in."""
    made = {passage.text for passage in passages_by_kind(memory)}
    return () if made.issuperset(passage.text for passage in line.passages) else (PASSAGES,)
