"""Evidence in the file: read by class, written row by row."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Any

from alma.errors import CorruptStoreError
from alma.evidence import Tally
from alma.journal import Change
from alma.observing import only
from alma.storage import compiled
from alma.storage.logical import TABLES, View, note_last_record
from alma.storage.rows import UNREADABLE, Row, memory_from, named, text_hash
from alma.storage.seal import Seal
from alma.text import PASSAGE_CHARS, matched_text
from alma.types.evidence import Evidence, StoredEvidence, class_id, class_in, evidence_id, is_of_steps, tasks_id
from alma.types.kinds import MemoryType
from alma.types.memories import Outcome

LOOKED_AT = 4
"""Among so many times as many outcomes as classes are wanted, those are looked for that are alone in theirs."""

RECOUNTED = ("confidence", "successes", "trials", "seen_at", "updated_at")
"""The columns of a rule's row that follow its evidence."""

_SAME = ("id", "agent", "task_class", "strategy_hash", "strategy", "unverified", "observed_at", "task")
_RULES = ("heuristic", "heuristic_status", "anti_pattern", "anti_pattern_status")


def evidence_row(evidence: Evidence) -> Row:
    """The logical row of evidence."""
    return {
        **{name: getattr(evidence, name) for name in (*_SAME, *_RULES)},
        "successes": evidence.lifetime.successes,
        "trials": evidence.lifetime.trials,
        "operative_successes": evidence.operative.successes,
        "operative_trials": evidence.operative.trials,
        "recent": [list(happening) for happening in evidence.recent],
        "reasons": [list(happening) for happening in evidence.reasons],
    }


def evidence_from(row: Mapping[str, Any]) -> Evidence:
    """The evidence of a logical row."""
    return Evidence(
        **{name: row[name] for name in (*_SAME, *_RULES)},
        lifetime=Tally(row["successes"], row["trials"]),
        operative=Tally(row["operative_successes"], row["operative_trials"]),
        recent=tuple((what, count, at) for what, count, at in row["recent"]),
        reasons=tuple((what, count, at) for what, count, at in row["reasons"]),
    )


def _stored(view: View, raw: Row) -> StoredEvidence:
    try:
        return StoredEvidence(raw["row"], evidence_from(TABLES["evidence"].decoded(view, raw)))
    except UNREADABLE as error:
        raise CorruptStoreError(f"evidence {raw['id']} is not readable: {error}; see `alma verify`") from error


def _first(view: View, raw: Row) -> StoredEvidence | None:
    """The evidence that the only outcome of its class is; `None` for one that belongs to a class of another, of which nothing is left."""
    task = view.seal.open(raw.pop("task"), place="passage.text").decode()
    evidence, body = raw.pop("evidence"), view.seal.open(raw.pop("body"), place="memory.body")
    del raw["row"]
    outcome = memory_from(project="", kind=MemoryType.OUTCOME, body=body, **raw)
    assert isinstance(outcome, Outcome)
    seen = only(outcome, task, is_step=is_of_steps(evidence))
    return StoredEvidence(None, seen) if seen.id == evidence else None


def _first_if_sound(view: View, raw: Row) -> StoredEvidence | None:
    try:
        return _first(view, raw)
    except CorruptStoreError:
        return None


def put(view: View, before: StoredEvidence | None, after: Evidence) -> tuple[StoredEvidence, Change]:
    """Stores evidence, new or in place of what was there, and gives it with the change. The caller holds the newest state."""
    table, row = TABLES["evidence"], evidence_row(after)
    if before is None:
        number = table.insert(view, table.encoded(view, after.id, row))
        return StoredEvidence(number, after), Change("evidence", after.id, None, row)
    was = evidence_row(before.evidence)
    assert before.row is not None
    changed = [name for name in row if row[name] != was[name]]
    table.update(view, {"row": before.row}, table.encoded(view, after.id, row))
    change = Change("evidence", after.id, {name: was[name] for name in changed}, {name: row[name] for name in changed})
    return StoredEvidence(before.row, after), change


def recount(view: View, memory_id: str, columns: Mapping[str, Any], *, seq: int) -> Change | None:
    """Changes counts and times of a memory's row, those of `RECOUNTED`. `None` if there is no such memory, or nothing to change."""
    raw = TABLES["memory"].raw(view, memory_id)
    if raw is None:
        return None
    changed = [name for name in RECOUNTED if raw[name] != columns[name]]
    if not changed:
        return None
    note_last_record(view, raw)
    place = {"of_row": raw["row"], "seq": seq}
    view.connection.execute(compiled.MEMORY_RECOUNT, {**place, **{name: columns[name] for name in RECOUNTED}})
    return Change("memory", memory_id, {name: raw[name] for name in changed}, {name: columns[name] for name in changed})


