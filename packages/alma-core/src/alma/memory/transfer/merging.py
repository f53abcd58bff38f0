"""Plans an import: what of the file is here already, and, in a merge, what changes, what goes, and what the file may not bring.

In a merge the project is read as an export of it would be, so both sides are compared as lines. The result is the same whichever side asks, in
any order of several clones, and however often it is asked. Only weights of a kind that three clones define differently depend on the order.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from alma import journal
from alma.errors import ConflictError
from alma.memory.episodes.closing import counts_of
from alma.memory.learn.sessions import passages_by_kind
from alma.memory.room import Room
from alma.memory.transfer.reading import Key, Line, SoundExport, key_of, memory_of
from alma.protocols import Snapshot
from alma.storage.relational.transfer import changes_for
from alma.text import quoted
from alma.types.custom import DEFINITIONS, stored_type
from alma.types.episodes import END, EPISODE, LEASE
from alma.types.exported import ExportedMemory, ExportedPassage, ExportedPurge, ExportedRecord, ExportedUsage
from alma.types.identity import owner_name, to_micros
from alma.types.kinds import MemoryType
from alma.types.memories import Conversation, embedded
from alma.types.stored import QUARANTINE, Change
from alma.types.strategies import MOST_ANCHORS, NO_USE, RULE
from alma_learning.tellings import join_turns

RecordKey = tuple[str, str]
Counts = Mapping[str, float]


@dataclass(slots=True)
class Plan:
    """Steps of an import beside storing the new lines.

    `left_out` is here already, or was purged on one side. `instead` has lines that are stored in place of those of the file, `new_texts` the texts
    of passages that `changes` make. `leases` are of episodes that have ended, `purges` state what the file knows to have been purged.
    """

    left_out: set[Key] = field(default_factory=set)
    conflicts: list[str] = field(default_factory=list)
    instead: dict[Key, Line] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    """Memories that take their words from the file."""
    new_texts: set[str] = field(default_factory=set)
    leases: list[tuple[str, int, Mapping[str, object]]] = field(default_factory=list)
    purges: list[Change] = field(default_factory=list)

    def fitted(self, line: Line) -> Line:
        """Returns a line of the file as it is stored."""
        return self.instead.get(key_of(line), line)

    def takes_words_of(self, line: ExportedMemory) -> bool:
        """Returns True if the passages of a line are stored: it is new, or newer than what is here."""
        return line.id not in self.left_out or line.id in self.said


def plan_import(room: Room, export: SoundExport, *, is_merge: bool) -> Plan:
    """Compares a file with the project. `ConflictError` if one id names two things."""
    plan = Plan()
    if room.project.head() == 0 and not (is_merge and export.purged):
        return plan
    present = list(room.project.find(sorted(export.memories)))
    plan.left_out.update(present)
    plan.conflicts += [f"memory {memory_id}" for memory_id in present]
    if is_merge:
        with room.project.snapshot() as stored:
            _Merging(room, export, plan, stored).run()
        return plan
    for line in export.lines():
        if isinstance(line, ExportedRecord):
            _look_at_record(room, line, plan)
    return plan


def _look_at_record(room: Room, line: ExportedRecord, plan: Plan) -> None:
    version, body = room.project.record(line.kind, [line.key])[line.key]
    if not version:
        return
    plan.left_out.add(key_of(line))
    if line.kind != DEFINITIONS:
        plan.conflicts += [f"record {line.kind}/{line.key}"] if body != line.body else []
        return
    merged = stored_type(body).merged(stored_type(line.body)).model_dump(mode="json")
    if merged != body:
        after = {"version": version + 1, "body": merged, "updated_at": to_micros(room.store.clock())}
        plan.changes.append(Change("record", f"{line.kind}/{line.key}", {"version": version, "body": body}, after))


class _Purged:
    """Purges that one side, or both, know of."""

    def __init__(self, stated: Iterable[ExportedPurge]) -> None:
        self.stated = [(bytes.fromhex(one.salt), frozenset(one.digests)) for one in stated]

    def holds(self, key: str) -> bool:
        """Returns True if what has this key in the journal was purged."""
        return any(journal.tombstone(key, salt) in digests for salt, digests in self.stated)


class _Merging:
    """One comparison. The small records are held in memory, and of the memories the ids."""

    def __init__(self, room: Room, export: SoundExport, plan: Plan, stored: Snapshot) -> None:
        self.room, self.export, self.plan, self.stored = room, export, plan, stored
        self.here = {(record.kind, record.key): record for record in stored.records()}
        self.there = {(line.kind, line.key): line for line in export.lines() if isinstance(line, ExportedRecord)}
        self.own_purges = list(stored.purged())
        self.purged_here, self.purged_there = _Purged(self.own_purges), _Purged(export.purged)
        self.alive, self.dead, self.released = set[str](), set[str](), set[str]()
        """Ids of the memories that there will be, of those that were purged on one side, and of those that both let out of quarantine."""
        self.ways = set[tuple[str, str]]()
        """Strategies of the outcomes that there will be, each with the owner."""
        self.used_here, self.used_there, self.used = self._count_use()

    def run(self) -> None:
        """Compares the memories, then the records."""
        for mine in self.stored.memories(vectors=False):
            self._merge_memory(mine)
        for line in self.export.lines():
            if isinstance(line, ExportedMemory):
                self._merge_new(line)
        for place in {**self.here, **self.there}:
            self._merge_record(place)
        self._note_purges()

    def _count_use(self) -> tuple[dict[str, Counts], dict[str, Counts], dict[str, Counts]]:
        """Returns what the episodes of each side count for each memory and rule, and what those of both do, where they are not the same."""
        ours, theirs = (dict(_ended_episodes(side)) for side in (self.here, self.there))
        both = {}
        for key in {**ours, **theirs}:
            ending = self._merged_record((END, key))
            both[key] = {} if ending is None else (ours if ending is self.here.get((END, key)) else theirs).get(key, {})
        return ({}, {}, {}) if ours == theirs == both else (_sum_counts(ours), _sum_counts(theirs), _sum_counts(both))

    def _merge_memory(self, mine: ExportedMemory) -> None:
        other = self.export.memory(mine.id)
        if other is None and self.purged_there.holds(mine.id):
            self.dead.add(mine.id)
            self.plan.deleted.append(mine.id)
            self.plan.changes += _difference(mine, None)
            return
        self._note_alive(mine)
        merged = mine if other is None else self._merge(mine, other)
        merged = merged.model_copy(update={"usage": self._usage(mine.id, mine, other)})
        if merged != mine:
            self._change(mine, merged)

    def _merge(self, mine: ExportedMemory, other: ExportedMemory) -> ExportedMemory:
        """Returns the memory as both sides know it: with the words that were changed last, and archived or in use as was decided last."""
        _check_same(mine, other)
        self._note_alive(other)
        records = (side.get((QUARANTINE, mine.id)) for side in (self.here, self.there))
        reasons = ["" if record is None else str(record.body.get("reason")) for record in records]
        kept, reason = max(zip((mine, other), reasons, strict=True), key=_decision_order)
        if any(reasons) and not reason:
            self.released.add(mine.id)
        newer = max(mine, other, key=_words)
        if newer.kind == MemoryType.CONVERSATION:
            newer = _with_turns_of(min(mine, other, key=_words), newer)
        return newer.model_copy(update={"archived_at": kept.archived_at})

    def _change(self, mine: ExportedMemory, merged: ExportedMemory) -> None:
        changes = list(_difference(mine, merged))
        texts = {str(change.after["text"]) for change in changes if change.after and "text" in change.after}
        if texts:
            self.plan.said.add(mine.id)
            self.plan.new_texts |= texts
        if changes:
            self.plan.changed.append(mine.id)
            self.plan.changes += changes

    def _merge_new(self, line: ExportedMemory) -> None:
        if line.id in self.alive:
            return
        if self.purged_here.holds(line.id):
            self.dead.add(line.id)
            self.plan.left_out.add(line.id)
            return
        self._note_alive(line)
        if (usage := self._usage(line.id, None, line)) != line.usage:
            self.plan.instead[line.id] = line.model_copy(update={"usage": usage})

    def _note_alive(self, line: ExportedMemory) -> None:
        self.alive.add(line.id)
        if way := line.body.get("strategy_used"):
            self.ways.add((owner_name(line.agent, line.body.get("user_id")), str(way)))

    def _merge_record(self, place: RecordKey) -> None:
        kind, key = place
        mine, merged = self.here.get(place), self._merged_record(place)
        if mine is not None:
            self.plan.left_out.add(place)
            if merged != mine:
                self.plan.changes += _difference(mine, merged)
        elif merged is None:
            self.plan.left_out.add(place)
        else:
            if merged != self.there[place]:
                self.plan.instead[place] = merged
            version, body = self.room.project.record(LEASE, [key])[key] if kind == END else (0, {})
            if version:
                self.plan.leases.append((key, version, body))

    def _merged_record(self, place: RecordKey) -> ExportedRecord | None:
        """Returns a record as both sides know it; `None` if it was purged on one side, or is of a memory that is in quarantine no more."""
        kind, key = place
        mine, theirs = self.here.get(place), self.there.get(place)
        if kind == QUARANTINE and (key in self.dead or key in self.released):
            return None
        if kind != DEFINITIONS:  # memories need these, and nothing purges them
            name = f"record/{kind}/{key}"
            if (theirs is None and self.purged_there.holds(name)) or (mine is None and self.purged_here.holds(name)):
                return None
        if kind == RULE:
            return self._merged_rule(mine, theirs)
        if mine is None or theirs is None or mine == theirs:
            return mine or theirs
        return _merged_definition(mine, theirs) if kind == DEFINITIONS else max(mine, theirs, key=_record_order)

    def _merged_rule(self, mine: ExportedRecord | None, theirs: ExportedRecord | None) -> ExportedRecord:
        """Returns the record of a rule as both sides know it, without outcomes that were purged on one side and the words of those. It stays
        archived once a caller archived it on either side."""
        known = [record for record in (mine, theirs) if record is not None]
        kept = max(known, key=_record_order)
        named = kept.body["anchors"]
        if len(known) > 1:
            named = sorted({anchor for record in known for anchor in record.body["anchors"]})[:MOST_ANCHORS]  # ids rise with time
        anchors = [one for one in named if one in self.alive or not (self.purged_here.holds(one) or self.purged_there.holds(one))]
        archived = [record.body["archived_at"] for record in known if record.body.get("archived_at") is not None]
        usage = self._usage(kept.key, mine, theirs)
        use = {name: count for name, count in (usage.model_dump() if usage else {}).items() if count}
        body = {**kept.body, "anchors": anchors, "archived_at": min(archived, default=None), "use": use or None}
        if len(anchors) < len(named) and (body["owner"], body.get("way")) not in self.ways:
            body["way"] = None
        return kept.model_copy(update={"body": {name: value for name, value in body.items() if value is not None}})

    def _usage(self, key: str, mine: Line | None, theirs: Line | None) -> ExportedUsage | None:
        """Returns the usage as both sides know it: what the episodes of both count, and beside it the larger of what each side counted
        otherwise."""
        of_both = self.used.get(key, {})
        sides = [(_usage_of(line), own.get(key, {})) for line, own in ((mine, self.used_here), (theirs, self.used_there)) if line]
        totals = {}
        for name in ExportedUsage.model_fields:
            otherwise = max((getattr(usage, name) if usage else 0) - own.get(name, 0) for usage, own in sides)
            totals[name] = max(0, otherwise + of_both.get(name, 0))
        # an episode may state a use that was not counted, as of a memory that was archived
        is_counted = any(totals.values()) or any(usage for usage, _ in sides)
        return ExportedUsage.model_validate(totals) if is_counted else None

    def _note_purges(self) -> None:
        """Keeps what the file knows to have been purged, for the files that come after it."""
        known = {one.salt for one in self.own_purges}
        new = {one.salt: one for one in self.export.purged if one.salt not in known}
        for number, one in enumerate(new.values()):
            stated = {"salt": one.salt, "digests": list(one.digests)}
            self.plan.purges.append(Change(journal.PURGE, f"tombstones/{number}", None, stated))


def _ended_episodes(records: Mapping[RecordKey, ExportedRecord]) -> Iterator[tuple[str, Mapping[str, Counts]]]:
    """Yields the episodes that ended, by key, with what each counts for memories."""
    for (kind, key), ending in records.items():
        if kind == END and (opening := records.get((EPISODE, key))) is not None:
            yield key, counts_of(opening.body, ending.body)


def _sum_counts(episodes: Mapping[str, Mapping[str, Counts]]) -> dict[str, Counts]:
    sums: dict[str, dict[str, float]] = {}
    for counts in episodes.values():
        for memory_id, added in counts.items():
            of_memory = sums.setdefault(memory_id, {})
            of_memory.update({name: of_memory.get(name, 0) + number for name, number in added.items()})
    return {**sums}


def _usage_of(line: Line) -> ExportedUsage | None:
    if isinstance(line, ExportedMemory):
        return line.usage
    return ExportedUsage.model_validate({**NO_USE, **line.body.get("use", {})})


def _merged_definition(mine: ExportedRecord, theirs: ExportedRecord) -> ExportedRecord:
    """Returns the definition of a kind that fits memories of both sides. `ConflictError` if there is none."""
    older, newer = sorted((mine, theirs), key=_record_order)
    body = stored_type(older.body).merged(stored_type(newer.body)).model_dump(mode="json")
    return newer.model_copy(update={"body": body, "version": max(older.version, newer.version)})


def _check_same(mine: ExportedMemory, theirs: ExportedMemory) -> None:
    ours, other = ((line.kind, line.agent, line.created_at, line.body.get("user_id")) for line in (mine, theirs))
    if ours != other:
        raise ConflictError(f"memory {quoted(mine.id)} is another one in the file; nothing was stored")


def _words(line: ExportedMemory) -> tuple[datetime, str]:
    """The order of what a memory says: by time, then by a digest, so that no two versions are equal."""
    left_out: Any = {"archived_at": True, "usage": True, "passages": {"__all__": {"vector"}}}
    return line.updated_at, _digest(line.model_dump(mode="json", exclude=left_out))


def _with_turns_of(older: ExportedMemory, newer: ExportedMemory) -> ExportedMemory:
    """Returns the newer line of a conversation, with the turns that only the older one has."""
    former, memory = memory_of(older, {}), memory_of(newer, {})
    assert isinstance(former, Conversation)
    assert isinstance(memory, Conversation)
    turns = join_turns(former.turns, memory.turns)
    if Counter(turns) == Counter(memory.turns):
        return newer
    passages = passages_by_kind(memory.model_copy(update={"turns": turns}))
    searched = {passage.position for passage in embedded(passages)}
    lines = (ExportedPassage(**vars(one), is_embedded=one.position in searched) for one in passages)
    body = {**newer.body, "turns": [list(turn) for turn in turns]}
    return newer.model_copy(update={"body": body, "passages": tuple(lines)})


def _decision_order(version: tuple[ExportedMemory, str]) -> tuple[datetime, bool, datetime, str]:
    """The order of decisions to archive a memory, or to use it: by time; of two of the same time it is archived. The text is the reason of a
    quarantine."""
    line, reason = version
    latest = max(line.updated_at, line.archived_at or line.updated_at)
    return latest, line.archived_at is not None, line.archived_at or latest, reason


def _record_order(record: ExportedRecord) -> tuple[int, int, str]:
    return to_micros(record.updated_at), record.version, _digest(record.body)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _difference(mine: Line, merged: Line | None) -> Iterator[Change]:
    """Yields the changes that make one line of the other, or delete it."""
    before, after = (
        {(change.table, change.key): change.after for change in changes_for(line)} if line else {} for line in (mine, merged)
    )
    for table, key in {**before, **after}:
        was, now = before.get((table, key)), after.get((table, key))
        if was is None or now is None:
            yield Change(table, key, was, now)
        elif was != now:
            names = [name for name in now if was[name] != now[name]]
            yield Change(table, key, {name: was[name] for name in names}, {name: now[name] for name in names})
