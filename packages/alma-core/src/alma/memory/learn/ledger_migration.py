"""Evidence as former versions kept it, by class of tasks, made anew from the outcomes: one cell for each task and strategy."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from alma.errors import ConflictError, CorruptStoreError
from alma.journal import Change
from alma.memory.room import Room
from alma.observing import Observation, blank_evidence, place_of, with_observation
from alma.storage.relational.evidence import evidence_row
from alma.text import matched_text
from alma.types.evidence import Evidence, class_in, is_of_steps, text_key
from alma.types.identity import to_micros
from alma.types.kinds import MemoryType
from alma.types.memories import Outcome

_LOG = logging.getLogger("alma")

MOST_TRIES = 3
OPERATION, ACTOR = "relearn", "alma"
_RULES = (("heuristic", "heuristic_status"), ("anti_pattern", "anti_pattern_status"))


@dataclass(frozen=True, slots=True)
class _Former:
    """What was stored: rows of evidence by id, what of the memories rests on which, and the first passages, by memory."""

    evidence: Mapping[str, Mapping[str, object]]
    outcomes: Mapping[str, str]
    rules: Mapping[str, str]
    tasks: Mapping[str, str]


def relearn(room: Room) -> None:
    """Replaces the evidence of a project by what its outcomes say, in one record. Rules keep their ids, outcomes their words.

    Does nothing where that is what is stored. Another process may do the same at this moment: then what it stored is looked at anew. A damaged
    row is a `CorruptStoreError`, and nothing is changed.
    """
    for _ in range(MOST_TRIES):
        try:
            _relearn(room)
        except ConflictError:
            continue
        return
    _relearn(room)


def _relearn(room: Room) -> None:
    former = _former(room)
    if not former.outcomes:
        return
    _LOG.info("making the evidence of project %s anew from its %d outcomes", room.name, len(former.outcomes))
    outcomes = _outcomes(room, former)
    cells, resting = _cells(outcomes, former.outcomes)
    strategies = [matched_text(outcome.strategy_used) for outcome, _ in outcomes.values() if outcome.strategy_used]
    vectors = room.store.texts.of(list(dict.fromkeys(strategies)), room.project)
    with room.project.write(actor=ACTOR, operation=OPERATION, at=room.now()) as write:
        changes = _changes(former, cells, resting)
        if changes:
            write.apply(changes)
            write.keep_vectors(vectors)


def _former(room: Room) -> _Former:
    evidence: dict[str, Mapping[str, object]] = {}
    outcomes: dict[str, str] = {}
    rules: dict[str, str] = {}
    passages: dict[str, tuple[int, str]] = {}
    for stored in room.project.rows():
        row = stored.row
        if row is None:
            raise CorruptStoreError(f"{stored.table} {stored.key} {stored.fault}; see `alma verify`")
        if stored.table == "evidence":
            evidence[stored.key] = row
        elif stored.table == "memory" and row["evidence"]:
            (outcomes if row["kind"] == MemoryType.OUTCOME else rules)[stored.key] = row["evidence"]
        elif stored.table == "passage":
            first = passages.get(row["memory"])
            if first is None or row["position"] < first[0]:
                passages[row["memory"]] = row["position"], row["text"]
    return _Former(evidence, outcomes, rules, {memory_id: text for memory_id, (_, text) in passages.items()})


def _outcomes(room: Room, former: _Former) -> dict[str, tuple[Outcome, str]]:
    """The outcomes by id, in the order in which they were recorded, each with the passage that holds its task."""
    places = room.project.find(former.outcomes)
    kept = room.project.memories(sorted(place.memory for place in places.values()))
    found = (kept[row] for row in sorted(kept))
    return {memory.id: (memory, former.tasks[memory.id]) for memory in found if isinstance(memory, Outcome)}


def _cells(outcomes: Mapping[str, tuple[Outcome, str]], former: Mapping[str, str]) -> tuple[dict[str, Evidence], dict[str, str]]:
    """The evidence by id, and the id that each outcome rests on."""
    cells: dict[str, Evidence] = {}
    resting: dict[str, str] = {}
    for memory_id, (outcome, task) in outcomes.items():
        place = place_of(outcome, task, is_step=is_of_steps(former[memory_id]))
        blank = blank_evidence(outcome, place, task)
        seen = Observation.of(outcome, recorded_at=to_micros(outcome.created_at))
        cells[blank.id] = with_observation(cells.get(blank.id, blank), seen)
        resting[memory_id] = blank.id
    return cells, resting


def _changes(former: _Former, cells: dict[str, Evidence], resting: Mapping[str, str]) -> list[Change]:
    """Returns the changes that store these cells with their rules. A task with a single outcome needs none, unless a rule rests on it."""
    anchors = _anchors(former, cells, resting)
    for memory_id, cell in anchors.items():
        row = former.evidence[former.rules[memory_id]]
        for name, status in _RULES:
            if row[name] == memory_id:
                rule: dict[str, Any] = {name: memory_id, status: row[status]}
                cells[cell] = replace(cells[cell], **rule)
    alone = {task for task, count in Counter(class_in(cell) for cell in resting.values()).items() if count == 1}
    kept = {key: cell for key, cell in cells.items() if class_in(key) not in alone or key in anchors.values()}
    wanted = {key: evidence_row(cell) for key, cell in kept.items()}
    made = [Change("evidence", key, None, row) for key, row in wanted.items() if key not in former.evidence]
    changed = [_change(key, former.evidence[key], row) for key, row in wanted.items() if key in former.evidence]
    gone = [Change("evidence", key, dict(row), None) for key, row in former.evidence.items() if key not in wanted]
    moved = {**resting, **anchors}
    before = {**former.outcomes, **former.rules}
    links = [
        Change("memory", key, {"evidence": before[key]}, {"evidence": cell}) for key, cell in moved.items() if before[key] != cell
    ]
    return [*gone, *made, *(change for change in changed if change.after), *links]


def _change(key: str, before: Mapping[str, object], after: Mapping[str, object]) -> Change:
    names = [name for name in after if before.get(name) != after[name]]
    return Change("evidence", key, {name: before[name] for name in names}, {name: after[name] for name in names})


def _anchors(former: _Former, cells: Mapping[str, Evidence], resting: Mapping[str, str]) -> dict[str, str]:
    """The cell for each rule to rest on: the newest of its former outcomes with its strategy, else the newest; of a kind one rule a cell."""
    by_former: dict[str, list[str]] = {}
    for memory_id, cell in resting.items():
        by_former.setdefault(former.outcomes[memory_id], []).append(cell)
    taken: set[tuple[str, str]] = set()
    anchors: dict[str, str] = {}
    for memory_id, evidence in former.rules.items():
        row = former.evidence.get(evidence)
        kind = next((name for name, _ in _RULES if row is not None and row[name] == memory_id), None)
        if row is None or kind is None:
            continue
        free = [cell for cell in reversed(by_former.get(evidence, [])) if (cell, kind) not in taken]
        wanted = text_key(str(row["strategy"]))
        found = [one for one in free if cells[one].strategy_hash == wanted] or free
        if found:
            taken.add((found[0], kind))
            anchors[memory_id] = found[0]
    return anchors
