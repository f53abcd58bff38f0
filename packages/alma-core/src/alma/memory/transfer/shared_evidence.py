"""Evidence that a project and a file both have: pooled from the outcomes of both, whichever came first.

Two clones of a memory hold outcomes in common, and each has its own. After an import each of them counts once: the counts of a
task that both know are made anew from its outcomes, never added up, so what a file only claims counts for nothing there. Counts
that a purge left without outcomes go with that. Of two rules on the same evidence the older one stays. All rules of such an agent
are judged again, so the order of imports changes nothing. New rules are formed by the next outcome, as ever.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from alma.evidence import Tally
from alma.learning.other_users import users_of
from alma.memory.learn.restating import restate
from alma.memory.room import Room
from alma.memory.transfer.export_links import RULES, Links
from alma.memory.transfer.merging import Merge
from alma.observing import Observation, with_observation
from alma.protocols import NextWrite, Write
from alma.storage.relational.evidence import evidence_row
from alma.text import matched_text
from alma.types.changes import Change
from alma.types.evidence import Evidence, StoredEvidence, class_in
from alma.types.identity import to_micros
from alma.types.memories import Outcome
from alma.types.partition import agent_in

EVERYTHING = 10_000_000
"""More than an agent has of anything."""


@dataclass(slots=True)
class Shared:
    """Evidence, by id, on what both sides know: as it was here, and as the file has it.

    `classes` are the tasks that have to be pooled; `same` is evidence of agents of whom both sides know the same. `written` is what the
    file has as a line of its own, not only as an outcome. Of two rules on the same evidence one is left out: `lost` are those of the
    file, `losing` deletes those that were here. `judged` has the owners whose rules are judged again. `merge` says what becomes of
    memories that both sides have.
    """

    here: dict[str, StoredEvidence] = field(default_factory=dict)
    file: dict[str, Evidence] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    brought: dict[str, set[str]] = field(default_factory=dict)
    """The outcomes in the file by evidence."""
    classes: set[str] = field(default_factory=set)
    same: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    losing: list[Change] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)
    merge: Merge = field(default_factory=Merge)

    def holds_back(self, evidence_id: str) -> bool:
        """Returns True for evidence that is not stored as the file has it."""
        return evidence_id in self.same or class_in(evidence_id) in self.classes


def shared_evidence(room: Room, links: Links, present: Collection[str], merge: Merge) -> Shared:
    """Compares the evidence of a file with that of the project. `present` are the memories of the file that the project has, `merge` what
    becomes of them and of others."""
    shared = Shared(written=set(links.counted), merge=merge)
    by_agent: dict[str, dict[str, Evidence]] = {}
    for evidence in (*links.counted.values(), *links.alone.values()):
        by_agent.setdefault(evidence.agent, {})[evidence.id] = evidence
    for memory_id, resting in links.memories.items():
        if not resting.is_rule:
            shared.brought.setdefault(resting.evidence, set()).add(memory_id)
    touched = set(map(class_in, merge.outcomes | merge.rules))
    losing: set[str] = set()
    for agent in dict.fromkeys((*by_agent, *_agents_here(room, touched))):
        cells = by_agent.get(agent, {})
        here = _known(room, agent, cells)
        recounted = touched & set(map(class_in, (*here, *cells)))
        if not recounted and (not here or not cells):
            continue
        if not recounted and _is_same(here, cells, shared.brought, present):
            shared.same |= cells.keys()
            shared.lost |= {one for one, of in links.memories.items() if of.is_rule and of.evidence in cells} - {*present}
            continue
        shared.here |= here
        shared.file |= cells
        shared.classes |= recounted | (set(map(class_in, here)) & set(map(class_in, cells)))
        found = (*(stored.evidence for stored in here.values()), *cells.values())
        shared.judged |= {one.owner for one in found if any(getattr(one, column) for column in RULES)}
        losing |= _rivals(shared, here, cells, links, present)
    if losing:
        shared.losing += _deleted(room, losing)
    return shared


def _agents_here(room: Room, classes: Collection[str]) -> set[str]:
    """The agents that tried something on these tasks, as the project knows them."""
    return {stored.evidence.agent for stored in room.project.learned.of_tasks(sorted(classes))} if classes else set()


def _known(room: Room, agent: str, cells: Iterable[str]) -> dict[str, StoredEvidence]:
    """What the project knows of an agent, and of the tasks of some evidence."""
    newest = room.project.learned.newest([agent, users_of(agent)], most=EVERYTHING)
    known = {stored.evidence.id: stored for found in newest.values() for stored in found}
    if known:
        known |= {stored.evidence.id: stored for stored in room.project.learned.of_tasks(map(class_in, cells))}
    return known


def _is_same(
    here: Mapping[str, StoredEvidence], cells: Mapping[str, Evidence], brought: Mapping[str, set[str]], present: Collection[str]
) -> bool:
    known = {key: stored.evidence for key, stored in here.items()}
    return known == cells and all(brought.get(key, set()) <= set(present) for key in cells)


def _rivals(
    shared: Shared,
    here: Mapping[str, StoredEvidence],
    cells: Mapping[str, Evidence],
    links: Links,
    present: Collection[str],
) -> set[str]:
    """Decides between rules that rest on the same evidence, and returns those of the project that give way."""
    losing: set[str] = set()
    for key in here.keys() & cells.keys():
        for column in RULES:
            own, other = getattr(here[key].evidence, column), getattr(cells[key], column)
            if {own, other} & shared.merge.dead_memories:
                continue
            if other not in links.memories or (other in present and own != other):
                nothing: dict[str, Any] = {column: None, f"{column}_status": None}
                shared.file[key] = replace(shared.file[key], **nothing)
            elif own is not None and own != other:
                (losing if other < own else shared.lost).add(max(own, other))
    return losing


def _deleted(room: Room, memories: Collection[str]) -> Iterator[Change]:
    """The changes that delete memories, with all that hangs on them."""
    for stored in room.project.rows():
        row = stored.row
        of = (row or {}).get("memory") if stored.table == "passage" else stored.key
        if row is not None and stored.table in ("memory", "passage", "usage") and of in memories:
            yield Change(stored.table, stored.key, row, None)


def pool(room: Room, next_write: NextWrite, shared: Shared, vector_of: Callable[[str], bytes | None]) -> set[str]:
    """Pools the evidence that both sides have, once the outcomes are stored, and has the rules follow. Returns the ids of what changed."""
    with next_write() as write:
        compared = {matched_text(one.strategy) for one in shared.file.values() if one.strategy}
        write.keep_vectors({text: vector for text in compared if (vector := vector_of(text)) is not None})
        changes = [change for name in sorted(shared.classes) for change in _pooled_class(write, shared, name)]
        write.apply([*changes, *shared.losing])
    if shared.judged:
        with next_write() as write:
            restate(room, write, {owner: _newest(write, owner) for owner in shared.judged})
    return {change.key for change in changes}


def _newest(write: Write, owner: str) -> int:
    """The time of the newest observation of an owner's agent, as it is pooled by now."""
    agent = agent_in(owner)
    found = write.learned.newest([agent, users_of(agent)], most=EVERYTHING)
    return max((stored.evidence.observed_at for known in found.values() for stored in known), default=0)


