"""Maintenance: archives by the rules of forgetting, and records the last run; by hand, or in the background by one thread of an open store."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from alma.errors import ConflictError
from alma.extensions import extension
from alma.memory import kinds
from alma.memory.admin.forgetting_policies import CONDITIONS, Choice, Limits, choose
from alma.memory.room import OpenStore, Room
from alma.memory.rules import archive_rule
from alma.protocols import Lookups, Write
from alma.types.identity import from_micros
from alma.types.reports import MAINTENANCE, MOST_NAMED, MaintenanceReport, RuleReport
from alma.types.strategies import RULE

_LOG = logging.getLogger("alma")

DEFAULT_PERIOD = timedelta(days=1)
"""Time after a run until the next is due, where the settings have none."""

PART = 500
"""Number of memories archived in one transaction and one journal record, which bounds the wait of other writers."""

FIRST_WAIT = 60.0
"""Seconds. A process that ends sooner, such as a command, does no maintenance."""

LONGEST_WAIT = 3600.0

_KEY = "last"


def maintain(
    room: Room, dry_run: bool = False, *, due_only: bool = False, is_wanted: Callable[[], bool] = lambda: True
) -> MaintenanceReport:
    """Archives the memories that the rules of `forgetting` select, reports their number by rule, and records the run. `undo` brings
    them back.

    With `due_only` it does nothing within `maintenance: every` (a day, if nothing is set) of the last run; of two processes at once only
    one runs it. `is_wanted` is called between parts and can stop the run; the next run finds the rest.
    """
    while True:
        version, before = last_run(room.project)
        if due_only and not is_due(room, before):
            return _report(room, before, (), dry_run=dry_run, ran=False)
        chosen = choose(room, lambda kind: _limits(room, kind))
        if dry_run:
            return _report(room, before, chosen, dry_run=True, ran=True, merged=_consolidate(room, is_wanted, dry_run=True)[0])
        try:
            seqs, done = _archive(room, chosen, version if due_only else None, is_wanted)
        except ConflictError:
            if last_run(room.project)[0] == version:
                raise
            continue  # another run was recorded meanwhile, so it may no longer be due
        merged, more = _consolidate(room, is_wanted, dry_run=False)
        return _report(room, before, done, dry_run=False, ran=True, at=room.store.clock(), seqs=seqs + more, merged=merged)


def _consolidate(room: Room, is_wanted: Callable[[], bool], *, dry_run: bool) -> tuple[int, tuple[int, ...]]:
    """Merges memories that say the same, if the settings say so. Returns how many are fewer, and the journal records."""
    if not room.store.maintenance.consolidate:
        return 0, ()
    engine = extension("alma_knowledge.consolidation.engine", "knowledge", "consolidation is")
    merged: tuple[int, tuple[int, ...]] = engine.consolidate_all(room, dry_run=dry_run, is_wanted=is_wanted)
    return merged


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


class Schedule:
    """Checks periodically whether maintenance is due, for all projects of an open store that were opened. Errors are logged; the next check
    tries again."""

    def __init__(self, store: OpenStore, *, wait: Callable[[float], bool] | None = None) -> None:
        """Takes a function that waits for a number of seconds and returns whether the store was closed meanwhile."""
        self._store = store
        self._closed = threading.Event()
        self._wait = wait or self._closed.wait

    def start(self) -> None:
        """Starts a daemon thread, which does not keep the process alive, and ends by itself when the store is closed."""
        self._store.before_close(self.stop)
        threading.Thread(target=self.run, name="alma-maintenance", daemon=True).start()

    def stop(self) -> None:
        """Stops it: at once if it is waiting, else after the part that it is writing."""
        self._closed.set()

    def run(self) -> None:
        """Checks until the store is closed."""
        every = self._store.maintenance.every
        assert every is not None
        pause = FIRST_WAIT
        while not self._wait(pause):
            for room in list(self._store.projects.values()):
                self._check(room)
            pause = min(every.total_seconds(), LONGEST_WAIT)

    def _check(self, room: Room) -> None:
        if self._closed.is_set():
            return
        try:
            report = maintain(room.latest, due_only=True, is_wanted=lambda: not self._closed.is_set())
        except Exception as error:  # noqa: BLE001 - no caller would receive it, and the next attempt may succeed
            if not self._closed.is_set():
                _LOG.warning("maintenance of project %r failed: %s", room.name, error)
            return
        if report.ran:
            _LOG.info("maintenance of project %r archived %d memories", room.name, report.total + report.merged)


def _limits(room: Room, kind: str) -> Limits:
    rule = room.store.forgetting.rule_of(kind)
    return {name: limit for name in CONDITIONS if (limit := getattr(rule, name, None)) is not None}


def _archive(
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
        return rules[choice.memory_id][0] == choice.learned.record.version  # else it was used, rated or archived meanwhile

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
    merged: int = 0,
) -> MaintenanceReport:
    latest = at or before
    return MaintenanceReport(
        dry_run=dry_run,
        ran=ran,
        last_run_at=before,
        due_at=None if latest is None else _after(latest, period(room)),
        seqs=seqs,
        rules=tuple(_by_rule(chosen)),
        unknown_kinds=_unknown_kinds(room) if ran else (),
        merged=merged,
    )


def _unknown_kinds(room: Room) -> tuple[str, ...]:
    """Returns the kinds that have rules but are unknown here: misspelt, or not registered yet."""
    held = {partition.kind for partition in room.project.partitions().values()}
    return tuple(sorted(set(room.store.forgetting.kinds) - held - set(kinds.memory_types(room))))


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
