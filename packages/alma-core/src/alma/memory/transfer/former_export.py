"""Exports that a former version wrote, with counts and learned rules: written anew as outcomes, records of rules, and stated rules."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from alma.journal import RETIRED_COLUMN, RETIRED_TABLE, State
from alma.memory.transfer.import_checks import Contents, Line, all_lines, lines_between
from alma.memory.transfer.redacted_export import purges_in, write_export
from alma.storage.relational.rows import memory_row
from alma.storage.relational.upgrading import SIDES, Former, FormerRule
from alma.types.exported import VERSION, ExportedEvidence, ExportedMemory, ExportedPassage, ExportedPurge, ExportedRecord
from alma.types.identity import from_micros, to_micros
from alma.types.kinds import MemoryType
from alma.types.partition import owner_name
from alma.types.passages import passages_of
from alma.types.rules import RULE


def modern_export(file: BinaryIO, contents: Contents, spool: BinaryIO) -> list[str]:
    """Writes a sound export of the former version to `spool` in today's version, without vectors. Returns the ids of stated rules in it whose
    counts no outcome in the file bears out."""
    modern = _Modern(Former(_rows(file)))
    lines: list[Line] = [*modern.stated(contents.header.project)]
    memories = len(contents.memories) - len(modern.records) + len(lines)
    archived = contents.archived - sum(rule.row["archived_at"] is not None for rule in modern.records.values())
    known = contents.counts.model_copy(
        update={"memories": memories, "archived": archived, "records": len(contents.records) + len(modern.records), "evidence": 0}
    )
    header = contents.header.model_copy(update={"version": VERSION, "counts": known})

    def written() -> Iterator[Line | ExportedPurge]:
        yield from map(modern.line, lines_between(file))
        yield from lines
        yield from purges_in(file)

    write_export(spool, header, written())
    return [*modern.claimed, *(line.id for line in lines if isinstance(line, ExportedMemory))]


@dataclass(slots=True)
class _Modern:
    """The learned rules of a file: those that become records, and those that are stated, by id."""

    former: Former
    records: dict[str, FormerRule] = field(default_factory=dict)
    claimed: dict[str, FormerRule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rule in self.former.rules():
            (self.claimed if rule.record is None else self.records)[rule.id] = rule

    def line(self, line: Line) -> Line:
        """Returns the line that takes the place of one of the former version."""
        if not isinstance(line, ExportedMemory):
            return line
        if line.id in self.claimed:
            return line.model_copy(update={"body": self.claimed[line.id].stated_body()})
        rule = self.records.get(line.id)
        if rule is None or rule.record is None:
            return line
        return ExportedRecord(kind=RULE, key=line.id, version=1, updated_at=line.updated_at, body=rule.record.body())

    def stated(self, project: str) -> Iterator[ExportedMemory]:
        """Yields the stated rules that counts without an outcome become."""
        for count in self.former.unborne_counts():
            memory = count.memory(project)
            row = memory_row(memory)
            passages = (
                ExportedPassage(is_embedded=True, **passage.model_dump(include={"text", "keywords", "position", "is_own"}))
                for passage in passages_of(memory)
            )
            plain = {name: row[name] for name in ("id", "kind", "agent", "confidence", "successes", "trials")}
            times: dict[str, Any] = {name: from_micros(row[name]) for name in ("seen_at", "created_at", "updated_at")}
            yield ExportedMemory(**plain, **times, archived_at=None, body=row["body"], passages=tuple(passages), usage=None)


def _rows(file: BinaryIO) -> State:
    """What the file says of outcomes, rules and counts, as logical rows; of outcomes only what is looked at."""
    rows: State = {}
    for line in all_lines(file):
        if isinstance(line, ExportedEvidence):
            rows[RETIRED_TABLE, line.id] = {**line.model_dump(exclude={"type"}), "observed_at": to_micros(line.observed_at)}
        elif isinstance(line, ExportedMemory) and line.evidence and (line.kind in SIDES or line.kind == MemoryType.OUTCOME):
            rows["memory", line.id] = {
                "kind": line.kind,
                "owner": owner_name(line.agent, line.body.get("user_id")),
                "body": line.body if line.kind in SIDES else {"metadata": line.body.get("metadata", {})},
                "successes": line.successes,
                "trials": line.trials,
                "archived_at": None if line.archived_at is None else to_micros(line.archived_at),
                RETIRED_COLUMN: line.evidence,
            }
            if line.usage is not None:
                rows["usage", line.id] = line.usage.model_dump()
    return rows
