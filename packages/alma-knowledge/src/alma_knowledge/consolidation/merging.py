"""Merging: one memory of a group stays, the others are archived, in one journal record; and merges that a person undid."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

from alma.errors import ScopeViolationError, ValidationError
from alma.memory.learn.adding import checked_entry
from alma.memory.learn.storing import Entry, embed, put_corrected
from alma.memory.room import Room
from alma.protocols import Write
from alma.storage.relational.rows import memory_row
from alma.types.identity import from_micros
from alma.types.kinds import KINDS, MemoryType
from alma.types.memories import AnyMemory, Memory, passages_of
from alma.types.provenance import FLAGGED, is_vouched_for
from alma.types.strategies import NO_USE, WAY_NAME
from alma_knowledge.consolidation.disputing import OPERATION, Dispute, mark_disputes
from alma_knowledge.consolidation.results import Apart

APART = "consolidation.apart"
"""Kind of the small records of pairs that a person took apart, so that an export keeps them."""
UNSURE = "consolidation.unsure"
"""Kind of the small records of pairs that a person may judge."""
MERGED_FROM, SUPERSEDED_BY = "merged_from", "superseded_by"
EXTRACTED = "extracted"
"""Key of the metadata of a fact of a conversation, with which it is purged."""
_COUNTS = ("occurrence_count", "success_count")


@dataclass(frozen=True, slots=True)
class Union:
    """Memories that become one. `texts` are the fields that a language model worded, none where the survivor keeps its words."""

    survivor: AnyMemory
    others: Sequence[AnyMemory]
    texts: Mapping[str, str]

    @property
    def ids(self) -> list[str]:
        """The ids of all, the survivor's first."""
        return [self.survivor.id, *(each.id for each in self.others)]


@dataclass(slots=True)
class Found:
    """Findings of a consolidation: groups to merge, pairs that a person took apart, unsure pairs, near pairs that stay apart, and contradictions."""

    processed: int = 0
    unions: list[Union] = field(default_factory=list)
    undone: set[frozenset[str]] = field(default_factory=set)
    unsure: list[frozenset[str]] = field(default_factory=list)
    apart: list[Apart] = field(default_factory=list)
    disputes: list[Dispute] = field(default_factory=list)


class Written(NamedTuple):
    """Writes of a consolidation: the journal record, `None` for none, the groups, the number of names of strategies, and the contradictions."""

    seq: int | None
    unions: Sequence[Union]
    named: int
    disputes: Sequence[Dispute]


def choose_survivor(memories: Iterable[AnyMemory]) -> list[AnyMemory]:
    """Returns memories that say the same, the one that stays first: that of the best source, then one that goes with no conversation, then that of
    most evidence, then the oldest."""
    return sorted(
        memories,
        key=lambda one: (not _is_vouched_for(one), EXTRACTED in one.metadata, -(one.trials or 0.0), one.created_at, one.id),
    )


def check_words(room: Room, union: Union) -> tuple[Union, str | None]:
    """Returns a union with a model's words as they may be stored, or with the survivor's own words and why the model's may not be."""
    if not union.texts:
        return union, None
    try:
        taken = checked_entry(room, unite(union, at=room.now())).memory
    except (ValidationError, ScopeViolationError) as error:
        return replace(union, texts={}), str(error)
    if FLAGGED in taken.metadata:
        return replace(union, texts={}), f"it is suspicious: it {taken.metadata[FLAGGED]}"
    return replace(union, texts={name: getattr(taken, name) for name in union.texts}), None


def merge(room: Room, found: Found, names: Mapping[str, Mapping[str, Any]], *, actor: str) -> Written:
    """Writes what was found in one journal record.

    A group of which a memory changed meanwhile is left out. `names` are the records of names of strategies, each left out if an outcome that it
    speaks of is gone meanwhile.
    """
    unions = found.unions
    entries = [Entry(merged, passages_of(merged)) for merged in (unite(one, at=room.now()) for one in unions if one.texts)]
    vectors, at = embed(room, entries), room.now()
    noted: Mapping[tuple[str, str], Mapping[str, Any]] = {
        **_new_pairs(room, APART, found.undone),
        **_new_pairs(room, UNSURE, found.unsure),
    }
    if not (unions or noted or names or found.disputes):
        return Written(None, [], 0, [])
    with room.project.write(actor=actor, operation=OPERATION, at=at) as write:
        noted = _lasting(write, noted)
        write.put_records({name: (0, body) for name, body in noted.items()})
        lasting = _lasting(write, {(WAY_NAME, key): body for key, body in names.items()})
        write.put_records({name: (0, body) for name, body in lasting.items()})
        done = [one for one in unions if _is_unchanged(write, one)]
        for one in done:
            _write_union(write, one, vectors, at=at)
        marked = mark_disputes(write, found.disputes)
        return Written(write.seq if done or noted or lasting or marked else None, done, len(lasting), marked)


