"""Stored records of a graph, and the cache of them: arrays that follow the journal.

The truth are small records of the kind `graph.source`: what one memory, or one caller, says. A record has the `agent` and `user_id` that it belongs
to and the memory it rests on (`references`), so that purge, export, undo, merging and encryption treat it as they treat memories. Relations,
their intervals and entities follow from the records that a reader may read; none of that is stored.

The key of a record begins with one of 256 prefixes, so that half a million are read in portions.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from sys import intern
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from alma.forking import renewed_in_children
from alma.journal import PURGE, REBUILD
from alma.memory.room import Room
from alma.types.package_records import references_in
from alma_graph.columns import Columns, Index
from alma_graph.naming import THING, entity_id
from alma_graph.records import Decision, Owner, Said, read_decision, read_record

SOURCE = "graph.source"
DECISION = "graph.decision"

MOST_ENTRIES = 20_000
"""Journal records after which the cache is rebuilt instead of brought up to date."""

SELF = "self"
"""Beginning of the keys of records of self-models, which are listed by their owner."""
PREFIXES = [SELF, *(f"{number:02x}" for number in range(256))]
NOBODY = -1

Body = Mapping[str, Any]


def new_key() -> str:
    """Returns the key of a new record."""
    made = str(uuid4())
    return f"{made[-2:]}/{made}"


def key_of(memory_id: str) -> str:
    """Returns the key of the record of what a memory says."""
    return f"{_packed(memory_id).hex()[-2:]}/{memory_id}"


def _packed(name: str) -> bytes:
    """Returns an id as 16 bytes; zeros for one that is no UUID as it is usually written."""
    with suppress(ValueError):
        found = UUID(name)
        if str(found) == name:
            return found.bytes
    return bytes(16)


def _name(packed: bytes) -> str:
    return str(UUID(bytes=packed.ljust(16, b"\0")))


class GraphRows:
    """The records of one project as arrays. Used under `lock`, in a consistent view of the store.

    `sources` has a row for each record, `edges` for each relation in one, `mentions` for each entity in one. An entity is a number: all
    spellings of one folded name and one type. A spelling is a number, too.
    """

    def __init__(self, room: Room) -> None:
        self.room, self.lock = room, threading.RLock()
        self.stamp = 0
        """Rises with each change: views that were made before are stale."""
        self.folded_upto = -1
        """The newest journal record when memories were last read for entities."""
        self.views = dict[Any, Any]()
        """Views of recent readers, the newest last."""
        self._clear()
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Starts with an empty cache: another thread of the parent may have held the lock."""
        self.lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self.stamp += 1
        self.views.clear()
        self.upto, self._hash = -1, ""
        self.sources = Columns(key="S16", evidence="S16", rests="?", is_alive="?", own="i4", shown="i4", recorded="i8")
        self.edges = Columns(
            source="i4", target="i4", source_name="i4", target_name="i4", type="i4", start="i8", end="i8", place="i4",
            confidence="f4", is_single="?", has_more="?", record="i4",
        )  # fmt: skip
        self.mentions = Columns(name="i4", record="i4")
        self.spellings = Columns(entity="i4")
        self.spelt, self.types = list[str](), list[str]()
        """Text and type of each spelling."""
        self.ids, self.numbers = list[str](), dict[str, int]()
        """Ids of entities by number, and numbers by id."""
        self.first, self.further = list[int](), dict[int, list[int]]()
        """The first spelling of each entity, and the others of those that have some."""
        self.entity_types = set[str]()
        self.namesakes = set[int]()
        """Entities of the type `thing` whose name another entity has, too."""
        self.owners, self._owner_numbers = list[Owner](), dict[Owner, int]()
        self.relations, self._relation_numbers = list[str](), dict[str, int]()
        self.decisions = dict[str, Decision]()
        self.changed_memories = set[str]()
        """Memories that changed since they were last read for entities, as far as the journal was followed."""
        self.odd = dict[int, tuple[str, str]]()
        """Key and memory of the records for which one of the two is no UUID."""
        self.retired = dict[int, int]()
        """Times at which edges were taken back, in microseconds, by the number of the edge."""
        self.outgoing, self.incoming, self.naming = Index(), Index(), Index()

    # following the journal

    def catch_up(self) -> None:
        """Brings the cache up to the newest journal record."""
        project = self.room.project
        head = project.head()
        if head == self.upto:
            return
        if (
            not (0 <= self.upto < head <= self.upto + MOST_ENTRIES)
            or project.head_at(self.upto) != self._hash
            or not self._follow()
        ):
            self._build()
        self.upto, self._hash = head, project.head_at(head)

    def _follow(self) -> bool:
        """Applies what the journal records since; returns False if all has to be read anew."""
        records, memories = dict[str, bool](), dict[str, None]()
        for entry in self.room.project.entries(after=self.upto):
            if entry.is_purged or entry.operation == REBUILD or any(change.table == PURGE for change in entry.changes):
                return False
            for change in entry.changes:
                if change.table == "memory":
                    memories[change.key] = None
                elif change.table == "record" and change.key.startswith("graph."):
                    records.setdefault(change.key, change.before is not None)
        if memories:
            self.changed_memories.update(memories)
            self._note_memories(list(memories))
        if records:
            self._read_again(records)
        if memories or records:
            self.stamp += 1
        return True

    def _note_memories(self, changed: Sequence[str]) -> None:
        """Notes which of these memories are archived or gone, for the records that rest on them."""
        if not len(self.sources):
            return
        places, stored = self.room.project.find(changed), self.sources.column("evidence")
        by_packed = {_packed(one): one for one in changed}
        named = {
            int(row): by_packed[bytes(stored[row]).ljust(16, b"\0")]
            for row in np.nonzero(np.isin(stored, np.array([one for one in by_packed if any(one)], dtype="S16")))[0]
        }
        named |= {row: memory for row, (_, memory) in self.odd.items() if memory in set(changed)}
        for row, memory in named.items():
            place = places.get(memory)
            is_there = place is not None and not place.is_archived and self.sources.column("shown")[row] != NOBODY
            self.sources.column("is_alive")[row] = is_there

    def _read_again(self, changed: Mapping[str, bool]) -> None:
        """Reads records that changed, each with whether it was there before."""
        project = self.room.project
        decisions, sources = (
            {name.partition("/")[2]: was_there for name, was_there in changed.items() if name.startswith(f"{kind}/")}
            for kind in (DECISION, SOURCE)
        )
        sources = {
            key: was_there for key, was_there in sources.items() if "/" in key
        }  # without the position of the reading of memories
        for key, (version, body) in project.record(DECISION, decisions).items():
            self._decide(key, body if version else None)
        self._remove([key for key, was_there in sources.items() if was_there])
        found = project.record(SOURCE, sources)
        self._add([(key, body) for key, (version, body) in found.items() if version])

    def _build(self) -> None:
        self._clear()
        project = self.room.project
        for prefix in PREFIXES:
            self._add([(key, body) for key, _, body in project.records(SOURCE, under=prefix)])
        for columns in (self.sources, self.edges, self.mentions, self.spellings):
            columns.trim()
        for key, _, body in project.records(DECISION):
            self._decide(key, body)

    def _decide(self, key: str, body: Body | None) -> None:
        self.decisions.pop(key, None)
        decision = None if body is None else read_decision(body)
        if decision is not None:
            self.decisions[key] = decision

    # records

    def _remove(self, keys: Collection[str]) -> None:
        """Marks the rows of records as gone."""
        for key in keys:
            for each in self.find_records(key):
                self.sources.column("is_alive")[each], self.sources.column("shown")[each] = False, NOBODY

    def _add(self, records: Sequence[tuple[str, Body]]) -> None:
        """Appends the rows of records."""
        evidence = [next(iter(references_in(body)), "") for _, body in records]
        places = self.room.project.find([one for one in dict.fromkeys(evidence) if one]) if any(evidence) else {}
        sources, edges, mentions = list[tuple[Any, ...]](), list[tuple[Any, ...]](), list[tuple[int, int]]()
        for (key, body), memory in zip(records, evidence, strict=True):
            said = read_record(body)
            if said is None:
                continue
            record = len(self.sources) + len(sources)
            place, own = places.get(memory), self._owner_number(said.owner)
            packed, packed_memory = _packed(key.partition("/")[2]), _packed(memory)
            if packed == bytes(16) or (memory and packed_memory == bytes(16)):
                self.odd[record] = key, memory
            shown = own if place is None else self._owner_number((place.partition.agent, place.partition.user_id))
            is_alive = not memory or (place is not None and not place.is_archived)
            sources.append((packed, packed_memory, bool(memory), is_alive, own, shown, said.recorded))
            self._add_said(said, record, edges, mentions)
        for columns, rows in ((self.sources, sources), (self.edges, edges), (self.mentions, mentions)):
            columns.extend(rows)

    def _add_said(self, said: Said, record: int, edges: list[tuple[Any, ...]], mentions: list[tuple[int, int]]) -> None:
        names = [self._spelling(name, kind) for name, kind in said.entities]
        numbers = self.spellings.column("entity")
        linked = set[int]()
        for one in said.edges:
            source, target = names[one.source], names[one.target]
            linked |= {source, target}
            if one.retired is not None:
                self.retired[len(self.edges) + len(edges)] = one.retired
            edges.append((
                numbers[source], numbers[target], source, target, self._relation_number(one.type), one.start, one.end, one.place,
                one.confidence, one.is_single, one.has_more, record,
            ))  # fmt: skip
        alone = dict.fromkeys(name for place, name in enumerate(names) if place not in said.dropped and name not in linked)
        mentions += [(name, record) for name in alone]  # the others are found by their relations

    def _spelling(self, name: str, entity_type: str) -> int:
        """Returns the number of a spelling, which is added if it is new."""
        key = entity_id(name, entity_type)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.ids)
            self.ids.append(key)
            self.first.append(len(self.spelt))
            self.entity_types.add(entity_type)
            self._note_namesakes(name)
        else:
            if self.spelt[self.first[number]] == name:
                return self.first[number]
            for spelling in self.further.get(number, ()):
                if self.spelt[spelling] == name:
                    return spelling
            self.further.setdefault(number, []).append(len(self.spelt))
        self.spelt.append(name)
        self.types.append(intern(entity_type))
        self.spellings.extend([(number,)])
        return len(self.spelt) - 1

    def _note_namesakes(self, name: str) -> None:
        thing = self.numbers.get(entity_id(name, THING))
        if thing is not None and len(self.named(name)) > 1:
            self.namesakes.add(thing)

    def named(self, name: str) -> list[int]:
        """Returns the entities of a name, of whatever type."""
        found = (self.numbers.get(entity_id(name, one)) for one in self.entity_types)
        return sorted(one for one in found if one is not None)

    def _owner_number(self, owner: Owner) -> int:
        number = self._owner_numbers.setdefault(owner, len(self.owners))
        if number == len(self.owners):
            self.owners.append(owner)
        return number

    def _relation_number(self, name: str) -> int:
        number = self._relation_numbers.setdefault(name, len(self.relations))
        if number == len(self.relations):
            self.relations.append(name)
        return number

    # what is asked of single rows

    def find_records(self, key: str) -> list[int]:
        """Returns the row of a record by its key; none if there is no such record."""
        rows = [at for at, (name, _) in self.odd.items() if name == key]
        if not rows and (packed := _packed(key.partition("/")[2])) != bytes(16):
            rows = [int(one) for one in np.nonzero(self.sources.column("key") == np.bytes_(packed))[0]]
        return [one for one in rows if self.sources.column("shown")[one] != NOBODY]

    def key_of(self, record: int) -> str:
        """Returns the key of a record by its row."""
        if record in self.odd:
            return self.odd[record][0]
        name = _name(bytes(self.sources.column("key")[record]))
        return f"{name[-2:]}/{name}"

    def evidence_of(self, record: int) -> str | None:
        """Returns the memory that a record rests on, `None` if it rests on none."""
        if not self.sources.column("rests")[record]:
            return None
        return self.odd[record][1] if record in self.odd else _name(bytes(self.sources.column("evidence")[record]))


_KEPT: dict[tuple[str, str], GraphRows] = {}
_LOCK = threading.RLock()


def rows_of(room: Room) -> GraphRows:
    """Returns the cache of a project's graph, one for each project of an open store. It goes when the store closes."""
    key = (room.store.name, room.name)
    with _LOCK:
        found = _KEPT.get(key)
        if found is None:
            room.store.before_close(lambda: _KEPT.pop(key, None))
        if found is None or found.room is not room:  # the store was embedded anew, or the project released
            found = _KEPT[key] = GraphRows(room)
        return found
