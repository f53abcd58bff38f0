"""Evidence in the file: read by class, written row by row."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from alma.errors import CorruptStoreError
from alma.evidence import Tally
from alma.journal import Change
from alma.storage import compiled
from alma.storage.logical import TABLES, View
from alma.storage.rows import Row, named, text_hash
from alma.storage.seal import Seal
from alma.text import matched_text
from alma.types.evidence import Evidence, StoredEvidence

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
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise CorruptStoreError(f"evidence {raw['id']} is not readable: {error}; see `alma verify`") from error


def put(view: View, before: StoredEvidence | None, after: Evidence) -> tuple[StoredEvidence, Change]:
    """Stores evidence, new or in place of what was there, and gives it with the change. The caller holds the newest state."""
    table, row = TABLES["evidence"], evidence_row(after)
    if before is None:
        number = table.insert(view, table.encoded(view, after.id, row))
        return StoredEvidence(number, after), Change("evidence", after.id, None, row)
    was = evidence_row(before.evidence)
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
    place = {"of_row": raw["row"], "seq": seq}
    view.connection.execute(compiled.MEMORY_RECOUNT, {**place, **{name: columns[name] for name in RECOUNTED}})
    return Change("memory", memory_id, {name: raw[name] for name in changed}, {name: columns[name] for name in changed})


def compared(connection: sqlite3.Connection, seal: Seal) -> Iterator[tuple[int, bytes]]:
    """The hashes of the texts by which strategies are compared, by project."""
    for project, strategy in connection.execute("SELECT project, strategy FROM evidence"):
        yield project, text_hash(matched_text(seal.open(strategy, place="evidence.strategy").decode()))


class EvidenceReader:
    """The evidence of one project, for who learns and for who asks."""

    def __init__(self, opened: Callable[[], AbstractContextManager[View | None]]) -> None:
        self._opened = opened

    def classes(self, agent: str, *, most: int) -> list[StoredEvidence]:
        """The first evidence on each of the newest classes of an agent's tasks, newest first."""
        return self._read(compiled.EVIDENCE_CLASSES, agent=agent, most=most)

    def largest_classes(self, agent: str, *, most: int) -> list[StoredEvidence]:
        """The first evidence on each of the classes of an agent's tasks in which most was tried and judged, those first; of some the whole, too."""
        return self._read(compiled.EVIDENCE_LARGEST_CLASSES, agent=agent, most=most)

    def total(self, agent: str) -> Tally:
        """All that an agent tried and that was judged, single steps left out."""
        with self._opened() as view:
            if view is None:
                return Tally()
            return Tally(*view.connection.execute(compiled.EVIDENCE_TOTAL, {"project": view.project, "agent": agent}).fetchone())

    def has_class(self, agent: str, *task_classes: str) -> bool:
        """Whether there is evidence on one of the classes."""
        with self._opened() as view:
            given = {"project": view.project if view else None, "agent": agent, "task_classes": json.dumps(task_classes)}
            return view is not None and view.connection.execute(compiled.EVIDENCE_CLASS_EXISTS, given).fetchone() is not None

    def of_class(self, agent: str, task_class: str, *, most: int) -> list[StoredEvidence]:
        """The class and the strategies that were tried in it, those tried most often first."""
        return self._read(compiled.EVIDENCE_OF_CLASS, agent=agent, task_class=task_class, most=most)

    def at(self, agent: str, task_class: str, strategy_hash: str) -> StoredEvidence | None:
        """The evidence of one key."""
        place = {"agent": agent, "task_class": task_class, "strategy_hash": bytes.fromhex(strategy_hash)}
        return next(iter(self._read(compiled.EVIDENCE_AT, **place)), None)

    def of(self, evidence_id: str) -> StoredEvidence | None:
        """The evidence of an id."""
        return next(iter(self._read(compiled.EVIDENCE_BY_ID, id=evidence_id)), None)

    def behind(self, memories: Sequence[int]) -> dict[int, StoredEvidence]:
        """The evidence that outcomes belong to or rules rest on, by their rows."""
        with self._opened() as view:
            if view is None:
                return {}
            cursor = view.connection.execute(
                compiled.EVIDENCE_BEHIND, {"project": view.project, "rows": json.dumps(list(memories))}
            )
            rows = [named(cursor, values) for values in cursor]
            return {row["memory"]: _stored(view, row) for row in rows}

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
