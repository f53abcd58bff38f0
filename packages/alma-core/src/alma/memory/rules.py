"""Rules as values: heuristics and anti-patterns that follow from outcomes, with what callers recorded of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from alma.memory.outcome_projection import View
from alma.memory.room import Room
from alma.protocols import Lookups, Write
from alma.types.identity import agent_in, from_micros, owner_name, user_in
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Heuristic
from alma.types.provenance import FLAGGED
from alma.types.sentences import failed_of
from alma.types.strategies import FAILS, MOST_ANCHORS, NO_USE, RULE, WORKS, RuleRecord, rule_id
from alma_learning import Row, Side

KIND_OF_SIDE = {WORKS: MemoryType.HEURISTIC, FAILS: MemoryType.ANTI_PATTERN}
_SIDES = {Side.WORKS: WORKS, Side.FAILS: FAILS}


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of a table that is a rule, and the record of it. `record.version` is 0 where nothing was recorded yet."""

    record: RuleRecord
    row: Row
    is_of_steps: bool = False
    doubt: str | None = None
    """Why an outcome behind it is suspicious."""

    @property
    def id(self) -> str:
        """Id of the rule."""
        return self.record.id

    @property
    def confidence(self) -> float:
        """The expected rate at which the rule holds: of success, or of failure."""
        return self.row.mean if self.row.side is Side.WORKS else 1 - self.row.mean

    @property
    def is_archived(self) -> bool:
        """True when a caller archived it."""
        return self.record.archived_at is not None

    @property
    def kind(self) -> MemoryType:
        """Kind of the memory that shows it."""
        return KIND_OF_SIDE[self.record.side]


class Records:
    """Finds the record of a row that is a rule, among those of a project."""

    def __init__(self, view: View) -> None:
        self._view = view

    def rule_of(self, row: Row, *, is_of_steps: bool = False) -> Rule | None:
        """Returns the rule that a row is; `None` for a row that is none."""
        side = _SIDES.get(row.side)
        if side is None:
            return None
        owner = owner_of(row)
        found = [record for record in self._candidates(row, owner, side) if self.holds(record, row)]
        if found:
            best = max(found, key=lambda record: (record.archived_at is not None, sum(record.use.values()), record.id))
            best = replace(best, owner=owner)
        else:
            best = RuleRecord(rule_id(owner, side, row.anchors[0]), 0, owner, side, row.anchors, row.way)
        return Rule(best, row, is_of_steps, self.doubt_of(row))

    def doubt_of(self, row: Row) -> str | None:
        """Returns why an outcome behind a row is suspicious; `None` if none is."""
        return self._view.doubt_of(row.outcomes)

    def _candidates(self, row: Row, owner: str, side: str) -> Iterator[RuleRecord]:
        """Records of the agent. For which user it tried a way changes as other users' outcomes join."""
        agent, known = agent_in(owner), self._view.records
        outcomes = known.by_anchor.keys() & set(row.outcomes) if known.by_anchor else ()
        found = {record.id: record for anchor in outcomes for record in known.by_anchor[anchor]}
        for way in row.wordings if known.by_way else ():
            found |= {record.id: record for record in known.by_way.get((agent, side, way), ())}
        return (record for record in found.values() if agent_in(record.owner) == agent and record.side == side)

    def holds(self, record: RuleRecord, row: Row) -> bool:
        """Checks that a row holds most of the anchors that are left of a record; the first of them, where no row can hold most."""
        left = [anchor for anchor in record.anchors if anchor in self._view.tried]
        if not left:
            return record.way in row.wordings
        held = [anchor for anchor in left if anchor in row.outcomes]
        return 2 * len(held) > len(left) or (bool(held) and held[0] == left[0] and 2 * len(held) == len(left))


def owner_of(row: Row) -> str:
    """Returns the owner of a rule: the agent that tried most, for a user if all of it was for that one."""
    users = set(row.users)
    user = next(iter(users)) if len(users) == 1 else None
    return owner_name(row.agents[0], user)