def _lasting(write: Write, records: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Returns those records of which all memories that they speak of are there, and that no other caller wrote meanwhile."""
    there = write.stored.find({one for body in records.values() for one in body["references"]})
    now = {
        kind: write.stored.record(kind, [key for one, key in records if one == kind]) for kind in {kind for kind, _ in records}
    }
    left = {(kind, key): body for (kind, key), body in records.items() if not now[kind][key][0]}
    return {name: body for name, body in left.items() if all(one in there for one in body["references"])}


def unite(union: Union, *, at: int) -> AnyMemory:
    """Returns the survivor with what the others add: their counts, the latest time at which one was seen, and their ids."""
    every = [union.survivor, *union.others]
    changes: dict[str, Any] = {
        name: sum(getattr(one, name) for one in every) for name in _COUNTS if hasattr(union.survivor, name)
    }
    if union.survivor.kind in {*KINDS}:
        name = KINDS[MemoryType(union.survivor.kind)].time_field
        changes[name] = max(getattr(one, name) for one in every)
    former = union.survivor.metadata.get(MERGED_FROM, [])
    metadata = {
        **union.survivor.metadata,
        MERGED_FROM: [*former, *(one.id for one in union.others)],
        "merge_timestamp": from_micros(at).isoformat(),
        "original_count": sum(_count_originals(one) for one in every),
    }
    return union.survivor.model_copy(
        update={**changes, **_worded(union, every), "metadata": metadata, "updated_at": from_micros(at)}
    )


def _worded(union: Union, every: Sequence[AnyMemory]) -> dict[str, Any]:
    """Returns the texts of a model's, with the source that is trusted least: its words are no better than any of theirs."""
    if not union.texts:
        return {}
    least = min(every, key=lambda one: (_is_vouched_for(one), one.confidence))
    source = {"source": least.source} if hasattr(least, "source") else {}
    return {**union.texts, **source, "confidence": least.confidence}


def _count_originals(memory: Memory) -> int:
    count = memory.metadata.get("original_count")
    return count if isinstance(count, int) and MERGED_FROM in memory.metadata else 1


def _is_vouched_for(memory: Memory) -> bool:
    return is_vouched_for(str(getattr(memory, "source", "")), memory.metadata) and "imported" not in memory.metadata


def _is_unchanged(write: Write, union: Union) -> bool:
    places, stored = write.stored.find(union.ids), write.stored.named(union.ids)
    every = [union.survivor, *union.others]
    return all(one.id in places and not places[one.id].is_archived and stored[one.id] == one for one in every)


def _write_union(write: Write, union: Union, vectors: Mapping[str, bytes], *, at: int) -> None:
    merged, survivor = unite(union, at=at), union.survivor
    if union.texts:
        put_corrected(write, Entry(merged, passages_of(merged)), vectors, at=at)
    else:
        before, after = memory_row(survivor), memory_row(merged)
        write.change_memory(survivor.id, **{name: after[name] for name in after if after[name] != before[name]})
    usage = defaultdict[str, float](float)
    for memory_id, place in write.stored.find([one.id for one in union.others]).items():
        write.change_memory(
            memory_id,
            archived_at=at,
            body={"metadata": {**next(one.metadata for one in union.others if one.id == memory_id), SUPERSEDED_BY: survivor.id}},
        )
        for name in NO_USE if place.usage else ():
            usage[name] += (place.usage or {}).get(name, 0)
    if any(usage.values()):
        write.count_usage({survivor.id: usage})


def find_undone(room: Room, ids: Collection[str]) -> set[frozenset[str]]:
    """Returns the pairs of ids, all of memories that are there, that were merged before: as both are there, a person took them apart."""
    live, found = set(ids), set[frozenset[str]]()
    for entry in room.project.entries(memory_ids=list(ids)) if ids else ():
        if entry.operation != OPERATION:
            continue
        unions = defaultdict[str, set[str]](set)
        for change in entry.changes:
            into = ((change.after or {}).get("body") or {}).get("metadata", {}).get(SUPERSEDED_BY)
            if change.table == "memory" and isinstance(into, str):
                unions[into].add(change.key)
        for into, merged in unions.items():
            found |= {frozenset(pair) for pair in combinations(sorted({into, *merged} & live), 2)}
    return found


def read_pairs(room: Room, kind: str, ids: Collection[str]) -> set[frozenset[str]]:
    """Returns the pairs of a kind, `APART` or `UNSURE`, of which both memories are among the ids."""
    live = set(ids)
    known = (frozenset(body.get("references", ())) for _, _, body in room.project.records(kind))
    return {pair for pair in known if pair <= live}


def pair_key(pair: Collection[str]) -> str:
    """Returns the key of the record of a pair of ids."""
    return "/".join(sorted(pair))


def _new_pairs(room: Room, kind: str, pairs: Iterable[frozenset[str]]) -> dict[tuple[str, str], dict[str, Any]]:
    wanted = {pair_key(pair): {"references": sorted(pair)} for pair in pairs}
    known = room.project.record(kind, wanted) if wanted else {}
    return {(kind, key): body for key, body in wanted.items() if not known[key][0]}
