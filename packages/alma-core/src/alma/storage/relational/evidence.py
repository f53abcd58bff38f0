"""Evidence in the file: read by class, written row by row."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from alma.errors import CorruptStoreError
from alma.evidence import Tally
from alma.journal import Change
from alma.observing import only
from alma.storage.relational.hidden_ids import hidden_id, revealed_id
from alma.storage.relational.hidden_names import hidden_owner, revealed_owner
from alma.storage.relational.logical import TABLES, View
from alma.storage.relational.rows import UNREADABLE, Row, memory_from, text_hash
from alma.storage.relational.seal import Seal
from alma.storage.relational.session import Session
from alma.text import PASSAGE_CHARS, matched_text
from alma.types.evidence import Evidence, StoredEvidence, class_id, class_in, is_of_steps
from alma.types.kinds import MemoryType
from alma.types.memories import Outcome
from alma.types.partition import SEPARATOR

LOOKED_AT = 4
"""Outcomes that are alone in their classes are looked for among this many newest ones for each class that is wanted."""

RECOUNTED = ("confidence", "successes", "trials", "seen_at", "updated_at")
"""The columns of a rule's row that follow its evidence."""

SUBJECT = ("id", "agent", "task_class", "strategy_hash", "strategy", "task")
"""The columns of evidence that say what it is about. They stay, so that the indexes over them are not written again with each count; only the
words of a task may come later, where they were those of a single user."""

_SAME = ("id", "task_class", "strategy_hash", "strategy", "unverified", "observed_at", "task")
_RULES = ("heuristic", "heuristic_status", "anti_pattern", "anti_pattern_status")


def evidence_row(evidence: Evidence) -> Row:
    """The logical row of evidence."""
    return {
        **{name: getattr(evidence, name) for name in (*_SAME, *_RULES)},
        "agent": evidence.owner,
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
        owner=row["agent"],
        lifetime=Tally(row["successes"], row["trials"]),
        operative=Tally(row["operative_successes"], row["operative_trials"]),
        recent=tuple((what, count, at) for what, count, at in row["recent"]),
        reasons=tuple((what, count, at) for what, count, at in row["reasons"]),
    )


def _stored(view: View, raw: Row) -> StoredEvidence:
    try:
        return StoredEvidence(True, evidence_from(TABLES["evidence"].decoded(view, raw)))
    except UNREADABLE as error:
        raise CorruptStoreError(
            f"evidence {TABLES['evidence'].key(view, raw)} is not readable: {error}; see `alma verify`"
        ) from error


def _first(view: View, raw: Row) -> StoredEvidence | None:
    """The evidence that the only outcome of its class is; `None` for one that belongs to a class of another, of which nothing is left."""
    row = raw["row"]
    passage = (view.project, row, raw.pop("position"))
    task = view.seal.open(raw.pop("task"), place="passage.text", row=passage).decode()
    body = view.seal.open(raw.pop("body"), place="memory.body", row=(view.project, raw["id"]))
    evidence = revealed_id(view.seal, raw.pop("evidence"))
    raw["agent"] = revealed_owner(view.seal, raw["agent"])
    del raw["row"]
    outcome = memory_from(project="", kind=MemoryType.OUTCOME, body=body, **raw)
    assert isinstance(outcome, Outcome)
    seen = only(outcome, task, is_step=is_of_steps(evidence))
    return StoredEvidence(False, seen, (row, raw["successes"])) if seen.id == evidence else None


def _first_if_sound(view: View, raw: Row) -> StoredEvidence | None:
    try:
        return _first(view, raw)
    except CorruptStoreError:
        return None