def as_memory(room: Room, rule: Rule, *, reader: str | None = None) -> Heuristic | AntiPattern:
    """Returns a rule as a memory, with the counts of the tasks that its table is about."""
    row, owner = rule.row, rule.record.owner
    base: dict[str, Any] = {
        "id": rule.id,
        "agent": agent_in(owner),
        "user_id": user_in(owner),
        "project_id": room.name,
        "metadata": _metadata(rule, reader),
        "created_at": from_micros(row.first_at),
        "updated_at": from_micros(row.last_at),
    }
    if row.side is Side.WORKS:
        return Heuristic(
            **base,
            condition=row.task_text or "such tasks",
            strategy=row.way,
            occurrence_count=row.trials,
            success_count=row.successes,
            confidence=rule.confidence,
            last_validated=from_micros(row.last_at),
        )
    return AntiPattern(
        **base,
        pattern=row.way,
        why_bad=row.error or failed_of(row.failures, row.trials),
        better_alternative=None if row.alternative is None else row.alternative.way,
        occurrence_count=row.failures,
        success_count=row.successes,
        confidence=rule.confidence,
        last_seen=from_micros(row.last_at),
    )


def _metadata(rule: Rule, reader: str | None) -> dict[str, Any]:
    row, agent = rule.row, agent_in(rule.record.owner)
    metadata: dict[str, Any] = {
        "learned": True,
        "status": str(row.status),
        "tasks": row.tasks,
        "partials": row.partials,
        "last_run": row.last_run,
        "wordings": list(row.wordings),
        "error": row.error is not None,
    }
    metadata |= {"task": row.task_text} if row.task_text else {}
    metadata |= {"step": True} if rule.is_of_steps else {}
    metadata |= {"shared_from": agent} if reader is not None and agent != reader else {}
    return metadata | ({FLAGGED: rule.doubt} if rule.doubt else {})


def all_rules(view: View, *, with_archived: bool = False) -> list[Rule]:
    """Returns all rules that follow from what a reader may read: those of each kind of task, one for each id."""
    records, found = Records(view), dict[str, Rule]()
    for row, is_of_steps in _rows(view):
        rule = records.rule_of(row, is_of_steps=is_of_steps)
        if rule is not None and (with_archived or not rule.is_archived):
            found.setdefault(rule.id, rule)
    return list(found.values())


def _rows(view: View) -> Iterator[tuple[Row, bool]]:
    """Yields the rows of all tables of a view, each with whether it is of steps."""
    for is_of_steps in (False, True):
        yield from ((row, is_of_steps) for table in view.tried.tables(of_steps=is_of_steps) for row in table.rows)


def rules_of(room: Room, agent: str, user: str | None = None, *, with_archived: bool = False) -> list[Rule]:
    """Returns the rules of one agent's own, for a user if one is given."""
    scope = room.scopes.readable(agent=agent, user_id=user, include_shared=False)
    with room.projections.of(scope, reader=agent, user=user, is_shared=False) as view:
        return [rule for rule in all_rules(view, with_archived=with_archived) if agent_in(rule.record.owner) == agent]


def each_rule(room: Room, *, agent: str | None = None, user: str | None = None, with_archived: bool = False) -> Iterator[Rule]:
    """Yields the rules of all agents once each; with `agent` or `user`, only their own: those of an agent for a user, if both are given."""
    owners, seen = [(agent, user)] if agent and user else owners_with_outcomes(room), set[str]()
    for owner, of_user in owners:
        if agent in (None, owner) and user in (None, of_user):
            for rule in rules_of(room, owner, of_user, with_archived=with_archived):
                if rule.id not in seen:
                    seen.add(rule.id)
                    yield rule if user is not None else _as_of(rule, owner, of_user)


def _as_of(rule: Rule, agent: str, user: str | None) -> Rule:
    """Returns a rule as one of the user with whose outcomes alone it follows, where users are isolated: its words may be that user's."""
    is_theirs = user is not None and user_in(rule.record.owner) is None
    return replace(rule, record=replace(rule.record, owner=owner_name(agent, user))) if is_theirs else rule


