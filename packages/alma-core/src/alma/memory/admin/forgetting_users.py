"""Forgetting a user: all that was recorded for one is erased."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alma.learning.other_users import ENOUGH_USERS
from alma.memory import arguments as args
from alma.memory.admin.forgetting import purged_report, small_records
from alma.memory.episodes.records import END, EPISODE, LEASE, RUN, STEP, run_key
from alma.memory.room import Room
from alma.types.history import ForgetReport
from alma.types.kinds import MemoryType
from alma.types.package_records import is_of_package
from alma.types.partition import agent_in, user_in

_RULES = {"heuristic": MemoryType.HEURISTIC.value, "anti_pattern": MemoryType.ANTI_PATTERN.value}


@dataclass(slots=True)
class _Found:
    """What there is of a user, in rows and in the journal: memories with their kinds, and small records of episodes.

    `strategies` are the owners of evidence by agent and strategy, `common` the evidence that only several users stand behind.
    """

    user: str
    kinds: dict[str, str] = field(default_factory=dict)
    records: dict[str, None] = field(default_factory=dict)
    strategies: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    common: list[Mapping[str, Any]] = field(default_factory=list)

    def take(self, table: str, key: str, row: Mapping[str, Any]) -> None:
        """Takes in a row, whole or what a change says of it."""
        if table == "memory" and "owner" in row:
            if self.user == (row["owner"] if row["is_user"] else user_in(row["owner"])):
                self.kinds[key] = str(row["kind"])
        elif table == "record" and (row.get("body") or {}).get("user_id") == self.user:
            if key.startswith(f"{EPISODE}/"):
                self._take_episode(key.partition("/")[2], row["body"].get("run_id"))
            elif is_of_package(key.partition("/")[0]):
                self.records[key] = None

    def _take_episode(self, key: str, run_id: object) -> None:
        runs = [f"{RUN}/{run_key(run_id, key)}"] if isinstance(run_id, str) else []
        self.records |= dict.fromkeys([*(f"{kind}/{key}" for kind in (EPISODE, END, LEASE)), f"{STEP}/{key}/", *runs])

    def take_evidence(self, row: Mapping[str, Any]) -> None:
        """Takes in evidence as it is stored."""
        agent, owner = agent_in(row["agent"]), row["agent"]
        self.strategies.setdefault((agent, row["strategy_hash"]), set()).add(owner)
        if owner == agent and not row["trials"] and not row["unverified"]:
            self.common.append(row)

    def rules_of_too_few(self) -> dict[str, str]:
        """The rules of all users that would rest on the words of a single one without this user, with their kinds."""
        found: dict[str, str] = {}
        for row in self.common:
            users = {user_in(owner) for owner in self.strategies[row["agent"], row["strategy_hash"]]} - {None}
            if self.user in users and len(users) <= ENOUGH_USERS:
                found |= {row[column]: kind for column, kind in _RULES.items() if row[column]}
        return found


def forget_user(room: Room, *, user_id: object, dry_run: bool) -> ForgetReport:
    """Erases all that was recorded for a user, for good, and what was learned from nothing else."""
    found = _Found(args.checked_name(user_id, "user_id"))
    for stored in room.project.rows():
        if stored.row is not None:
            found.take(stored.table, stored.key, stored.row)
            if stored.table == "evidence":
                found.take_evidence(stored.row)
    for entry in room.project.entries():
        for change in entry.changes:
            for row in (change.before, change.after):
                found.take(change.table, change.key, row or {})
    kinds = {**found.kinds, **found.rules_of_too_few()}
    report = ForgetReport(
        dry_run=dry_run, seq=None, memory_ids=tuple(kinds), by_kind=dict(sorted(Counter(kinds.values()).items()))
    )
    if dry_run or not (kinds or found.records):
        return report
    records = dict.fromkeys([*small_records(room, list(kinds)), *found.records])
    return purged_report(room, kinds, list(records), report, actor="")


def users(room: Room) -> Sequence[str]:
    """Returns the users for whom anything was recorded, by name."""
    return sorted({one.user_id for one in room.project.partitions().values() if one.user_id is not None})
