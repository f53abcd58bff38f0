"""Plans the merge of a file into a project that has a part of it: what changes of what is here, what goes, and what the file may not bring.

The project is read as an export of it would be, so both sides are compared as lines.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from alma import journal
from alma.memory.episodes.closing import counts_of
from alma.memory.episodes.records import END, EPISODE, LEASE
from alma.memory.room import Room
from alma.memory.transfer.import_checks import Line
from alma.memory.transfer.versions import (
    Counts,
    Version,
    digest_of,
    merged_definition,
    merged_memory,
    merged_record,
    merged_rule,
    merged_usage,
)
from alma.protocols import Snapshot
from alma.storage.relational.transfer import changes_for
from alma.types.custom import DEFINITIONS
from alma.types.exported import ExportedMemory, ExportedPurge, ExportedRecord, ExportedUsage
from alma.types.partition import owner_name
from alma.types.rules import NO_USE, RULE
from alma.types.stored import QUARANTINE, Change

RecordKey = tuple[str, str]


@dataclass(slots=True)
class Merge:
    """What a merge does beside storing what is new.

    `said` are memories that take their words from the file, `usages` those of new memories whose usage is another than in the file.
    `records` are new records of rules that are others than in the file. `dead_memories` and `dead_records` were purged on one side and may be on
    none. `leases` are of episodes that have ended, `purges` what the file knows to have been purged.
    """

    changes: list[Change] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    usages: dict[str, ExportedMemory] = field(default_factory=dict)
    records: dict[RecordKey, ExportedRecord] = field(default_factory=dict)
    dead_memories: set[str] = field(default_factory=set)
    dead_records: set[RecordKey] = field(default_factory=set)
    leases: list[tuple[str, int, Mapping[str, object]]] = field(default_factory=list)
    purges: list[Change] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Graves:
    """What one side, or both, know to have been purged."""

    stated: tuple[tuple[bytes, frozenset[str]], ...]

    @classmethod
    def of(cls, purges: Iterable[ExportedPurge]) -> "Graves":
        """Builds it from the lines of a file."""
        return cls(tuple((bytes.fromhex(one.salt), frozenset(one.digests)) for one in purges))

    def holds(self, key: str) -> bool:
        """Returns True if what has this key in the journal was purged."""
        return any(journal.tombstone(key, salt) in digests for salt, digests in self.stated)


@dataclass(slots=True)
class _Side:
    """What one side knows: ids, digests of memories, records, and what it purged."""

    graves: Graves
    memories: dict[str, str] = field(default_factory=dict)
    records: dict[RecordKey, ExportedRecord] = field(default_factory=dict)

    def has_purged(self, key: str, *, is_here: bool) -> bool:
        """Returns True if it purged something for good. What was purged and stored anew, without its secrets, is there."""
        return not is_here and self.graves.holds(key)

    def reason(self, memory_id: str) -> str | None:
        """Returns why a memory is in quarantine."""
        record = self.records.get((QUARANTINE, memory_id))
        return None if record is None else str(record.body.get("reason"))

    def episodes(self) -> Iterator[tuple[str, Mapping[str, object], Mapping[str, object]]]:
        """Yields the episodes that ended: key, beginning and ending."""
        for (kind, key), record in self.records.items():
            opening = self.records.get((EPISODE, key))
            if kind == END and opening is not None:
                yield key, opening.body, record.body


def planned(room: Room, lines: Callable[[], Iterable[Line]], purges: Iterable[ExportedPurge]) -> Merge:
    """Compares a file with the project. `lines` reads the file anew with each call. `ConflictError` if one id stands for two things."""
    with room.project.snapshot() as stored:
        return _Planner(room, stored, lines, list(purges)).plan()


class _Planner:
    """One comparison. Only what differs is held in memory, and the small records."""

    def __init__(self, room: Room, stored: Snapshot, lines: Callable[[], Iterable[Line]], purges: list[ExportedPurge]) -> None:
        self.room, self.stored, self.lines = room, stored, lines
        self.own_purges, self.new_purges = list(stored.purged()), purges
        self.here, self.file = _Side(Graves.of(self.own_purges)), _Side(Graves.of(purges))
        self.merge, self.graves = Merge(), Graves.of([*self.own_purges, *purges])
        self.ways: set[tuple[str, str]] = set()
        """Strategies of the outcomes that stay, each with the owner; looked up only where something was purged."""
        self.kept: dict[str, Version] = {}
        self.counted: tuple[Mapping[str, Counts], ...] = ({}, {}, {})
        """What the episodes of each side, and those of both, count for memories and rules, by id."""

    def plan(self) -> Merge:
        """Reads both sides and compares them."""
        self.here.memories = {mine.id: digest_of(mine) for mine in self.stored.memories(vectors=False)}
        self.here.records = {(record.kind, record.key): record for record in self.stored.records()}
        for line in self.lines():
            if isinstance(line, ExportedMemory):
                self.file.memories[line.id] = digest_of(line)
            elif isinstance(line, ExportedRecord):
                self.file.records[line.kind, line.key] = line
        self._find_dead()
        self._merge_memories()
        self._note_ways()
        self._merge_records()
        self._note_purges()
        return self.merge

    def _find_dead(self) -> None:
        here, file, merge = self.here, self.file, self.merge
        if not here.graves.stated and not file.graves.stated:
            return

        def is_dead(key: str, name: str | RecordKey, ours: Collection[object], theirs: Collection[object]) -> bool:
            return here.has_purged(key, is_here=name in ours) or file.has_purged(key, is_here=name in theirs)

        merge.dead_memories = {one for one in {*here.memories, *file.memories} if is_dead(one, one, here.memories, file.memories)}
        keys = {
            one for one in (*here.records, *file.records) if one[0] != DEFINITIONS
        }  # memories need these, and nothing purges them
        merge.dead_records = {one for one in keys if is_dead(f"record/{one[0]}/{one[1]}", one, here.records, file.records)}

    def _merge_memories(self) -> None:
        """Merges the memories that differ, that go, or whose usage is counted anew."""
        ours, theirs, both = self.counted = self._counted()
        differing = {one for one, digest in self.here.memories.items() if self.file.memories.get(one, digest) != digest}
        counted = ours.keys() | theirs.keys()  # both have no others
        wanted = (differing | counted | self.merge.dead_memories) & self.file.memories.keys()
        found: dict[str, ExportedMemory] = {}
        for line in self.lines():
            if isinstance(line, ExportedMemory) and line.id in wanted:
                self._take_from_file(line, found, theirs, both)
        for mine in self.stored.memories(vectors=False):
            if mine.id in self.merge.dead_memories:
                self._delete(mine)
                continue
            other = found.get(mine.id)
            sides = [(mine.usage, ours.get(mine.id, {})), *([(other.usage, theirs.get(mine.id, {}))] if other else [])]
            if other is not None:
                merged = self._merged(mine, other)
            elif mine.id in counted:
                merged = mine
            else:
                continue
            usage = merged_usage(sides, both.get(mine.id, {}))
            self._change(mine, merged.model_copy(update={"usage": usage}))

    def _take_from_file(
        self, line: ExportedMemory, found: dict[str, ExportedMemory], theirs: Mapping[str, Counts], both: Mapping[str, Counts]
    ) -> None:
        if line.id in self.merge.dead_memories:
            return
        if line.id in self.here.memories:
            found[line.id] = line
        else:
            usage = merged_usage([(line.usage, theirs.get(line.id, {}))], both.get(line.id, {}))
            if usage != line.usage:
                self.merge.usages[line.id] = line.model_copy(update={"usage": usage})

    def _merged(self, mine: ExportedMemory, other: ExportedMemory) -> ExportedMemory:
        versions = Version(mine, self.here.reason(mine.id)), Version(other, self.file.reason(mine.id))
        merged, self.kept[mine.id] = merged_memory(*versions)
        if digest_of(merged, without=("usage",)) != digest_of(mine, without=("usage",)):
            self.merge.said.add(mine.id)
        return merged

    def _change(self, mine: ExportedMemory, merged: ExportedMemory) -> None:
        made = list(_difference(mine, merged))
        if made:
            self.merge.changed.append(mine.id)
            self.merge.changes += made

    def _delete(self, line: ExportedMemory) -> None:
        self.merge.deleted.append(line.id)
        self.merge.changes += [Change(change.table, change.key, change.after, None) for change in changes_for(line)]

    def _counted(self) -> tuple[dict[str, Counts], dict[str, Counts], dict[str, Counts]]:
        """What the episodes of each side count for each memory, and what those of both do, where they are not the same."""
        ours, theirs = dict(_ended(self.here)), dict(_ended(self.file))
        if ours == theirs and not self.merge.dead_records:
            return {}, {}, {}
        keys = {*ours, *theirs}
        of_both = {key: self._ending(key, ours, theirs) for key in keys}
        return _summed(ours), _summed(theirs), _summed(of_both)

    def _ending(
        self, key: str, ours: Mapping[str, Mapping[str, Counts]], theirs: Mapping[str, Mapping[str, Counts]]
    ) -> Mapping[str, Counts]:
        if (END, key) in self.merge.dead_records:
            return {}
        mine, other = self.here.records.get((END, key)), self.file.records.get((END, key))
        if mine is None or other is None:
            return (ours if mine else theirs).get(key, {})
        return (ours if merged_record(mine, other) is mine else theirs).get(key, {})

    def _merge_records(self) -> None:
        here, file, merge = self.here.records, self.file.records, self.merge
        for place, mine in here.items():
            kind, key = place
            if place in merge.dead_records or (kind == QUARANTINE and self._is_released(key)):
                merge.changes.append(Change("record", f"{kind}/{key}", _row(mine), None))
            elif place in file and file[place] != mine:
                merge.changes += _record_change(mine, self._merged_record(mine, file[place]))
            elif kind == RULE:
                merge.changes += _record_change(mine, self._merged_rule(mine, None))
        for kind, key in file.keys() - here.keys():
            if kind == QUARANTINE and key in self.kept and self.kept[key].reason is None:
                merge.dead_records.add((kind, key))
            elif kind == END:
                self._let_go(key)
            elif kind == RULE and (merged := self._merged_rule(None, file[kind, key])) != file[kind, key]:
                merge.records[kind, key] = merged

    def _merged_record(self, mine: ExportedRecord, theirs: ExportedRecord) -> ExportedRecord:
        if mine.kind == RULE:
            return self._merged_rule(mine, theirs)
        return (merged_definition if mine.kind == DEFINITIONS else merged_record)(mine, theirs)

    def _merged_rule(self, mine: ExportedRecord | None, theirs: ExportedRecord | None) -> ExportedRecord:
        """Returns the record of a rule as both sides know it, without outcomes that were purged on one side and the words of those."""
        known = [one for one in (mine, theirs) if one is not None]
        merged = known[0] if len(known) == 1 else merged_rule(*known)
        ours, theirs_counted, of_both = (counts.get(merged.key, {}) for counts in self.counted)
        sides = [(_use(one), counts) for one, counts in ((mine, ours), (theirs, theirs_counted)) if one is not None]
        usage = merged_usage([*sides], of_both)
        use = {name: count for name, count in usage.model_dump().items() if count} if usage is not None else {}
        anchors = [one for one in merged.body["anchors"] if not self._is_dead_anchor(one)]
        body = {**merged.body, "anchors": anchors, "use": use or None}
        if len(anchors) < len(merged.body["anchors"]) and (body["owner"], body.get("way")) not in self.ways:
            body["way"] = None
        return merged.model_copy(update={"body": {name: value for name, value in body.items() if value is not None}})

    def _is_dead_anchor(self, outcome: str) -> bool:
        """Returns True for an outcome that was purged on one side, and is not there again."""
        is_there = outcome in self.here.memories or outcome in self.file.memories
        return outcome in self.merge.dead_memories or (not is_there and self.graves.holds(outcome))

    def _note_ways(self) -> None:
        if not self.graves.stated:
            return
        lines = (line for line in chain(self.stored.memories(vectors=False), self.lines()) if isinstance(line, ExportedMemory))
        for line in lines:
            if line.id not in self.merge.dead_memories and (way := line.body.get("strategy_used")):
                self.ways.add((owner_name(line.agent, line.body.get("user_id")), str(way)))

    def _is_released(self, memory_id: str) -> bool:
        """Returns True if a memory that was in quarantine here is in none, or is gone."""
        kept = self.kept.get(memory_id)
        return memory_id in self.merge.dead_memories or (kept is not None and kept.reason is None)

    def _let_go(self, key: str) -> None:
        """Releases an episode that has ended elsewhere."""
        version, body = self.room.project.record(LEASE, [key])[key]
        if version:
            self.merge.leases.append((key, version, body))

    def _note_purges(self) -> None:
        """Keeps what the file knows to have been purged, for the files that come after it."""
        known = {one.salt for one in self.own_purges}
        new = {one.salt: one for one in self.new_purges if one.salt not in known}
        for number, one in enumerate(new.values()):
            stated = {"salt": one.salt, "digests": list(one.digests)}
            self.merge.purges.append(Change(journal.PURGE, f"tombstones/{number}", None, stated))


def _use(record: ExportedRecord) -> ExportedUsage:
    """The usage counts in the record of a rule."""
    return ExportedUsage.model_validate({**NO_USE, **record.body.get("use", {})})


def _ended(side: _Side) -> Iterator[tuple[str, Mapping[str, Counts]]]:
    return ((key, counts_of(opening, ending)) for key, opening, ending in side.episodes())


def _summed(episodes: Mapping[str, Mapping[str, Counts]]) -> dict[str, Counts]:
    sums: dict[str, dict[str, float]] = {}
    for counts in episodes.values():
        for memory_id, added in counts.items():
            of_memory = sums.setdefault(memory_id, {})
            of_memory.update({name: of_memory.get(name, 0) + number for name, number in added.items()})
    return {**sums}


def _difference(mine: ExportedMemory, merged: ExportedMemory) -> Iterator[Change]:
    """The changes that make one line of the other."""
    before = {(change.table, change.key): change.after for change in changes_for(mine)}
    after = {(change.table, change.key): change.after for change in changes_for(merged)}
    for table, key in {**before, **after}:
        was, now = before.get((table, key)), after.get((table, key))
        if was is None or now is None:
            yield Change(table, key, was, now)
        elif was != now:
            names = [name for name in now if was[name] != now[name]]
            yield Change(table, key, {name: was[name] for name in names}, {name: now[name] for name in names})


def _record_change(mine: ExportedRecord, merged: ExportedRecord) -> list[Change]:
    if merged == mine:
        return []
    return [Change("record", f"{mine.kind}/{mine.key}", _row(mine), _row(merged))]


def _row(record: ExportedRecord) -> Mapping[str, object]:
    (change,) = changes_for(record)
    return change.after or {}
