"""Forgetting a user: all that was recorded for one is erased."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from alma.memory import arguments as args
from alma.memory.admin.forgetting import purged_report, small_records
from alma.memory.episodes.records import END, EPISODE, LEASE, RUN, STEP, run_key
from alma.memory.room import Room
from alma.types.history import ForgetReport
from alma.types.package_records import is_of_package
from alma.types.partition import user_in


@dataclass(slots=True)
class _Found:
    """What there is of a user, in rows and in the journal: memories with their kinds, and small records of episodes."""

    user: str
    kinds: dict[str, str] = field(default_factory=dict)
    records: dict[str, None] = field(default_factory=dict)

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


def forget_user(room: Room, user_id: str, *, dry_run: bool = False) -> ForgetReport:
    """Erases all that was recorded for a user, irrevocably: memories of every agent, preferences, episodes, what was learned from them alone,
    and the payload of every journal record about them.

    The receipt lists every surface, as that of `purge` does. A rule of several users goes, too, if it would rest on the words of a single one.
    Counts that other users' outcomes made stay. `compact` then removes the last bytes from the files. A user of whom nothing is known is an
    empty report.
    """
    found = _Found(args.checked_name(user_id, "user_id"))
    for stored in room.project.rows():
        if stored.row is not None:
            found.take(stored.table, stored.key, stored.row)
    for entry in room.project.entries():
        for change in entry.changes:
            for row in (change.before, change.after):
                found.take(change.table, change.key, row or {})
    kinds = found.kinds
    report = ForgetReport(
        dry_run=dry_run, seq=None, memory_ids=tuple(kinds), by_kind=dict(sorted(Counter(kinds.values()).items()))
    )
    if dry_run or not (kinds or found.records):
        return report
    records = dict.fromkeys([*small_records(room, list(kinds)), *found.records])
    return purged_report(room, kinds, list(records), report, actor="")


def users(room: Room) -> list[str]:
    """Returns the users for whom anything was recorded in the project, by name."""
    return sorted({one.user_id for one in room.project.partitions().values() if one.user_id is not None})