def counted_strategies(connection: sqlite3.Connection, seal: Seal) -> Iterator[tuple[int, str]]:
    """The texts by which strategies are compared of which there is evidence, by project."""
    for project, strategy in connection.execute("SELECT DISTINCT project, strategy FROM evidence WHERE strategy_hash <> x''"):
        yield project, matched_text(seal.open(strategy, place="evidence.strategy").decode())


def strategies(connection: sqlite3.Connection, seal: Seal) -> Iterator[tuple[int, str]]:
    """The texts by which strategies are compared, by project: also those of outcomes, which may be all that is known of a class."""
    yield from counted_strategies(connection, seal)
    for project, body in connection.execute("SELECT project, body FROM memory WHERE evidence IS NOT NULL"):
        if strategy := _named_in(body, seal):
            yield project, matched_text(strategy)


def _named_in(body: bytes, seal: Seal) -> str:
    """The strategy that an outcome names; none if its body is damaged, of which `verify` tells."""
    try:
        return str(json.loads(seal.open(body, place="memory.body")).get("strategy_used", ""))
    except UNREADABLE:
        return ""


def compared(connection: sqlite3.Connection, seal: Seal) -> Iterator[tuple[int, bytes]]:
    """The hashes of the texts by which strategies are compared, by project."""
    return ((project, text_hash(text)) for project, text in strategies(connection, seal))


def tried(view: View) -> set[str]:
    """The hashes of the strategies that outcomes name, as `Evidence.strategy_hash` has them."""
    statement = "SELECT DISTINCT substr(evidence, :end) FROM memory WHERE project = :project AND evidence IS NOT NULL"
    given = {"project": view.project, "end": len(class_id("", "")) + 1}
    return {strategy_hash for (strategy_hash,) in view.connection.execute(statement, given)}


def tried_in_part(view: View) -> Iterator[bytes]:
    """The hashes of the texts by which the strategies are compared that outcomes name and that are too long to be compared whole."""
    statement = "SELECT body FROM memory WHERE project = :project AND evidence IS NOT NULL AND length(body) > :most"
    for (body,) in view.connection.execute(statement, {"project": view.project, "most": PASSAGE_CHARS}):
        strategy = _named_in(body, view.seal)
        if strategy and (compared_by := matched_text(strategy)) != strategy:
            yield text_hash(compared_by)


_Reading = Callable[[View, Row], StoredEvidence | None]


def uncounted(connection: sqlite3.Connection, project: int, beginning: str = "") -> Iterator[str]:
    """The ids that begin so, that outcomes rest on, and of whom evidence takes no notice, though it should: of more than one outcome of a class, what
    is stored counts each."""
    rows = connection.execute(compiled.EVIDENCE_COUNTED, {"project": project, **_beginning(beginning)})
    for _, found in groupby(rows.fetchall(), key=lambda row: class_in(row[0])):
        resting = list(found)
        is_alone = sum(outcomes for _, outcomes, _ in resting) == 1
        for resting_on, outcomes, counted in resting:
            if (counted is None and not is_alone) or (counted is not None and outcomes > counted):
                yield resting_on


