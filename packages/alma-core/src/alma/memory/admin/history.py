"""History of a memory, and undo. Both read the journal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alma import journal
from alma.errors import ConflictError, CorruptStoreError, MemoryNotFoundError, ValidationError
from alma.journal import Change, entity
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.protocols import Entry
from alma.storage.relational.rows import compared_text
from alma.text import quoted
from alma.types.identity import from_micros
from alma.types.reports import HistoryEntry, Revision, UndoReport
from alma.types.strategies import RULE
from alma.types.tags import not_an_id

_OF_RULES = f"{RULE}/"

TRIES = 4
"""Attempts to undo, of which the last is prepared while other writers wait for it."""

_TIMES = frozenset({"seen_at", "created_at", "updated_at", "archived_at", "time"})
_REDUNDANT = frozenset({"id", "content_hash", "memory", "position", "text_hash", "is_live", "version"})
"""Columns that add nothing for a reader to other columns."""


def history(room: Room, memory_id: str) -> list[HistoryEntry]:
    """Returns the effect of every call on a memory, oldest first, also for one that is archived or was undone. `rule/` and an id name the
    record of a rule.

    The first entry says who made it, in which episode and on which evidence. `MemoryNotFoundError` if there never was one, or it was
    purged.
    """
    (wanted,) = args.checked_ids([memory_id], "memory_id")
    names = [wanted, entity("record", wanted if wanted.startswith(_OF_RULES) else f"{_OF_RULES}{wanted}")]
    found = []
    for entry in room.project.entries(memory_ids=names):
        current = [change for change in journal.current(entry.changes) if change.table != journal.PURGE]
        if changes := [change for change in current if entity(change.table, change.key) in names]:
            found.append(_entry(entry, changes))
    if found:
        return found
    if room.project.was_purged(wanted):
        raise MemoryNotFoundError(
            f"project {room.name!r} has no memory {quoted(wanted)} any more: it was purged, with its history"
        )
    raise MemoryNotFoundError(f"project {room.name!r} never had a memory {quoted(wanted)}{not_an_id(wanted)}")


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
    since = _checked_seq(room, to, "to")
    for left in reversed(range(TRIES)):
        plan = _plan(room, since, name, expected)
        if dry_run or not plan.changes:
            break
        vectors = _vectors(room, plan)
        with room.project.write(actor=name or "", operation="undo", at=room.now()) as write:
            if write.seq != plan.head + 1:  # another caller wrote meanwhile, so the plan is prepared again
                if left:
                    continue
                plan = _plan(room, since, name, expected)
                vectors = _vectors(room, plan)
            if plan.changes:
                write.apply(plan.changes, vectors)
                return _report(plan, name, dry_run=False, seq=write.seq)
    return _report(plan, name, dry_run=dry_run)


@dataclass(slots=True)
class _Plan:
    """The changes of an undo. `head` is the newest record that it considers."""

    to: int
    head: int
    records: int = 0
    purged: int = 0
    changes: list[Change] = field(default_factory=list)


def _vectors(room: Room, plan: _Plan) -> Mapping[str, bytes]:
    """Returns the vectors of restored content: of passages, and of strategies that others are compared with."""
    texts = [row["text"] for change in plan.changes if (row := change.after or {}).get("text_hash")]
    made = [change for change in plan.changes if change.before is None and change.after is not None]
    compared = [text for change in made if (text := compared_text(change.table, change.after or {}))]
    return room.store.texts.of([*texts, *compared], room.project)


def _plan(room: Room, to: int, actor: str | None, expected_head: int | None) -> _Plan:
    """Returns the changes that reverse what was done since a record. `ConflictError` if another actor changed the same since."""
    plan, retired, undone = _Plan(to, to), set[str](), list[Change]()
    by_others: dict[tuple[str, str] | str, tuple[Change, Entry] | None] = {}
    """The first change by another actor of each row that is undone, and of each memory with such a row."""
    for entry in room.project.entries(after=to):
        plan.head = entry.seq
        changes = _undoable(entry)
        if entry.operation == journal.UPGRADED:  # learned rules have no rows any more
            retired |= {change.key for change in changes if change.table == "memory" and change.after is None}
            changes = [change for change in changes if change.table != "record"]
        is_undone = actor in (None, entry.actor)
        for change in changes:
            for place in ((change.table, change.key), entity(change.table, change.key)):
                if is_undone:
                    by_others.setdefault(place, None)
                elif place in by_others:
                    by_others[place] = by_others[place] or (change, entry)
        if is_undone:
            plan.records += 1
            plan.purged += entry.is_purged
            undone += changes
    if expected_head is not None and plan.head != expected_head:
        raise ConflictError(f"the newest journal record is {plan.head}, not {expected_head}; nothing was undone")
    staying = (change for change in undone if entity(change.table, change.key) not in retired)
    plan.changes = list(journal.reversed_changes(journal.net(staying)))
    for change in plan.changes:
        removed = change.key if change.table == "memory" and change.after is None else ""
        if (conflict := by_others.get((change.table, change.key)) or by_others.get(removed)) is not None:
            raise _conflict(*conflict)
    return plan


def _conflict(change: Change, entry: Entry) -> ConflictError:
    who = f"by {entry.actor!r} " if entry.actor else ""
    return ConflictError(f"{change.table} {quoted(change.key)} was changed {who}in record {entry.seq} since; nothing was undone")


def _undoable(entry: Entry) -> list[Change]:
    """Returns the changes of a record that an undo reverses. A purge, and what it restates, stays."""
    if any(change.table == journal.PURGE for change in entry.changes):
        return []
    return [change for change in journal.current(entry.changes) if change.before != change.after]


def _report(plan: _Plan, actor: str | None, *, dry_run: bool, seq: int | None = None) -> UndoReport:
    fates: dict[str, str] = {}
    others = []
    for change in plan.changes:
        if change.table not in journal.OF_MEMORIES:
            others.append(f"{change.table} {change.key}")
        elif change.table == "memory" and (fate := _fate(change)) != "changed":
            fates[change.key] = "brought back" if fate == "brought back" else "removed"
        else:
            fates.setdefault(entity(change.table, change.key), "changed")
    brought_back, removed, changed = (
        tuple(sorted(memory_id for memory_id, fate in fates.items() if fate == name))
        for name in ("brought back", "removed", "changed")
    )
    return UndoReport(
        to=plan.to,
        head=plan.head,
        actor=actor,
        dry_run=dry_run,
        seq=seq,
        records=plan.records,
        purged=plan.purged,
        others=tuple(sorted(others)),
        brought_back=brought_back,
        removed=removed,
        changed=changed,
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


def _checked_seq(room: Room, seq: object, name: str) -> int:
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
