"""Unsure pairs, which a person judges: one of them is enough, or they stay apart for good. `alma review` shows them."""

from collections.abc import Iterator, Sequence
from typing import Literal, TypedDict

from alma import ALMA
from alma.errors import ValidationError
from alma.memory.alma import opened_room
from alma.memory.arguments import checked_count, checked_ids, optional_name
from alma.memory.room import Room
from alma.text import quoted
from alma_knowledge.consolidation.merging import APART, UNSURE, Found, Union, choose_survivor, merge, pair_key, read_pairs
from alma_knowledge.consolidation.results import ConsolidationError
from alma_knowledge.consolidation.sameness import Verdict
from alma_knowledge.consolidation.stated import Stated, compare_stated, read_stated

MERGE, KEEP = "merge", "keep"
KEEP_APART = "keep_apart"
"""The operation of the journal record by which a person keeps a pair apart."""


class UnsurePair(TypedDict):
    """Two memories that may say the same: their ids, joined by "/" in `id`, whose they are, their texts, why nobody merged them, and the id of the
    one that would stay."""

    id: str
    ids: list[str]
    kind: str
    agent: str
    user_id: str | None
    texts: list[str]
    reason: str
    survivor: str


def list_unsure(alma: ALMA, agent: str | None = None, limit: int = 20) -> tuple[list[UnsurePair], int]:
    """Returns the pairs that consolidations left open, of one agent or of all, at most `limit`, and how many there are.

    A pair is listed while both memories are there, say what the words leave open, and no person kept them apart. Writes nothing.
    """
    name, most = optional_name(agent, "agent"), checked_count(limit, "limit")
    found = [pair for pair in _read_open(opened_room(alma)) if name in (None, pair["agent"])]
    return found[:most], len(found)


def judge_pair(alma: ALMA, ids: Sequence[str], verdict: Literal["merge", "keep"]) -> int:
    """Merges the memories of a pair, or keeps them apart: they are never merged then. Returns the journal record; undoing to the one before takes
    it back.

    `ConsolidationError` for two that do not say the same, or that were kept apart.
    """
    room, pair = opened_room(alma), frozenset(checked_ids(ids, "ids"))
    if verdict not in (MERGE, KEEP):
        raise ValidationError(f"the verdict of a pair is merge or keep, not {quoted(verdict)}")
    one, other = _read_pair(room, pair)
    if pair in read_pairs(room, APART, pair):
        raise ConsolidationError("a person kept these memories apart; undo that first")
    if verdict == KEEP:
        with room.project.write(actor="", operation=KEEP_APART, at=room.now()) as write:
            write.put_record(APART, pair_key(pair), {"references": sorted(pair)}, version=0)
        return write.seq
    if (said := compare_stated(one, other)) not in (Verdict.SAME, Verdict.UNSURE):
        raise ConsolidationError(f"these memories do not say the same: {said}")
    survivor, *others = choose_survivor([one.memory, other.memory])
    written = merge(room, Found(unions=[Union(survivor, others, {})]), {}, actor="")
    if written.seq is None:
        raise ConsolidationError("one of these memories changed meanwhile; look at them again")
    return written.seq


def _read_pair(room: Room, pair: frozenset[str]) -> tuple[Stated, Stated]:
    """Returns the two memories of a pair. `ConsolidationError` if they are not two that one owner stated."""
    stated = _read_stated(room, pair)
    if len(pair) != 2 or len(stated) != 2:
        raise ConsolidationError("a pair is of two memories that were stated and are still there")
    one, other = (stated[memory_id] for memory_id in sorted(pair))
    if _owner(one) != _owner(other):
        raise ConsolidationError("these memories are of two owners or kinds")
    return one, other


def _owner(stated: Stated) -> tuple[str, str | None, str | None]:
    memory = stated.memory
    return memory.kind, None if memory.kind == "user_preference" else memory.agent, memory.user_id


def _read_stated(room: Room, ids: frozenset[str] | set[str]) -> dict[str, Stated]:
    places = room.project.find(ids)
    memories = room.project.memories([place.memory for place in places.values() if not place.is_archived]).values()
    return {memory.id: stated for memory in memories if (stated := read_stated(memory)) is not None}


def read_pair(alma: ALMA, ids: Sequence[str]) -> UnsurePair:
    """Returns a pair as it is listed. `ConsolidationError` if it is of no two memories of one owner and kind."""
    return _show(*_read_pair(opened_room(alma), frozenset(checked_ids(ids, "ids"))))


def _read_open(room: Room) -> Iterator[UnsurePair]:
    pairs = [frozenset(body.get("references", ())) for _, _, body in room.project.records(UNSURE)]
    stated = _read_stated(room, {one for pair in pairs for one in pair})
    apart = read_pairs(room, APART, stated)
    for pair in pairs:
        if len(pair) == 2 and pair <= stated.keys() and pair not in apart:
            one, other = (stated[each] for each in pair)
            if _owner(one) == _owner(other) and compare_stated(one, other) is Verdict.UNSURE:
                yield _show(one, other)


def _show(one: Stated, other: Stated) -> UnsurePair:
    first, second = sorted((one, other), key=lambda each: (each.memory.created_at, each.memory.id))
    ids = [first.memory.id, second.memory.id]
    said = compare_stated(first, second)
    return UnsurePair(
        id=pair_key(ids),
        ids=ids,
        kind=first.memory.kind,
        agent=first.memory.agent,
        user_id=first.memory.user_id,
        texts=[first.shown, second.shown],
        reason="their words leave open whether they say the same" if said is Verdict.UNSURE else said.value,
        survivor=choose_survivor([first.memory, second.memory])[0].id,
    )
