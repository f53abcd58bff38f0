"""Maintenance: archives by the rules of forgetting, and records the last run."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from alma.errors import ConflictError
from alma.memory import kinds
from alma.memory.admin.forgetting_policies import Choice, choices, unknown_kinds
from alma.memory.room import Room
from alma.memory.rules import archive_rule
from alma.protocols import Lookups, Write
from alma.types.identity import from_micros
from alma.types.reports import MAINTENANCE, MOST_NAMED, MaintenanceReport, RuleReport
from alma.types.rules import RULE

DEFAULT_PERIOD = timedelta(days=1)
"""Time after a run until the next is due, where the settings have none."""

PART = 500
"""Number of memories archived in one transaction and one journal record, which bounds the wait of other writers."""

_KEY = "last"


def maintain(room: Room, *, dry_run: bool, due_only: bool, is_wanted: Callable[[], bool] = lambda: True) -> MaintenanceReport:
    """Archives the memories that the rules select. With `due_only` only if it was not done for a period; of two callers at once only one
    does it.

    `is_wanted` is called between parts and can stop the run; the next run finds the rest.
    """
    while True:
        version, before = last_run(room.project)
        if due_only and not is_due(room, before):
            return _report(room, before, (), dry_run=dry_run, ran=False)
        chosen = choices(room, room.store.forgetting)
        if dry_run:
            return _report(room, before, chosen, dry_run=True, ran=True)
        try:
            seqs, done = _archived(room, chosen, version if due_only else None, is_wanted)
        except ConflictError:
            if last_run(room.project)[0] == version:
                raise
            continue  # another run was recorded meanwhile, so it may no longer be due
        return _report(room, before, done, dry_run=False, ran=True, at=room.store.clock(), seqs=seqs)


def last_run(stored: Lookups) -> tuple[int, datetime | None]:
    """Returns the version of the record of the last run, and its time."""
    version, body = stored.record(MAINTENANCE, [_KEY])[_KEY]
    at = body.get("at")
    try:
        return version, from_micros(at) if isinstance(at, int) else None
    except OverflowError:  # a time that ALMA never writes
        return version, None


def period(room: Room) -> timedelta:
    """Returns the time after a run until the next is due."""
    return room.store.maintenance.every or DEFAULT_PERIOD


def is_due(room: Room, last: datetime | None) -> bool:
    """Returns True when maintenance is due after that last run. A last run in the future is ignored: the clock was set back."""
    now = room.store.clock()
    return last is None or not timedelta() <= now - last < period(room)


def _archived(
    room: Room, chosen: Sequence[Choice], version: int | None, is_wanted: Callable[[], bool]
) -> tuple[tuple[int, ...], list[Choice]]:
    """Archives part by part, and records the run with the first.

    With the `version` of the last record: `ConflictError`, with nothing done, if another run was recorded meanwhile.
    """
    seqs, done = [], []
    for start in range(0, max(len(chosen), 1), PART):
        if start and not is_wanted():
            break
        at = room.now()
        with room.project.write(actor="", operation="maintain", at=at) as write:
            if start == 0:
                write.put_record(MAINTENANCE, _KEY, {"at": at}, version=last_run(write.stored)[0] if version is None else version)
            part = _still_there(write, chosen[start : start + PART])
            for choice in part:
                if choice.learned is None:
                    write.change_memory(choice.memory_id, archived_at=at)
                else:
                    archive_rule(write, choice.learned, at)
        seqs.append(write.seq)
        done += part
    return tuple(seqs), done


def _still_there(write: Write, chosen: Sequence[Choice]) -> list[Choice]:
    places = write.stored.find(choice.memory_id for choice in chosen if choice.learned is None)
    rules = write.stored.record(RULE, [choice.memory_id for choice in chosen if choice.learned is not None])

    def is_there(choice: Choice) -> bool:
        if choice.learned is None:
            return choice.memory_id in places and not places[choice.memory_id].is_archived
        return rules[choice.memory_id][0] == choice.learned.record.version  # else somebody used, rated or archived it meanwhile

    return [choice for choice in chosen if is_there(choice)]


def _report(
    room: Room,
    before: datetime | None,
    chosen: Sequence[Choice],
    *,
    dry_run: bool,
    ran: bool,
    at: datetime | None = None,
    seqs: tuple[int, ...] = (),
) -> MaintenanceReport:
    latest = at or before
    return MaintenanceReport(
        dry_run=dry_run,
        ran=ran,
        last_run_at=before,
        due_at=None if latest is None else _after(latest, period(room)),
        seqs=seqs,
        rules=tuple(_by_rule(chosen)),
        unknown_kinds=unknown_kinds(room, room.store.forgetting, kinds.registered(room)) if ran else (),
    )


def _after(at: datetime, span: timedelta) -> datetime:
    """Returns the time, limited to the last one of the calendar."""
    try:
        return at + span
    except OverflowError:
        return datetime.max.replace(tzinfo=at.tzinfo)


def _by_rule(chosen: Sequence[Choice]) -> Iterator[RuleReport]:
    groups: dict[tuple[str, str], list[Choice]] = {}
    for choice in chosen:
        groups.setdefault((choice.kind, choice.rule), []).append(choice)
    for (kind, rule), group in sorted(groups.items()):
        yield RuleReport(
            kind=kind,
            rule=rule,
            limit=group[0].limit,
            count=len(group),
            by_owner=dict(sorted(Counter(choice.owner for choice in group).items())),
            memory_ids=tuple(choice.memory_id for choice in group[:MOST_NAMED]),
        )