def owners_with_outcomes(room: Room) -> list[tuple[str, str | None]]:
    """Returns the agents with outcomes, and the users for whom they recorded some, sorted by name."""
    found = {
        (one.agent, one.user_id) for one in room.project.partitions().values() if one.kind == "outcome" and one.agent is not None
    }
    return sorted(found | {(agent, None) for agent, _ in found}, key=lambda pair: (pair[0], pair[1] or ""))


def find_rules(
    room: Room,
    ids: Iterable[str],
    *,
    reader: str | None = None,
    user: str | None = None,
    of_all_users: bool = True,
    with_archived: bool = False,
) -> dict[str, Rule]:
    """Returns the rules of some ids: those that a reader sees, if one is given, else those of any agent. Other ids are left out.

    Without a user, a reader sees those of all its users, too, unless `of_all_users` is False.
    """
    wanted, found = set(ids), dict[str, Rule]()
    if not wanted:
        return found
    if reader is not None:
        with room.projections.of(room.scopes.readable(agent=reader, user_id=user), reader=reader, user=user) as view:
            found = {rule.id: rule for rule in all_rules(view, with_archived=with_archived) if rule.id in wanted}
        if user is not None or not of_all_users or len(found) == len(wanted):
            return found
    for rule in each_rule(room, agent=reader, with_archived=with_archived):
        if rule.id in wanted:
            found.setdefault(rule.id, rule)
            if len(found) == len(wanted):
                break
    return found


def rows_behind(room: Room, records: Collection[RuleRecord]) -> dict[str, Row]:
    """Returns the rows that records are of, by the ids of these, whether a row is a rule now or not."""
    found: dict[str, Row] = {}
    for agent, user in owners_with_outcomes(room) if records else ():
        scope = room.scopes.readable(agent=agent, user_id=user, include_shared=False)
        with room.projections.of(scope, reader=agent, user=user, is_shared=False) as view:
            known = Records(view)
            for row, _ in _rows(view):
                for record in records:
                    if agent_in(record.owner) == agent and known.holds(record, row):
                        found.setdefault(record.id, row)
    return found


def read_records(stored: Lookups, rules: Mapping[str, Rule]) -> dict[str, RuleRecord]:
    """Returns the records of rules as they are stored now, by id; `version` is 0 where nothing is recorded."""
    return {
        key: RuleRecord.read(key, version, body) if version else replace(rules[key].record, version=0)
        for key, (version, body) in stored.record(RULE, rules).items()
    }


def put_record(write: Write, record: RuleRecord) -> None:
    """Stores the record of a rule, new or in place of its former version."""
    write.put_record(RULE, record.id, record.body(), version=record.version)


def archive_rule(write: Write, rule: Rule, at: int, *, without_words: bool = False) -> None:
    """Stores that a rule is archived. `without_words` the record keeps none of its wording."""
    record = replace(rule.record, anchors=anchors_without(rule.record, rule.row, ()), archived_at=at)
    put_record(write, replace(record, way=None) if without_words else record)


def count_use(write: Write, records: Mapping[str, RuleRecord], counts: Mapping[str, Mapping[str, float]]) -> None:
    """Adds to the usage counts of rules, or takes from them, never below 0. `records` are theirs, as they are stored."""
    changed = {}
    for key, added in counts.items():
        record = records[key]
        use = {name: max(0, record.use[name] + added.get(name, 0)) for name in NO_USE}
        changed[RULE, key] = record.version, replace(record, use=use).body()
    write.put_records(changed)


def anchors_without(record: RuleRecord, row: Row, gone: Collection[str]) -> tuple[str, ...]:
    """Returns outcomes for a rule to rest on once some are gone."""
    left = [one for one in reversed(row.outcomes) if one not in gone]
    kept = [one for one in record.anchors if one not in gone]
    return tuple(dict.fromkeys([*kept, *left]))[:MOST_ANCHORS]
