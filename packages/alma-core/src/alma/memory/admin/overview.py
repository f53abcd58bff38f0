"""Summary of a project, gathered from its figures. Writes nothing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from alma.memory import arguments as args
from alma.memory.admin.learning_overview import taught
from alma.memory.admin.stats import get_stats
from alma.memory.episodes import records as kept
from alma.memory.room import Room
from alma.types.episodes import EpisodeRecord
from alma.types.identity import from_micros
from alma.types.overview import DayCount, JournalLine, KnownMemory, Overview, OwnerView, StoreView, UsageView
from alma.types.scope import Access, access

MOST = 1_000


def overview(room: Room, *, top: int = 20, recent: int = 20, verify: bool = True) -> Overview:
    """Returns a summary of the project, as `alma report` shows it: growth by kind, the `top` memories by evidence, agents and what
    they share, the `recent` episodes and journal records, usage, and the state of the store (the slow part: `verify=False` leaves it
    out)."""
    most, newest = args.checked_count(top, "top", largest=MOST), args.checked_count(recent, "recent", largest=MOST)
    attempts = kept.recent(room, limit=newest)
    return Overview(
        project_id=room.name,
        made_at=from_micros(room.now()),
        stats=get_stats(room),
        growth=_growth(room),
        activity=tuple(DayCount(day=one.day, name=one.operation, count=one.count) for one in room.project.activity()),
        memories=_memories(room, most, attempts),
        owners=tuple(_owners(room)),
        journal=tuple(JournalLine(**asdict(entry)) for entry in room.project.newest_records(newest)),
        episodes=tuple(attempts),
        usage=UsageView(**asdict(room.project.usage_totals())),
        store=_store(room, verify=verify),
        learning=taught(room),
    )


def _growth(room: Room) -> tuple[DayCount, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    days = {}
    for one in room.project.growth():
        key = (one.day.isoformat(), one.partition.kind)
        days[key[0]] = one.day
        counts[key] += one.count
    return tuple(DayCount(day=days[day], name=kind, count=count) for (day, kind), count in sorted(counts.items()))


def _memories(room: Room, most: int, attempts: Sequence[EpisodeRecord]) -> tuple[KnownMemory, ...]:
    rows = room.project.telling(most)
    stored = room.project.memories(rows)
    counts = {candidate.memory: candidate for candidate in room.project.candidates(rows)}
    shown = Counter(exposure.memory_id for attempt in attempts for exposure in attempt.shown)
    return tuple(
        KnownMemory(
            memory=stored[row],
            used=counts[row].used,
            ignored=counts[row].ignored,
            thumbs_up=counts[row].thumbs_up,
            thumbs_down=counts[row].thumbs_down,
            shown=shown[stored[row].id],
        )
        for row in rows
        if row in stored and row in counts
    )


def _owners(room: Room) -> Iterable[OwnerView]:
    held: dict[tuple[bool, str], dict[str, int]] = {(False, name): {} for name in room.store.agents}
    for count in room.project.counts():
        partition = count.partition
        owner = (True, partition.owner) if partition.agent is None else (False, partition.agent)
        of_owner = held.setdefault(owner, {})
        of_owner[partition.kind] = of_owner.get(partition.kind, 0) + count.count
    agents = [name for is_user, name in held if not is_user]
    for (is_user, name), by_kind in sorted(held.items()):
        rules = None if is_user else room.store.agents.get(name)
        reads = {} if is_user else _read_by(room, name, agents)
        yield OwnerView(name=name, is_user=is_user, by_kind=dict(sorted(by_kind.items())), rules=rules, reads=reads)


def _read_by(room: Room, reader: str, agents: Iterable[str]) -> dict[str, Access]:
    found = {owner: access(reader, owner, room.store.agents) for owner in sorted(agents) if owner != reader}
    return {owner: rule for owner, rule in found.items() if rule.is_open}


def _store(room: Room, *, verify: bool) -> StoreView:
    sizes = {name: int(value) for name, value in asdict(room.project.sizes()).items()}
    storage = room.store.storage
    return StoreView(
        embedder=storage.fingerprint,
        database_bytes=storage.size(),
        verified=storage.verify() if verify else None,
        **sizes,
    )
