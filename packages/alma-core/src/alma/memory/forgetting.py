"""Forgetting: archiving what is stale or not wanted, and erasing for good."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.attempts import END, EPISODE, LEASE, STEP
from alma.memory.room import Room
from alma.protocols import Erased
from alma.types.changes import Change
from alma.types.history import CompactReport, ForgetReport, PurgeReceipt, Surface
from alma.types.identity import to_micros
from alma.types.kinds import MemoryType
from alma.types.partition import Partition

OLDER_THAN_DAYS = 90.0
BELOW_CONFIDENCE = 0.3
LONGEST_AGE = 365_000.0

_BY_AGE = frozenset({MemoryType.OUTCOME.value})
_NEVER = frozenset({MemoryType.USER_PREFERENCE.value})
"""What a user wants holds until the user says otherwise."""


@dataclass(slots=True)
class _Chosen:
    """What is to be forgotten, with its kinds, and what cannot be."""

    kinds: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def forget(
    room: Room,
    *,
    agent: object,
    older_than_days: object,
    below_confidence: object,
    memory_ids: object,
    dry_run: bool,
    purge: bool,
) -> ForgetReport:
    """Archives, or purges, what is named or what the policy finds."""
    owner = None if agent is None else args.checked_name(agent, "agent")
    if memory_ids is not None:
        chosen = _named(room, args.checked_ids(memory_ids, "memory_ids"), owner, with_former=purge)
    else:
        chosen = _Chosen(dict(_stale(room, owner, older_than_days, below_confidence)))
    ids = list(chosen.kinds)
    report = ForgetReport(
        dry_run=dry_run,
        seq=None,
        memory_ids=tuple(ids),
        by_kind=dict(sorted(Counter(chosen.kinds.values()).items())),
        unknown=tuple(chosen.unknown),
    )
    if dry_run or not ids:
        return report
    if purge:
        receipt = _purge(room, ids, owner or "")
        return report.model_copy(update={"seq": receipt.seq, "receipt": receipt})
    return report.model_copy(update={"seq": _archive(room, ids, owner or "")})


def compact(room: Room) -> CompactReport:
    """Rewrites the store's files without what was deleted."""
    store = room.store
    before, snapshots = store.storage.size(), store.drop_snapshots()
    is_whole = store.storage.compact()
    return CompactReport(bytes_before=before, bytes_after=store.storage.size(), snapshots_deleted=snapshots, is_whole=is_whole)


def _named(room: Room, ids: Sequence[str], owner: str | None, *, with_former: bool) -> _Chosen:
    """The memories of these ids that may be forgotten; with `with_former` also those that are archived or only in the journal."""
    chosen = _Chosen()
    for memory_id in ids:
        place = room.project.find(memory_id)
        if place is not None and (with_former or not place.is_archived):
            kind = place.partition.kind if _owns(place.partition, owner) else None
        else:
            kind = _former_kind(room, memory_id, owner) if place is None and with_former else None
        if kind is None:
            chosen.unknown.append(memory_id)
        else:
            chosen.kinds[memory_id] = kind
    return chosen


def _owns(partition: Partition, owner: str | None) -> bool:
    return owner is None or (partition.owner == owner and not partition.is_user)


def _former_kind(room: Room, memory_id: str, owner: str | None) -> str | None:
    """The kind of a memory whose making was undone, if it was the owner's."""
    for entry in room.project.entries(memory_id=memory_id):
        for change in entry.changes:
            row = change.after or change.before
            if change.table == "memory" and change.key == memory_id and row and "kind" in row:
                is_own = owner is None or (row["owner"] == owner and not row["is_user"])
                return str(row["kind"]) if is_own else None
    return None


def _stale(room: Room, owner: str | None, older_than_days: object, below_confidence: object) -> Iterator[tuple[str, str]]:
    """The ids and kinds that the policy finds: outcomes by age, what is believed by confidence, preferences never."""
    days = _limit(older_than_days, "older_than_days", LONGEST_AGE)
    below = _limit(below_confidence, "below_confidence", 1.0)
    oldest = None if days is None else to_micros(room.store.clock() - timedelta(days=days))
    for partition in room.project.partitions().values():
        if partition.kind in _NEVER or not _owns(partition, owner):
            continue
        seen_before, confidence = (oldest, None) if partition.kind in _BY_AGE else (None, below)
        if seen_before is not None or confidence is not None:
            for memory_id in room.project.stale([partition.row], seen_before=seen_before, below=confidence):
                yield memory_id, partition.kind


def _limit(value: object, name: str, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValidationError(f"{name} must be a number from 0 to {most:g}, or None, not {args.told(value)}")
    return float(value)


def _archive(room: Room, ids: Sequence[str], actor: str) -> int:
    at = room.now()
    with room.project.write(actor=actor, operation="forget", at=at) as write:
        for memory_id in ids:
            write.change_memory(memory_id, archived_at=at)
        return write.seq


def _purge(room: Room, ids: Sequence[str], actor: str) -> PurgeReceipt:
    records = list(dict.fromkeys(_episode_records(room, ids)))
    erased = room.project.purge(ids, records=records, actor=actor, at=room.now())
    assert erased is not None, "what was just found is gone"
    snapshot = Surface(name="vector snapshot", found=int(room.index.drop_snapshot()), done="deleted")
    return PurgeReceipt(seq=erased.seq, surfaces=(*_counted(erased), snapshot, *_UNCOUNTED), left=tuple(erased.left))


def _counted(erased: Erased) -> Iterator[Surface]:
    for name, count in erased.counts.items():
        yield Surface(name=name, found=count, done="erased" if count else "nothing was there")


_UNCOUNTED = (
    Surface(name="free pages", found=None, done="overwritten as the rows were deleted"),
    Surface(name="full-text segments", found=None, done="no longer found; the words leave the file with `alma compact`"),
    Surface(name="write-ahead log", found=None, done="may hold former pages until `alma compact`"),
    Surface(name="running processes", found=None, done="let go of it at their next retrieval"),
    Surface(name="exports, backups", found=None, done="not known to ALMA; delete them yourself"),
)


def _episode_records(room: Room, ids: Sequence[str]) -> Iterator[str]:
    """The small records of the ended episodes that the memories come from, for they tell the same; those of an open one are still needed."""
    for memory_id in ids:
        for entry in room.project.entries(memory_id=memory_id):
            for change in entry.changes:
                episode = _episode_of(change) if change.key == memory_id else None
                if episode is not None and not _is_open(room, episode):
                    yield from (f"{kind}/{episode}" for kind in (EPISODE, END, LEASE))
                    yield f"{STEP}/{episode}/"


def _episode_of(change: Change) -> str | None:
    row = change.after or {}
    found = row.get("body", {}).get("metadata", {}).get("episode_id") if change.table == "memory" else None
    return found if isinstance(found, str) else None


def _is_open(room: Room, episode: str) -> bool:
    return bool(room.project.record(EPISODE, episode)[0]) and not room.project.record(END, episode)[0]