def put(view: View, changed: Iterable[tuple[StoredEvidence | None, Evidence]]) -> list[Change]:
    """Stores evidence, each new or in place of what was there, and gives the changes. The caller holds the newest state."""
    made = [_change(before, after) for before, after in changed]
    view.session.run_many("evidence_insert", [_encoded(view, row) for change, row in made if change.before is None])
    view.session.run_many("evidence_put", [_new(_encoded(view, row)) for change, row in made if change.before is not None])
    for change, row in made:
        if change.before is not None and "task" in change.before:
            _add_task(view, row)
    return [change for change, _ in made]


def _add_task(view: View, row: Row) -> None:
    evidence = TABLES["evidence"]
    for raw in view.all("evidence_by_id", id=hidden_id(view.seal, row["id"])):
        evidence.update(view, raw, evidence.encoded(view, row["id"], row))


def _change(before: StoredEvidence | None, after: Evidence) -> tuple[Change, Row]:
    """The change that stores evidence, and its whole logical row."""
    row = evidence_row(after)
    if before is None:
        return Change("evidence", after.id, None, row), row
    was = evidence_row(before.evidence)
    changed = [name for name in row if row[name] != was[name]]
    if any(name in SUBJECT and was[name] != "" for name in changed):
        raise ValueError(f"evidence {after.id} is about something else than before")
    return Change("evidence", after.id, {name: was[name] for name in changed}, {name: row[name] for name in changed}), row


def _encoded(view: View, row: Row) -> Row:
    return {**TABLES["evidence"].encoded(view, row["id"], row), "project": view.project}


def _new(row: Row) -> Row:
    return {f"new_{name}": value for name, value in row.items()}


@dataclass(frozen=True, slots=True)
class Recounted:
    """The changes of a recount, and the records that the rows of the memories named before: rows of `touched`."""

    changes: Sequence[Change]
    superseded: Sequence[Row]


def recount(view: View, counts: Mapping[str, Mapping[str, Any]], known: Mapping[str, Row], *, seq: int) -> Recounted:
    """Changes counts and times, those of `RECOUNTED`, of the rows of memories, by id. Those that are gone are left out.

    `known` are rows that need not be read.
    """
    missing = [memory_id for memory_id in counts if memory_id not in known]
    read = view.all("counted", ids=json.dumps(missing)) if missing else ()
    rows, changes, superseded = [], [], []
    for raw in sorted([*known.values(), *read], key=itemgetter("id")):
        after = counts[raw["id"]]
        changed = [name for name in RECOUNTED if raw[name] != after[name]]
        if changed:
            rows.append(_new({"row": raw["row"], "seq": seq, **{name: after[name] for name in RECOUNTED}}))
            superseded.append({"project": view.project, "key": raw["id"], "seq": raw["seq"]})
            was = {name: raw[name] for name in changed}
            changes.append(Change("memory", raw["id"], was, {name: after[name] for name in changed}))
    view.session.run_many("memory_recount", rows)
    return Recounted(changes, superseded)


def counted_strategies(session: Session, seal: Seal) -> Iterator[tuple[int, str]]:
    """The texts by which strategies are compared of which there is evidence, by project."""
    for project, stored, strategy in session.all("strategies_counted"):
        row = (project, revealed_id(seal, stored))
        yield project, matched_text(seal.open(strategy, place="evidence.strategy", row=row).decode())


def strategies(session: Session, seal: Seal) -> Iterator[tuple[int, str]]:
    """The texts by which strategies are compared, by project: also those of outcomes, which may be all that is known of a class."""
    yield from counted_strategies(session, seal)
    for project, memory_id, body in session.all("outcome_bodies"):
        if strategy := _named_in(body, seal, (project, memory_id)):
            yield project, matched_text(strategy)


def _named_in(body: bytes, seal: Seal, row: tuple[int, str]) -> str:
    """The strategy that an outcome names; none if its body is damaged, which `verify` reports."""
    try:
        return str(json.loads(seal.open(body, place="memory.body", row=row)).get("strategy_used", ""))
    except UNREADABLE:
        return ""


