"""Takes in what another program or another person recorded: each batch in a transaction, and what is here already left alone.

The file of another person decides nothing beside its texts. Who judged its outcomes, what was released from quarantine, which rules were formed,
how often a memory was used: all of that is left out. Texts are screened and redacted, and rules formed, as if they came in one by one.
"""

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from alma.errors import ConflictError
from alma.memory.arguments import Progress, with_progress
from alma.memory.learn.adding import GUESSED_CONFIDENCE, add_each
from alma.memory.learn.sessions import passages_by_kind
from alma.memory.room import Room
from alma.memory.rules import owners_with_outcomes, rules_of
from alma.memory.transfer.export import Target
from alma.memory.transfer.reading import SoundExport, memory_of, opened_export
from alma.text import quoted, shortened
from alma.types.exported import ExportedMemory
from alma.types.kinds import VerdictSource
from alma.types.memories import AntiPattern, DomainKnowledge, Heuristic, Memory, Outcome
from alma.types.provenance import IMPORTED
from alma.types.reports import MigratedKind, MigrationReport, Remark
from alma.types.strategies import SIDES

AT_ONCE = 500
"""Number of memories in a transaction."""

MOST_REASONS = 40
LONGEST = 200
OTHER = "another reason"
CHANGED = "it was imported before, with other words"
ARCHIVED = "it is archived there: replaced, forgotten, or in quarantine"
OF_A_USER = "it belongs to a user, for whom only that user speaks"
PURGED = "it was purged here"
RULE = "rules are formed anew from the outcomes"
PASSAGES = "passages of its own were left out: its text is searched"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be stored, or the reason why it is skipped, with the row that it was read from, and what was changed in reading it."""

    memory: Memory | str
    row: Mapping[str, object]
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class _Remarks:
    """Counts of rows by reason, and the id of the first row of each. The list stays short, however many rows there are."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, row: Mapping[str, object]) -> None:
        kept = shortened(reason, LONGEST)
        if kept not in self.counts and len(self.counts) >= MOST_REASONS:
            kept = OTHER
        name = row.get("id")
        is_plain = isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST
        self.counts[kept] += 1
        self.first.setdefault(kept, str(name) if is_plain else quoted(name))

    def listed(self) -> tuple[Remark, ...]:
        """Returns the reasons, ordered by most rows."""
        by_rows = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(Remark(reason=reason, rows=count, first=self.first[reason]) for reason, count in by_rows)


@dataclass(slots=True)
class _Tally:
    counts: Counter[str] = field(default_factory=Counter)
    skipped: _Remarks = field(default_factory=_Remarks)
    changed: _Remarks = field(default_factory=_Remarks)


class Intake:
    """One import. `total` is the number of rows, for progress; kinds are counted as they come."""

    def __init__(self, room: Room, *, dry_run: bool, total: int, on_progress: Progress | None) -> None:
        self.room, self.is_dry, self.total, self.on_progress = room, dry_run, total, on_progress
        self.done, self.tallies, self.rules_before = 0, dict[str, _Tally](), self._count_rules()

    def take(self, kind: str, candidates: Iterator[Candidate]) -> None:
        """Stores the memories of one kind that are absent."""
        tally = self.tallies.setdefault(kind, _Tally())
        while batch := list(itertools.islice(candidates, AT_ONCE)):
            tally.counts["read"] += len(batch)
            for one in batch:
                if isinstance(one.memory, str):
                    tally.skipped.add(one.memory, one.row)
            self._store([(one.memory, one) for one in batch if not isinstance(one.memory, str)], tally)
            self.done += len(batch)
            if self.on_progress:
                self.on_progress(self.done, self.total)

    def report(self, *, source: str, source_project: str, not_read: Mapping[str, int]) -> MigrationReport:
        """Returns what was done."""
        kinds = (
            MigratedKind(kind=kind, **tally.counts, skipped=tally.skipped.listed(), changed=tally.changed.listed())
            for kind, tally in self.tallies.items()
        )
        rules = {} if self.is_dry else self._count_rules()
        return MigrationReport(
            source=source,
            source_project=source_project,
            project=self.room.name,
            dry_run=self.is_dry,
            kinds=tuple(kinds),
            rules={kind: count - self.rules_before[kind] for kind, count in rules.items()},
            not_read={name: count for name, count in not_read.items() if count},
        )

    def _store(self, found: Sequence[tuple[Memory, Candidate]], tally: _Tally) -> None:
        """Stores what is absent. If another process imports the same at this moment, the memories that it stored count as present."""
        new = list(self._find_absent(found, tally))
        memories = [memory for memory, _ in new]
        try:
            refused = add_each(self.room, memories, operation="import", dry_run=self.is_dry)
        except ConflictError:
            if not self.room.project.find(memory.id for memory in memories):
                raise
            self._store(new, tally)
            return
        for place, (_, one) in enumerate(new):
            if place in refused:
                tally.skipped.add(refused[place], one.row)
                continue
            tally.counts["stored"] += 1
            for remark in one.remarks:
                tally.changed.add(remark, one.row)

    def _find_absent(self, found: Iterable[tuple[Memory, Candidate]], tally: _Tally) -> Iterator[tuple[Memory, Candidate]]:
        project = self.room.project
        places = project.find(memory.id for memory, _ in found)
        kept = project.memories([place.memory for place in places.values()])
        for memory, one in found:
            place = places.get(memory.id)
            if place is None:
                yield memory, one
            elif place.memory in kept and kept[place.memory].text != self.room.store.redaction.value(memory).text:
                tally.skipped.add(CHANGED, one.row)
            else:
                tally.counts["present"] += 1

    def _count_rules(self) -> dict[str, int]:
        """Returns the number of rules that follow from the outcomes of the project, by kind."""
        room = self.room
        found = {rule.id: rule.record.side for agent, user in owners_with_outcomes(room) for rule in rules_of(room, agent, user)}
        return {kind: sum(each == side for each in found.values()) for kind, side in SIDES.items()}