class EvidenceReader:
    """The evidence of one project, for who learns and for who asks."""

    def __init__(self, opened: Callable[[], AbstractContextManager[View | None]]) -> None:
        self._opened = opened

    def classes(self, agent: str, *, most: int) -> list[StoredEvidence]:
        """The first evidence on each of the newest classes of an agent's tasks, newest first. Classes of a single outcome are looked for among
        the newest outcomes alone; a damaged one is passed over, for others are learned from all the same."""
        counted = self._read(compiled.EVIDENCE_CLASSES, agent=agent, most=most)
        firsts = self._firsts(
            compiled.EVIDENCE_NEWEST_FIRSTS, _first_if_sound, agent=agent, looked_at=LOOKED_AT * most, most=most
        )
        return sorted([*counted, *firsts.values()], key=lambda found: -found.evidence.observed_at)[:most]

    def largest_classes(self, agent: str, *, most: int) -> list[StoredEvidence]:
        """The first evidence on each of the classes of an agent's tasks in which most was tried and judged, those first; of some the whole, too."""
        return self._read(compiled.EVIDENCE_LARGEST_CLASSES, agent=agent, most=most)

    def total(self, agent: str) -> Tally:
        """All that an agent tried and that was judged, single steps left out."""
        with self._opened() as view:
            if view is None:
                return Tally()
            return Tally(*view.connection.execute(compiled.EVIDENCE_TOTAL, {"project": view.project, "agent": agent}).fetchone())

    def has_class(self, agent: str, task_class: str) -> bool:
        """Whether anything is known of tasks of a class, or of steps of them."""
        with self._opened() as view:
            if view is None:
                return False
            given = {"project": view.project, **_beginning(tasks_id(agent, task_class))}
            return bool(view.connection.execute(compiled.EVIDENCE_CLASS_EXISTS, given).fetchone()[0])

    def of_class(self, agent: str, task_class: str, *, most: int) -> list[StoredEvidence]:
        """The class and the strategies that were tried in it, those tried most often first."""
        counted = self._read(compiled.EVIDENCE_OF_CLASS, agent=agent, task_class=task_class, most=most)
        return counted or list(self._firsts(compiled.EVIDENCE_FIRST_OF_CLASS, **_beginning(class_id(agent, task_class))).values())

    def at(self, agent: str, task_class: str, strategy_hash: str) -> StoredEvidence | None:
        """The evidence of one key."""
        place = {"agent": agent, "task_class": task_class, "strategy_hash": bytes.fromhex(strategy_hash)}
        counted = self._read(compiled.EVIDENCE_AT, **place)
        wanted = evidence_id(agent, task_class, strategy_hash)
        return next(iter(counted or (one for one in self.of_class(agent, task_class, most=1) if one.evidence.id == wanted)), None)

    def of(self, evidence_id: str) -> StoredEvidence | None:
        """The evidence of an id, if it is stored: not that of the only outcome of its class."""
        return next(iter(self._read(compiled.EVIDENCE_BY_ID, id=evidence_id)), None)

    def uncounted(self, evidence_ids: Iterable[str]) -> str | None:
        """One of the ids that outcomes rest on of whom evidence takes no notice, though it should; `None` if all is as learning leaves it.

        Evidence is stored of all strategies of a class as soon as the class has two outcomes, and then counts each of them.
        """
        with self._opened() as view:
            if view is None:
                return None
            classes = dict.fromkeys(map(class_in, evidence_ids))
            return next((found for name in classes for found in uncounted(view.connection, view.project, name)), None)

    def behind(self, memories: Sequence[int]) -> dict[int, StoredEvidence]:
        """The evidence that outcomes belong to or rules rest on, by their rows."""
        with self._opened() as view:
            if view is None:
                return {}
            cursor = view.connection.execute(
                compiled.EVIDENCE_BEHIND, {"project": view.project, "rows": json.dumps(list(memories))}
            )
            rows = [named(cursor, values) for values in cursor]
            firsts = self._firsts(compiled.EVIDENCE_FIRSTS, rows=json.dumps(list(memories)))
            return {**firsts, **{row["memory"]: _stored(view, row) for row in rows}}

    def overruled(self, memories: Sequence[int], *, reader: str, trials: int) -> set[int]:
        """Those of the rules, of other agents, on whose class and strategy the reader has so many trials of its own."""
        with self._opened() as view:
            if view is None:
                return set()
            given = {"project": view.project, "rows": json.dumps(list(memories)), "agent": reader, "trials": trials}
            return {row for (row,) in view.connection.execute(compiled.EVIDENCE_OVERRULED, given)}

    def with_rules(self, agent: str) -> list[StoredEvidence]:
        """All evidence of an agent that a rule rests on, or once did."""
        return self._read(compiled.EVIDENCE_OF_RULES, agent=agent)

    def outcomes(self, evidence_id: str, *, newest: int) -> list[int]:
        """The rows of the outcomes that an evidence was made of, newest first, archived ones too."""
        with self._opened() as view:
            if view is None:
                return []
            given = {"project": view.project, "evidence": evidence_id, "most": newest}
            return [row for (row,) in view.connection.execute(compiled.EVIDENCE_OUTCOMES, given)]

    def _read(self, statement: str, **given: Any) -> list[StoredEvidence]:
        with self._opened() as view:
            if view is None:
                return []
            cursor = view.connection.execute(statement, {"project": view.project, **given})
            return [_stored(view, named(cursor, values)) for values in cursor]

    def _firsts(self, statement: str, read: _Reading = _first, /, **given: Any) -> dict[int, StoredEvidence]:
        """The evidence that outcomes are which are the only ones of their classes, by their rows."""
        with self._opened() as view:
            if view is None:
                return {}
            cursor = view.connection.execute(statement, {"project": view.project, **given})
            rows = [named(cursor, values) for values in cursor.fetchall()]
            return {row["row"]: found for row in rows if (found := read(view, {**row}))}


def _beginning(start: str) -> dict[str, str]:
    """The texts between which all lie that begin so, of letters and digits."""
    return {"first": start, "last": f"{start}~"}
