"""Brings the projects of a former version to outcomes alone: rules that were rows become small records, and counts are no longer stored.

Planning is pure: it takes the rows that the journal leads to, retired ones included, and returns changes. `former_rules` also serves imports of
exports that a former version wrote.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alma.journal import RETIRED_COLUMN, RETIRED_TABLE, UPGRADED, Change, State
from alma.storage.relational.logical import TABLES, View
from alma.storage.relational.lookups import Partitions
from alma.storage.relational.readback import Expected, replay
from alma.storage.relational.rows import UNREADABLE, Row
from alma.storage.relational.session import Seal, Session
from alma.storage.relational.text_index import TextIndex
from alma.storage.relational.writing import Write
from alma.types.identity import agent_in, from_micros, user_in
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Heuristic, passages_of
from alma.types.reports import MAINTENANCE, UPGRADE
from alma.types.strategies import FAILS, MOST_ANCHORS, RULE, SIDES, WORKS, RuleRecord, rule_id

ACTOR = "alma"

_WORDING = {MemoryType.HEURISTIC.value: "strategy", MemoryType.ANTI_PATTERN.value: "pattern"}
_ARCHIVED_BY, _BY_EVIDENCE = "archived_by", "evidence"
_STEP_SIGN, _SIGN_AT = "s", 16
"""The character of an id of counts that says that they are of steps, and its place. The key of the strategy follows it."""

_HALF = 0.5
MOST_NAMED = 10

_LOG = logging.getLogger("alma")


@dataclass(frozen=True, slots=True)
class FormerRule:
    """A learned rule of a former version: its row, the record that it becomes if outcomes bear it out, else its counts."""

    id: str
    row: Mapping[str, Any]
    record: RuleRecord | None
    successes: float
    trials: float

    def stated_body(self) -> Row:
        """Returns the body of the stated rule that it becomes where no outcome bears it out."""
        return stated_body(self.row["body"], self.successes, self.trials)


@dataclass(frozen=True, slots=True)
class FormerCount:
    """Counts of a strategy that no outcome bears out, and that formed no rule."""

    id: str
    owner: str
    strategy: str
    task: str
    successes: float
    trials: float
    observed_at: int

    def memory(self, project: str) -> Heuristic | AntiPattern:
        """Returns the stated rule that they become."""
        works = self.successes > self.trials * _HALF
        shared: dict[str, Any] = {
            "id": rule_id(self.owner, WORKS if works else FAILS, f"{self.task}\0{self.strategy}"),
            "agent": agent_in(self.owner),
            "user_id": user_in(self.owner),
            "project_id": project,
            "metadata": stated_body({}, self.successes, self.trials)["metadata"],
            "created_at": from_micros(self.observed_at),
            "updated_at": from_micros(self.observed_at),
        }
        share = self.successes / self.trials
        trials, successes = max(1, round(self.trials)), round(self.successes)
        if works:
            counts: dict[str, Any] = {"occurrence_count": trials, "success_count": min(successes, trials), "confidence": share}
            time = from_micros(self.observed_at)
            return Heuristic(**shared, **counts, condition=self.task, strategy=self.strategy, last_validated=time)
        failures = max(1, trials - successes)
        counts = {"occurrence_count": failures, "success_count": min(successes, trials), "confidence": 1 - share}
        why = f"it failed {failures} of {trials} times"
        return AntiPattern(**shared, **counts, pattern=self.strategy, why_bad=why, last_seen=from_micros(self.observed_at))


def stated_body(body: Mapping[str, Any], successes: float, trials: float) -> Row:
    """Returns the body of a stated rule with counts that are only claimed."""
    return {**body, "metadata": {**body.get("metadata", {}), "imported": {"successes": successes, "trials": trials}}}


@dataclass(slots=True)
class Former:
    """The learned rules and counts of a project, as a former version stored them."""

    rows: State
    outcomes: dict[str, list[str]] = field(default_factory=dict)
    """Ids of outcomes by the counts that they are in, in the order in which they were recorded."""
    by_strategy: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """The same by owner and key of the strategy."""

    def __post_init__(self) -> None:
        for (table, key), row in self.rows.items():
            if table == "memory" and row["kind"] == MemoryType.OUTCOME and (counts := row.get(RETIRED_COLUMN)):
                self.outcomes.setdefault(counts, []).append(key)
                self.by_strategy.setdefault((row["owner"], _strategy_key(counts)), []).append(key)

    def rules(self) -> Iterator[FormerRule]:
        """Yields the rules that rested on counts."""
        for (table, key), row in self.rows.items():
            if table == "memory" and row["kind"] in SIDES and row.get(RETIRED_COLUMN):
                yield self._rule(key, row)

    def _rule(self, key: str, row: Mapping[str, Any]) -> FormerRule:
        counts, side = row[RETIRED_COLUMN], SIDES[row["kind"]]
        found = self.rows.get((RETIRED_TABLE, counts), {})
        successes, trials = found.get("successes", row["successes"] or 0.0), found.get("trials", row["trials"] or 0.0)
        anchors = self._anchors(self.outcomes.get(counts, ()), side)
        anchors = anchors or self._anchors(self.by_strategy.get((row["owner"], _strategy_key(counts)), ()), side)
        record = self._record(key, row, side, anchors) if anchors else None
        return FormerRule(key, row, record, successes, trials)

    def _anchors(self, outcomes: Iterable[str], side: str) -> tuple[str, ...]:
        """Returns the first outcomes on a side; partial ones where there are no others."""
        worth = {key: self.rows["memory", key]["successes"] for key in outcomes}
        judged = {key: value for key, value in worth.items() if value is not None}
        clear = [key for key, value in judged.items() if (value > _HALF if side == WORKS else value < _HALF)]
        return tuple((clear or [key for key, value in judged.items() if value == _HALF])[:MOST_ANCHORS])

    def _record(self, key: str, row: Mapping[str, Any], side: str, anchors: Sequence[str]) -> RuleRecord:
        by = row["body"].get("metadata", {}).get(_ARCHIVED_BY)
        return RuleRecord(
            id=key,
            version=0,
            owner=row["owner"],
            side=side,
            anchors=tuple(anchors),
            way=row["body"].get(_WORDING[row["kind"]]),
            archived_at=None if by == _BY_EVIDENCE else row["archived_at"],
            use=dict(self.rows.get(("usage", key), {})),
        )

    def unborne_counts(self) -> Iterator[FormerCount]:
        """Yields counts of strategies that no outcome bears out and that hold no rule."""
        named = {row[RETIRED_COLUMN] for (table, _), row in self.rows.items() if table == "memory" and row.get(RETIRED_COLUMN)}
        for (table, key), row in self.rows.items():
            if table != RETIRED_TABLE or key in named or not row["strategy"] or not row["trials"]:
                continue
            if (row["agent"], _strategy_key(key)) not in self.by_strategy:
                task = row["task"] or self._task_of_class(row) or "such tasks"
                yield FormerCount(key, row["agent"], row["strategy"], task, row["successes"], row["trials"], row["observed_at"])

    def _task_of_class(self, row: Mapping[str, Any]) -> str | None:
        found = (one for (table, _), one in self.rows.items() if table == RETIRED_TABLE and one["task"])
        same = (one for one in found if (one["agent"], one["task_class"]) == (row["agent"], row["task_class"]))
        return next((str(one["task"]) for one in same), None)

    def unmarked_steps(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yields outcomes of steps whose metadata do not say so."""
        for counts, keys in self.outcomes.items():
            if counts[_SIGN_AT : _SIGN_AT + 1] == _STEP_SIGN:
                found = ((key, self.rows["memory", key]) for key in keys)
                yield from ((key, row) for key, row in found if not isinstance(row["body"].get("metadata", {}).get("step"), int))


