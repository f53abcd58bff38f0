"""History of a memory, and undo. Both read the journal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alma import journal
from alma.errors import ConflictError, CorruptStoreError, MemoryNotFoundError, ValidationError
from alma.journal import Change, entity
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.protocols import Entry, Write
from alma.storage.relational.rows import compared_text
from alma.text import quoted
from alma.types.history import HistoryEntry, Revision, UndoReport
from alma.types.identity import from_micros
from alma.types.rules import RULE
from alma.types.tags import not_an_id

RELEARN = "relearn"
_OF_RULES = f"{RULE}/"

TRIES = 3
"""Attempts to prepare an undo while others may write; after these, other writers wait for it."""

_TIMES = frozenset({"seen_at", "created_at", "updated_at", "archived_at", "time"})
_REDUNDANT = frozenset({"id", "content_hash", "memory", "position", "text_hash", "is_live", "version"})
"""Columns that add nothing for a reader to other columns."""


def history(room: Room, memory_id: str) -> list[HistoryEntry]:
    """Returns the effect of every call on a memory, oldest first, also for one that is archived or was undone.

    The first entry says who made it, in which episode and on which evidence. `MemoryNotFoundError` if there never was one, or it was
    purged.
    """
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    found = histories(room, [wanted])
    if not found:
        if room.project.was_purged(wanted):
            raise MemoryNotFoundError(
                f"project {room.name!r} has no memory {quoted(wanted)} any more: it was purged, with its history"
            )
        raise MemoryNotFoundError(f"project {room.name!r} never had a memory {quoted(wanted)}{not_an_id(wanted)}")
    return found[wanted]


def histories(room: Room, memory_ids: Sequence[str]) -> dict[str, list[HistoryEntry]]:
    """Returns the histories of those of the memories that were ever there and were not purged, by id. Each journal record is read once.

    That of a rule is the history of its record.
    """
    named = {memory_id: memory_id for memory_id in memory_ids}
    named |= {entity("record", one if one.startswith(_OF_RULES) else f"{_OF_RULES}{one}"): one for one in memory_ids}
    found = dict[str, list[HistoryEntry]]()
    for entry in room.project.entries(memory_ids=list(named)):
        touched: dict[str, list[Change]] = {}
        for change in journal.current(entry.changes):
            if (memory_id := named.get(entity(change.table, change.key))) is not None and change.table != journal.PURGE:
                touched.setdefault(memory_id, []).append(change)
        for memory_id, changes in touched.items():
            found.setdefault(memory_id, []).append(_entry(entry, changes))
    return found


def content_hash(room: Room) -> str:
    """Returns a hash of the project's content, archived memories included, as 64 hexadecimal digits: equal for equal content,
    whatever its history: an export that is imported into an empty project has the same."""

    def rows() -> Iterable[tuple[str, str, Mapping[str, Any]]]:
        for stored in room.project.rows():
            if stored.row is None:
                raise CorruptStoreError(f"{stored.table} {stored.key} {stored.fault}; see `alma verify`")
            yield stored.table, stored.key, stored.row

    return journal.content_hash(rows())


def undo(room: Room, to: int, *, actor: str | None = None, dry_run: bool = False, expected_head: int | None = None) -> UndoReport:
    """Reverses all changes after journal record `to`; with `actor` only those of this actor.

    The undo is a call like any other: it has a record, and can be undone. `ConflictError` names the row if `actor` is given and
    another changed the same row since; then nothing is undone. Purged content does not come back; the report counts it. With
    `expected_head`, the `head` of a preview, anything written since is a `ConflictError` too, so that no more is undone than was
    shown.
    """
    name = None if actor is None else args.checked_name(actor, "actor")
    expected = None if expected_head is None else _checked_seq(room, expected_head, "expected_head")
    since = _checked_seq(room, to)
    for _ in range(TRIES):
        plan = _plan(room, since, name, expected)
        if dry_run or not plan.changes:
            return _report(plan, name, dry_run=dry_run)
        vectors = _vectors(room, plan)
        with room.project.write(actor=name or "", operation="undo", at=room.now()) as write:
            if write.seq == plan.head + 1:  # otherwise another caller wrote meanwhile, and the plan is prepared again
                return _carried_out(write, plan, vectors, name)
    with room.project.write(actor=name or "", operation="undo", at=room.now()) as write:
        plan = _plan(room, since, name, expected)
        return _carried_out(write, plan, _vectors(room, plan), name)


@dataclass(slots=True)
class _Plan:
    """The changes of an undo. `head` is the newest record that it considers."""

    to: int
    head: int
    records: int = 0
    purged: int = 0
    changes: list[Change] = field(default_factory=list)


@dataclass(slots=True)
class _Touched:
    """Changes by others to an actor's rows, or to rows of the same memories, since the actor's first change."""

    rows: dict[tuple[str, str], Entry | None] = field(default_factory=dict)
    memories: dict[str, tuple[Change, Entry] | None] = field(default_factory=dict)

    def mine(self, change: Change) -> None:
        """Notes a row of the actor."""
        self.rows.setdefault((change.table, change.key), None)
        self.memories.setdefault(entity(change.table, change.key), None)

    def others(self, change: Change, entry: Entry) -> None:
        """Notes a change by another."""
        place, owner = (change.table, change.key), entity(change.table, change.key)
        if place in self.rows:
            self.rows[place] = self.rows[place] or entry
        if owner in self.memories:
            self.memories[owner] = self.memories[owner] or (change, entry)

    def check(self, changes: Sequence[Change]) -> None:
        """Raises `ConflictError` if another changed a row that is to be changed, or a row of a memory that is to be removed."""
        for change in changes:
            if (entry := self.rows.get((change.table, change.key))) is not None:
                raise _conflict(change, entry)
            hanging = self.memories.get(change.key) if change.table == "memory" and change.after is None else None
            if hanging is not None:
                raise _conflict(*hanging)


def _conflict(change: Change, entry: Entry) -> ConflictError:
    who = f"by {entry.actor!r} " if entry.actor else ""
    return ConflictError(f"{change.table} {quoted(change.key)} was changed {who}in record {entry.seq} since; nothing was undone")


def _vectors(room: Room, plan: _Plan) -> Mapping[str, bytes]:
    """Returns the vectors of restored content: of passages, and of strategies that others are compared with."""
    texts = [row["text"] for change in plan.changes if (row := change.after or {}).get("text_hash")]
    made = [change for change in plan.changes if change.before is None and change.after is not None]
    compared = [text for change in made if (text := compared_text(change.table, change.after or {}))]
    return room.store.texts.of([*texts, *compared], room.project)


def _carried_out(write: Write, plan: _Plan, vectors: Mapping[str, bytes], actor: str | None) -> UndoReport:
    report = _report(plan, actor, dry_run=False)
    if not plan.changes:
        return report
    write.apply(plan.changes, vectors)
    return report.model_copy(update={"seq": write.seq})


def _plan(room: Room, to: int, actor: str | None, expected_head: int | None) -> _Plan:
    plan, touched, retired = _Plan(to, to), _Touched(), set[str]()
    undone: list[Change] = []
    for entry in room.project.entries(after=to):
        plan.head = entry.seq
        changes = _undoable(entry)
        if entry.operation == journal.UPGRADED:
            retired |= {change.key for change in changes if change.table == "memory" and change.after is None}
            changes = [change for change in changes if change.table != "record"]
        if actor is not None and entry.actor != actor:
            for change in changes:
                touched.others(change, entry)
            continue
        plan.records += 1
        plan.purged += entry.is_purged
        undone += changes
        for change in changes:
            touched.mine(change)
    if expected_head is not None and plan.head != expected_head:
        raise ConflictError(f"the newest journal record is {plan.head}, not {expected_head}; nothing was undone")
    staying = (
        change for change in undone if entity(change.table, change.key) not in retired
    )  # learned rules have no rows any more
    plan.changes = list(journal.reversed_changes(journal.net(staying)))
    if actor is not None:
        touched.check(plan.changes)
    return plan


def _undoable(entry: Entry) -> list[Change]:
    """The changes of a record that an undo reverses. What a purge says, and what it restates, stays."""
    if any(change.table == journal.PURGE for change in entry.changes):
        return []
    return [change for change in journal.current(entry.changes) if change.before != change.after]


def _report(plan: _Plan, actor: str | None, *, dry_run: bool) -> UndoReport:
    fates: dict[str, str] = {}
    others = []
    for change in plan.changes:
        if change.table not in journal.OF_MEMORIES:
            others.append(f"{change.table} {change.key}")
        elif change.table == "memory" and (fate := _fate(change)) in ("brought back", "removed", "archived"):
            fates[change.key] = "brought_back" if fate == "brought back" else "removed"
        else:
            fates.setdefault(entity(change.table, change.key), "changed")
    groups = {
        name: tuple(sorted(memory_id for memory_id, fate in fates.items() if fate == name))
        for name in ("brought_back", "removed", "changed")
    }
    return UndoReport(
        to=plan.to,
        head=plan.head,
        actor=actor,
        dry_run=dry_run,
        seq=None,
        records=plan.records,
        purged=plan.purged,
        others=tuple(sorted(others)),
        **groups,
    )


def _fate(change: Change) -> str:
    """Describes the effect of a change of a memory's row."""
    if change.before is None:
        return "brought back"
    if change.after is None:
        return "removed"
    was, now = (_archived(row) for row in (change.before, change.after))
    if was == now:
        return "changed"
    return "brought back" if now is None else "archived"