def compared(session: Session, seal: Seal) -> Iterator[tuple[int, bytes]]:
    """The hashes of the texts by which strategies are compared, by project."""
    return ((project, text_hash(text)) for project, text in strategies(session, seal))


def tried(view: View) -> set[str]:
    """The hashes of the strategies that outcomes name, as `Evidence.strategy_hash` has them."""
    given = {"project": view.project, "end": len(class_id("", "")) + 1}
    return {revealed_id(view.seal, strategy_hash) for (strategy_hash,) in view.session.all("strategies_tried", given)}


def tried_in_part(view: View) -> Iterator[bytes]:
    """The hashes of the texts by which the strategies are compared that outcomes name and that are too long to be compared whole."""
    for memory_id, body in view.session.all("outcome_bodies_long", {"project": view.project, "most": PASSAGE_CHARS}):
        strategy = _named_in(body, view.seal, (view.project, memory_id))
        if strategy and (compared_by := matched_text(strategy)) != strategy:
            yield text_hash(compared_by)


_Reading = Callable[[View, Row], StoredEvidence | None]


def uncounted(view: View, beginning: str = "") -> Iterator[str]:
    """Returns the ids that begin so, and whose stored counts disagree with their outcomes: of more than one outcome of a class, evidence counts
    each."""
    rows = view.session.all("evidence_counted", {"project": view.project, **_beginning(view, beginning)})
    for _, found in groupby(list(rows), key=lambda row: class_in(row[0])):
        resting = list(found)
        is_alone = sum(outcomes for _, outcomes, _ in resting) == 1
        for resting_on, outcomes, counted in resting:
            if (counted is None and not is_alone) or (counted is not None and outcomes > counted):
                yield revealed_id(view.seal, resting_on)