def _strategy_key(counts: str) -> str:
    return counts[_SIGN_AT + 1 :]


def upgrade_projects(session: Session, text: TextIndex, seal: Seal, *, at: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Brings each project to outcomes alone, by one journal record of its own, and yields the names with their reports."""
    for row, project in list(session.all("projects")):
        view = View(session, row, seal)
        found = Expected(has_retired=True)
        replay(found, view, project, lambda place, what: None)
        report = _upgrade(view, text, project, found, at=at)
        if report is not None:
            yield project, report


def log_upgrade(name: str, reports: Iterable[tuple[str, Mapping[str, Any]]], *, copy: object = None) -> None:
    """Logs that a store was upgraded, and which rules are only claimed any more."""
    kept = f"; what it was before is in {copy}, until `alma compact`" if copy is not None else ""
    _LOG.warning("%s was brought up to date: counts and learned rules follow from its outcomes now%s", name, kept)
    for project, report in reports:
        if imported := report["imported"]:
            named = ", ".join(one["id"] for one in imported[:MOST_NAMED])
            _LOG.warning(
                "project %s: no outcome bears out %d rules any more; they are kept as stated: %s", project, len(imported), named
            )


def _upgrade(view: View, text: TextIndex, project: str, found: Expected, *, at: int) -> Row | None:
    former = Former(found.rows)
    seq, head, _ = view.ends()
    known = Partitions({}, {}, 0)
    rows = list(view.session.all("partitions", {"project": view.project, "after": 0}))
    if rows:
        known = known.grown(rows, max(row for row, *_ in rows))
    write = Write(
        *(view.session, project, view.project, seq + 1, head, found.learned_seq),
        *(ACTOR, UPGRADED, at, view.seal, text, known),
    )
    rules, stated = list(former.rules()), ((count.memory(project), count) for count in former.unborne_counts())
    counts = [(memory, count) for memory, count in stated if ("memory", memory.id) not in found.rows]
    changes = [change for rule in rules for change in _changes_of(rule, former, at=at) if _is_due(view, change)]
    changes += [change for key, row in former.unmarked_steps() for change in _mark_step(key, row) if _is_due(view, change)]
    if not changes and not counts:
        end = {"of_row": view.project, "head_seq": seq, "head_hash": head, "learned_seq": found.learned_seq}
        view.session.run("project_advance", end)
        return None
    gone = {change.key for change in changes if change.table == "memory" and change.after is None}
    imported = [{"id": rule.id, "successes": rule.successes, "trials": rule.trials} for rule in rules if rule.record is None]
    for memory, count in counts:
        write.add(memory, passages_of(memory), {})
        imported.append({"id": memory.id, "successes": count.successes, "trials": count.trials, "counts": count.id})
    report = {"rules": len(gone), "imported": imported}
    note = {"version": 1, "body": report, "updated_at": at}
    write.apply([*changes, Change("record", f"{MAINTENANCE}/{UPGRADE}", None, note)])
    write.finish()
    return report


def _changes_of(rule: FormerRule, former: Former, *, at: int) -> list[Change]:
    """The changes that turn a rule into a record, or, if no outcome bears it out, into a stated rule."""
    row = {name: value for name, value in rule.row.items() if name not in ("seq", RETIRED_COLUMN)}
    if rule.record is None:
        return [Change("memory", rule.id, {"body": row["body"]}, {"body": rule.stated_body()})]
    hanging = [
        ("usage", rule.id),
        *(place for place in former.rows if place[0] == "passage" and place[1].startswith(f"{rule.id}/")),
    ]
    gone = [(table, key, former.rows.get((table, key))) for table, key in hanging]
    made = {"version": 1, "body": rule.record.body(), "updated_at": at}
    return [
        *(
            Change(table, key, {name: value for name, value in old.items() if name != "seq"}, None)
            for table, key, old in gone
            if old
        ),
        Change("memory", rule.id, row, None),
        Change("record", f"{RULE}/{rule.id}", None, made),
    ]


def _mark_step(key: str, row: Mapping[str, Any]) -> list[Change]:
    body = {**row["body"], "metadata": {**row["body"].get("metadata", {}), "step": 0}}
    return [Change("memory", key, {"body": row["body"]}, {"body": body})]


def _is_due(view: View, change: Change) -> bool:
    """Returns True if a row is what the change expects, and not yet what it is to be. A damaged one is left as it is, for `verify` to report."""
    if change.before == change.after:
        return False
    try:
        raw = TABLES[change.table].raw(view, change.key)
        row = None if raw is None else TABLES[change.table].decoded(view, raw)
    except UNREADABLE:
        return False
    if change.before is None or row is None:
        return change.before is row
    return all(row.get(name) == value for name, value in change.before.items())