def _archived(row: Mapping[str, Any]) -> object:
    """When a memory or a rule was archived, as far as a row says."""
    return row.get("archived_at", row.get("body", {}).get("archived_at"))


def _checked_seq(room: Room, seq: object, name: str = "to") -> int:
    head = room.project.head()
    if not isinstance(seq, int) or isinstance(seq, bool):
        raise ValidationError(f"{name} must be the number of a journal record, not {quoted(seq)}")
    if not 0 <= seq <= head:
        raise ValidationError(f"{name} is {quoted(seq)}; the newest journal record is {head}, and 0 is before the first")
    return seq


def _entry(entry: Entry, changes: Sequence[Change]) -> HistoryEntry:
    changed = {name: revision for change in changes for name, revision in _revisions(change)}
    made: Mapping[str, Any] = next((c.after or {} for c in changes if c.table == "memory" and c.before is None), {})
    return HistoryEntry(
        seq=entry.seq,
        at=from_micros(entry.at),
        actor=entry.actor,
        operation=entry.operation,
        what=_what(entry, changes),
        changed=changed,
        episode_id=made.get("body", {}).get("metadata", {}).get("episode_id"),
    )


def _what(entry: Entry, changes: Sequence[Change]) -> str:
    for change in changes:
        if change.table in ("memory", "record"):
            return "made" if change.before is None and entry.operation != "undo" else _fate(change)
    return "used" if all(change.table == "usage" for change in changes) else "changed"


def _revisions(change: Change) -> Iterable[tuple[str, Revision]]:
    prefix = {"memory": "", "record": "", "usage": "usage."}.get(change.table, f"passage {change.key.rpartition('/')[2]}.")
    before, after = _fields(change.before), _fields(change.after)
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if old != new:
            yield f"{prefix}{name}", Revision(old=old, new=new)


def _fields(row: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the columns that inform a reader, times as datetimes, with the fields of the body."""
    fields = {name: value for name, value in (row or {}).items() if name not in _REDUNDANT and name != "body"}
    for name in _TIMES & set(fields):
        fields[name] = None if fields[name] is None else from_micros(fields[name])
    return {**fields, **(row or {}).get("body", {})}
