"""Stores memories that another program or another person recorded: each batch in a transaction, and those that are here already left
alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from alma.errors import ConflictError
from alma.memory.learn.adding import add_each
from alma.memory.room import Room
from alma.memory.rules import owners_with_outcomes, rules_of
from alma.memory.transfer.remarks import Remarks
from alma.types.kinds import MemoryType
from alma.types.memories import Memory
from alma.types.migrated import MigratedKind
from alma.types.rules import FAILS, WORKS

AT_ONCE = 500
"""Number of memories in a transaction."""

CHANGED = "it was imported before, with other words"
_SIDES = {MemoryType.HEURISTIC: WORKS, MemoryType.ANTI_PATTERN: FAILS}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be stored, the row that it was read from, and what was changed in reading it."""

    memory: Memory
    row: Mapping[str, object]
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """Counts of one kind of memory."""

    kind: str
    read: int = 0
    stored: int = 0
    present: int = 0
    skipped: Remarks = field(default_factory=Remarks)
    changed: Remarks = field(default_factory=Remarks)

    def report(self) -> MigratedKind:
        """Returns the counts with the reasons."""
        return MigratedKind(
            kind=self.kind,
            read=self.read,
            stored=self.stored,
            present=self.present,
            skipped=self.skipped.listed(),
            changed=self.changed.listed(),
        )


def store(room: Room, found: Sequence[Candidate], tally: Tally, *, dry_run: bool) -> None:
    """Stores the memories that are absent. If another process imports the same at this moment, those that it stored count as present."""
    new = _absent(room, found, tally)
    memories = [one.memory for one in new]
    try:
        refused = add_each(room, memories, operation="import", dry_run=dry_run)
    except ConflictError:
        if not room.project.find(memory.id for memory in memories):
            raise
        store(room, new, tally, dry_run=dry_run)
        return
    for place, one in enumerate(new):
        if place in refused:
            tally.skipped.add(refused[place], one.row)
            continue
        tally.stored += 1
        for remark in one.remarks:
            tally.changed.add(remark, one.row)


def _absent(room: Room, found: Sequence[Candidate], tally: Tally) -> list[Candidate]:
    places = room.project.find(one.memory.id for one in found)
    kept = room.project.memories([place.memory for place in places.values()])
    absent = []
    for one in found:
        place = places.get(one.memory.id)
        if place is None:
            absent.append(one)
        elif place.memory in kept and kept[place.memory].text != room.store.redaction.value(one.memory).text:
            tally.skipped.add(CHANGED, one.row)
        else:
            tally.present += 1
    return absent


def rule_counts(room: Room) -> dict[str, int]:
    """Returns the number of rules that follow from the outcomes of the project, by kind."""
    found = {rule.id: rule.record.side for agent, user in owners_with_outcomes(room) for rule in rules_of(room, agent, user)}
    return {kind.value: sum(each == side for each in found.values()) for kind, side in _SIDES.items()}


def formed_rules(room: Room, before: Mapping[str, int]) -> dict[str, int]:
    """Returns the number of rules that have come up since `before`, by kind."""
    return {kind: count - before[kind] for kind, count in rule_counts(room).items()}
