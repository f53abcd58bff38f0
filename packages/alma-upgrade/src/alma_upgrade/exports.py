"""Exports that a former version wrote, with counts and learned rules: these become records of rules, and stated rules."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from alma.journal import RETIRED_COLUMN, RETIRED_TABLE, State
from alma.storage.relational.rows import memory_row
from alma.types.exported import ExportedEvidence, ExportedMemory, ExportedPassage, ExportedRecord
from alma.types.identity import from_micros, owner_name, to_micros
from alma.types.kinds import MemoryType
from alma.types.memories import passages_of
from alma.types.strategies import RULE, SIDES
from alma_upgrade.projects import Former, FormerRule


@dataclass(slots=True)
class FormerExport:
    """The counts and rules in an export of the former version; nothing in one of today's. `claimed` are ids of rules and counts that no
    outcome in the file bears out."""

    rows: State = field(default_factory=dict)
    rules: dict[str, FormerRule] = field(default_factory=dict)
    claimed: list[str] = field(default_factory=list)

    def note(self, line: ExportedMemory | ExportedRecord | ExportedEvidence) -> None:
        """Notes a line as the journal's row of that time; of outcomes only what is looked at."""
        if isinstance(line, ExportedEvidence):
            self.rows[RETIRED_TABLE, line.id] = {**line.model_dump(exclude={"type"}), "observed_at": to_micros(line.observed_at)}
        elif isinstance(line, ExportedMemory) and line.evidence and line.kind in (*SIDES, MemoryType.OUTCOME):
            self.rows["memory", line.id] = {
                "kind": line.kind,
                "owner": owner_name(line.agent, line.body.get("user_id")),
                "body": line.body if line.kind in SIDES else {"metadata": line.body.get("metadata", {})},
                "successes": line.successes,
                "trials": line.trials,
                "archived_at": None if line.archived_at is None else to_micros(line.archived_at),
                RETIRED_COLUMN: line.evidence,
            }
            if line.usage is not None:
                self.rows["usage", line.id] = line.usage.model_dump()

    def judge(self) -> list[FormerRule]:
        """Finds out what becomes of the rules, and returns those that become records."""
        self.rules = {rule.id: rule for rule in Former(self.rows).rules()}
        self.claimed = [rule.id for rule in self.rules.values() if rule.record is None]
        return [rule for rule in self.rules.values() if rule.record is not None]

    def renewed(self, line: ExportedMemory) -> ExportedMemory | ExportedRecord:
        """Returns the line that takes the place of one of the former version."""
        rule = self.rules.get(line.id)
        if rule is None:
            return line
        if rule.record is None:
            return line.model_copy(update={"body": rule.stated_body(), "successes": min(line.successes or 0, line.trials or 0)})
        return ExportedRecord(kind=RULE, key=line.id, version=1, updated_at=line.updated_at, body=rule.record.body())

    def stated(self, project: str) -> Iterator[ExportedMemory]:
        """Yields the stated rules that counts without an outcome become."""
        for count in Former(self.rows).unborne_counts():
            memory = count.memory(project)
            row = memory_row(memory)
            passages = (
                ExportedPassage(is_embedded=True, **passage.model_dump(include={"text", "keywords", "position", "is_own"}))
                for passage in passages_of(memory)
            )
            plain = {name: row[name] for name in ("id", "kind", "agent", "body", "confidence", "successes", "trials")}
            times: dict[str, Any] = {name: from_micros(row[name]) for name in ("seen_at", "created_at", "updated_at")}
            yield ExportedMemory(**plain, **times, archived_at=None, passages=tuple(passages), usage=None)