class EvidenceReader:
    """The evidence of one project, for learning and for questions."""

    def __init__(self, opened: Callable[[], AbstractContextManager[View | None]]) -> None:
        self._opened = opened

    def upto(self) -> int:
        """The newest record that changed any evidence, 0 if there is none."""
        with self._opened() as view:
            return 0 if view is None else view.ends()[2]

    def newest(self, owners: Iterable[str], *, most: int) -> dict[str, list[StoredEvidence]]:
        """For each owner the evidence that was used last, that first, at most `most` that is stored and `most` that single outcomes are.

        A name that ends with the separator of owners stands for all users of the agent before it; of them, stored evidence alone is read.

        Single outcomes are looked for among the newest outcomes alone. A damaged one is left out, for others are learned from all the same.
        """
        everything = list(dict.fromkeys(owners))
        wanted = [owner for owner in everything if not owner.endswith(SEPARATOR)]
        found: dict[str, list[StoredEvidence]] = {owner: [] for owner in everything}
        with self._opened() as view:
            if view is None:
                return found
            given = {"agents": json.dumps([hidden_owner(view.seal, owner) for owner in wanted]), "most": most}
            counted = self._read("evidence_newest", **given)
            firsts = self._firsts("evidence_newest_firsts", _first_if_sound, looked_at=LOOKED_AT * most, **given)
            for stored in [*counted, *firsts.values()]:
                found[stored.evidence.owner].append(stored)
            for users in everything:
                if users.endswith(SEPARATOR):
                    found[users] = self._read("evidence_of_users", most=most, **_users(view, users))
        return found

    def of_tasks(self, class_ids: Iterable[str]) -> list[StoredEvidence]:
        """All evidence whose ids begin with one of these (see `class_id`); where none is stored, that of the only outcome, if there is one."""
        wanted = list(dict.fromkeys(class_ids))
        with self._opened() as view:
            if view is None or not wanted:
                return []
            rows = list(view.many("evidence_of_tasks", [{"project": view.project, **_beginning(view, name)} for name in wanted]))
            found = [_stored(view, raw) for raw in rows if raw["id"] is not None]
            alone = [raw["oldest_outcome"] for raw in rows if raw["oldest_outcome"] is not None]
            firsts = self._firsts("evidence_firsts", rows=json.dumps(alone)) if alone else {}
            return [*found, *firsts.values()]

    def first_outcomes(self, evidence_ids: Iterable[str]) -> dict[str, tuple[int, float | None]]:
        """The row of the first outcome that each evidence counts, and how much of a success it was, `None` if that was not judged."""
        wanted = list(evidence_ids)
        with self._opened() as view:
            if view is None or not wanted:
                return {}
            given = {"project": view.project, "ids": json.dumps([hidden_id(view.seal, each) for each in wanted])}
            found = view.session.all("evidence_first_outcomes", given)
            rows = {revealed_id(view.seal, stored): row for stored, row in found}
            worth = dict(view.session.all("evidence_verdicts", {"rows": json.dumps(list(rows.values()))}))
            return {evidence_id: (row, worth.get(row)) for evidence_id, row in rows.items()}

    def total(self, agent: str) -> Tally:
        """All that an agent tried and that was judged, single steps left out."""
        with self._opened() as view:
            if view is None:
                return Tally()
            given = {"project": view.project, "agent": hidden_owner(view.seal, agent)}
            ((successes, trials),) = view.session.all("evidence_total", given)
            return Tally(float(successes), float(trials))

    def uncounted(self, evidence_ids: Iterable[str]) -> str | None:
        """Returns one of the ids whose stored counts disagree with their outcomes; `None` if there is none.

        Evidence is stored of all strategies of a class as soon as the class has two outcomes, and then counts each of them.
        """
        with self._opened() as view:
            if view is None:
                return None
            classes = dict.fromkeys(map(class_in, evidence_ids))
            return next((found for name in classes for found in uncounted(view, name)), None)

    def behind(self, memories: Sequence[int]) -> dict[int, StoredEvidence]:
        """The evidence that outcomes belong to or rules rest on, by their rows."""
        with self._opened() as view:
            if view is None:
                return {}
            given = json.dumps(list(memories))
            firsts = self._firsts("evidence_firsts", rows=given)
            counted = {raw["memory"]: _stored(view, raw) for raw in view.all("evidence_behind", rows=given)}
            return {**firsts, **counted}

    def with_rules(self, agent: str) -> list[StoredEvidence]:
        """All evidence of an agent that a rule rests on, or once did."""
        with self._opened() as view:
            return [] if view is None else self._read("evidence_of_rules", agent=hidden_owner(view.seal, agent))

    def outcomes(self, evidence_id: str, *, newest: int) -> list[int]:
        """The rows of the outcomes that an evidence was made of, newest first, archived ones too."""
        with self._opened() as view:
            if view is None:
                return []
            given = {"project": view.project, "evidence": hidden_id(view.seal, evidence_id), "most": newest}
            return [row for (row,) in view.session.all("evidence_outcomes", given)]

    def _read(self, statement: str, **given: Any) -> list[StoredEvidence]:
        with self._opened() as view:
            return [] if view is None else [_stored(view, raw) for raw in view.all(statement, **given)]

    def _firsts(self, statement: str, read: _Reading = _first, /, **given: Any) -> dict[int, StoredEvidence]:
        """The evidence that outcomes are which are the only ones of their classes, by their rows."""
        with self._opened() as view:
            if view is None:
                return {}
            return {raw["row"]: found for raw in view.all(statement, **given) if (found := read(view, {**raw}))}


def _beginning(view: View, start: str) -> dict[str, str]:
    """The stored ids between which all lie that begin so."""
    stored = hidden_id(view.seal, start)
    return {"first": stored, "last": f"{stored}~"}


def _users(view: View, users: str) -> dict[str, str]:
    """The stored owners between which all users of an agent lie, given the agent and the separator."""
    first = hidden_owner(view.seal, users)
    return {"first": first, "last": f"{first.removesuffix(SEPARATOR)}{chr(ord(SEPARATOR) + 1)}"}