def import_untrusted(room: Room, source: Target, *, dry_run: bool = False, progress: Progress | None = None) -> MigrationReport:
    """Stores the outcomes, facts, conversations and custom memories of an export that another person made, as the word of a file.

    Outcomes are judged by "imported", whatever the file says, so they are in no proven rule; facts have the source "imported". Rules
    are formed from the outcomes, suspicious texts go to quarantine, and metadata are kept under the key `imported`. Rules, usage,
    evidence, episodes, archived memories, what belongs to a user and what was purged here are left out and counted; so are passages
    that a caller gave beside a memory's own text. Memories that are here already are left alone, so the call can be repeated.
    Each 500 are one transaction. With `dry_run` nothing is stored. `ValidationError` for a file that is torn or unsound.
    """

    def work(on_progress: Progress | None) -> MigrationReport:
        with opened_export(room, source, replace(room.store.redaction, given="off")) as export:  # each memory is redacted below
            intake = Intake(room, dry_run=dry_run, total=len(export.memories), on_progress=on_progress)
            now = room.store.clock()
            memories = (line for line in export.lines() if isinstance(line, ExportedMemory))
            for kind, lines in itertools.groupby(memories, key=lambda line: line.kind):
                intake.take(kind, (_candidate(room, export, line, now) for line in lines))
            name = str(source) if isinstance(source, str | os.PathLike) else str(getattr(source, "name", "the file"))
            return intake.report(source=name, source_project=export.header.project, not_read={"records": len(export.records)})

    return with_progress(progress, work)


def _candidate(room: Room, export: SoundExport, line: ExportedMemory, now: datetime) -> Candidate:
    row = {"id": line.id}
    memory = memory_of(line, export.definitions)
    if line.archived_at is not None:
        return Candidate(ARCHIVED, row)
    if isinstance(memory, Heuristic | AntiPattern):
        return Candidate(RULE, row)
    if memory.user_id is not None:
        return Candidate(OF_A_USER, row)
    if room.project.was_purged(memory.id):
        return Candidate(PURGED, row)
    # only a memory's own text is screened, so passages that a caller gave beside it do not come in
    made = {passage.text for passage in passages_by_kind(memory)}
    remarks = () if made.issuperset(passage.text for passage in line.passages) else (PASSAGES,)
    return Candidate(_without_standing(memory, export.header.project, now), row, remarks)


def _without_standing(memory: Memory, project: str, now: datetime) -> Memory:
    """Returns the memory as the word of a file. Its metadata are kept as data: none of them says what only ALMA says."""
    origin: dict[str, Any] = {"project": project}
    if memory.metadata:
        origin["metadata"] = memory.metadata
    changes: dict[str, Any] = {"metadata": {IMPORTED: origin}, "confidence": min(memory.confidence, GUESSED_CONFIDENCE)}
    if isinstance(memory, Outcome):
        changes["verdict_source"] = VerdictSource.IMPORTED
    elif isinstance(memory, DomainKnowledge):
        origin["source"] = memory.source
        changes["source"] = IMPORTED
    times = {name: min(value, now) for name, value in memory if isinstance(value, datetime)}
    return memory.model_copy(update={**changes, **times})