def _pooled_class(write: Write, shared: Shared, name: str) -> Iterator[Change]:
    """The changes to the evidence on a task that both sides know. That of a single outcome need not be stored, unless it was."""
    keys = sorted(key for key in shared.here.keys() | shared.file.keys() if class_in(key) == name)
    outcomes = {key: _outcomes(write, key) for key in keys}
    staying = [key for key in keys if outcomes[key] or not shared.merge.is_dead_evidence(key)]
    is_alone = len(staying) == 1 and len(outcomes[staying[0]]) == 1
    for key in keys:
        here = shared.here.get(key)
        before = evidence_row(here.evidence) if here is not None and here.is_stored else None
        merged = _merged(shared, key, outcomes[key]) if key in staying else None
        is_needed = before is not None or key in shared.written or not is_alone
        yield from _change(key, before, evidence_row(merged) if merged is not None and is_needed else None)


def _change(key: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[Change]:
    if before is None or after is None:
        if before is not after:
            yield Change("evidence", key, before, after)
    elif names := [column for column in after if before[column] != after[column]]:
        yield Change("evidence", key, {each: before[each] for each in names}, {each: after[each] for each in names})


def _outcomes(write: Write, evidence_id: str) -> list[Outcome]:
    """The outcomes that evidence counts, in the order in which they were recorded, wherever that was."""
    found = write.stored.memories(sorted(write.learned.outcomes(evidence_id, newest=EVERYTHING))).values()
    return sorted((one for one in found if isinstance(one, Outcome)), key=lambda one: (one.created_at, one.id))


def _merged(shared: Shared, key: str, outcomes: list[Outcome]) -> Evidence:
    """One piece of evidence as both sides know it. The same on both, it stays; without outcomes the one that counts more is taken."""
    stored, file = shared.here.get(key), shared.file.get(key)
    here = None if stored is None else stored.evidence
    sides = [_without_dead(side, shared.merge.dead_memories) for side in (here, file) if side is not None]
    chosen = max(sides, key=_amount)
    is_unchanged = (
        here == file and shared.brought.get(key, set()) == {one.id for one in outcomes} and key not in shared.merge.outcomes
    )
    if not outcomes or is_unchanged:
        return replace(chosen, **_rules(sides))
    subject = min(sides, key=lambda side: (side.task or "", side.strategy))
    blank = replace(
        subject, lifetime=Tally(), operative=Tally(), unverified=0, observed_at=0, recent=(), reasons=(), **_rules(sides)
    )
    return reduce(with_observation, (Observation.of(one, recorded_at=to_micros(one.created_at)) for one in outcomes), blank)


def _without_dead(side: Evidence, dead: Collection[str]) -> Evidence:
    """Evidence that names no rule that was purged."""
    gone: dict[str, Any] = {column: None for column in RULES if getattr(side, column) in dead}
    return replace(side, **gone) if gone else side


def _amount(side: Evidence) -> tuple[float, float, str]:
    return side.observations, side.lifetime.successes, repr(side)


def _rules(sides: Iterable[Evidence]) -> dict[str, Any]:
    """The rules that rest on evidence: of each kind the older one, with how far it is believed. Of a purged one, only that is left."""
    chosen: dict[str, Any] = {}
    for column in RULES:
        status = f"{column}_status"
        named = [side for side in sides if getattr(side, status) is not None]
        first = min(
            named, key=lambda side: (getattr(side, column) is None, getattr(side, column), getattr(side, status)), default=None
        )
        chosen |= {column: first and getattr(first, column), status: first and getattr(first, status)}
    return chosen
