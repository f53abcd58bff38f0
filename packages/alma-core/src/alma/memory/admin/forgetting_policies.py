"""Selects memories by the rules of forgetting. Writes nothing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from alma import scoring
from alma.config import ForgettingSettings
from alma.memory.kinds import profile_for
from alma.memory.room import Room
from alma.memory.rules import KIND_OF_SIDE, Rule, owners_with_outcomes, rules_of
from alma.protocols import Candidate
from alma.retrieval.ranking import Contender, rank_contenders
from alma.types.identity import to_micros
from alma.types.partition import Partition
from alma.types.rules import NO_USE

ENOUGH_KNOWN = 5.0
"""Least weight of use and feedback for judging a memory's usefulness: ignored ten times, say, or two thumbs."""

_ALL = 2**62
_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A memory selected for archiving, with the first of its kind's rules that selects it. `learned` is the learned rule that it is, if any."""

    memory_id: str
    owner: str
    kind: str
    rule: str
    limit: float
    learned: Rule | None = None


def choices(room: Room, settings: ForgettingSettings) -> list[Choice]:
    """Returns the memories that the rules select now, partition by partition: by age, confidence and usefulness, then the window, then
    the quota. Then the learned rules."""
    stored = [choice for partition in room.project.partitions().values() for choice in _of_partition(room, settings, partition)]
    return [*stored, *_learned(room, settings)]


def unknown_kinds(room: Room, settings: ForgettingSettings, registered: Mapping[str, object]) -> tuple[str, ...]:
    """Returns the kinds that have rules but are unknown here: misspelt, or not registered yet."""
    held = {partition.kind for partition in room.project.partitions().values()}
    return tuple(sorted(set(settings.kinds) - held - set(registered)))


def _of_partition(room: Room, settings: ForgettingSettings, partition: Partition) -> Iterator[Choice]:
    rule = settings.rule_of(partition.kind)
    owner = f"user:{partition.owner}" if partition.agent is None else partition.agent
    gone: set[str] = set()
    for name, choose in _RULES.items():
        limit = getattr(rule, name, None)
        if limit is not None:
            chosen = dict.fromkeys(choose(_Place(room, partition, gone), limit))
            yield from (Choice(memory_id, owner, partition.kind, name, limit) for memory_id in chosen if memory_id not in gone)
            gone |= set(chosen)


def _learned(room: Room, settings: ForgettingSettings) -> Iterator[Choice]:
    """Yields learned rules, by age, confidence and usefulness. They take no place, so no quota counts them."""
    if not any(_limits(settings, kind.value) for kind in KIND_OF_SIDE.values()):
        return
    seen: set[str] = set()
    for agent, user in owners_with_outcomes(room):
        for rule in rules_of(room, agent, user):
            kind = KIND_OF_SIDE[rule.record.side].value
            limits = _limits(settings, kind)
            name = next((name for name, limit in limits.items() if _MISSED[name](room, rule, limit)), None)
            if name is not None and rule.id not in seen:
                seen.add(rule.id)
                yield Choice(rule.id, agent, kind, name, limits[name], rule)


def _limits(settings: ForgettingSettings, kind: str) -> dict[str, float]:
    """Returns the rules for a kind that learned rules obey."""
    rule = settings.rule_of(kind)
    return {name: limit for name in _MISSED if (limit := getattr(rule, name)) is not None}


@dataclass(frozen=True, slots=True)
class _Place:
    """A partition, and the memories that were selected from it already."""

    room: Room
    partition: Partition
    gone: Collection[str]

    def stale(self, *, seen_before: int | None = None, below: float | None = None) -> Sequence[str]:
        """Returns the ids of memories last seen before a time, or with a confidence below a bound."""
        return self.room.project.stale([self.partition.row], seen_before=seen_before, below=below)

    def count(self) -> int:
        """Returns the number of memories that are not selected so far."""
        counts = (each.count for each in self.room.project.counts() if each.partition.row == self.partition.row)
        return next(counts, 0) - len(self.gone)

    def left(self) -> Iterator[Candidate]:
        """Yields the ranking data of the memories that are not selected so far."""
        project = self.room.project
        going = {place.memory for place in project.find(self.gone).values()}
        for rows in _chunks(project.listed([self.partition.row], since=None, limit=_ALL, newest_first=False)):
            yield from (found for found in project.candidates(rows) if found.memory not in going)

    def ids(self, memories: Sequence[int]) -> list[str]:
        """Returns the ids of memories by row."""
        found: list[str] = []
        for rows in _chunks(memories):
            stored = self.room.project.memories(rows)
            found += [stored[row].id for row in rows if row in stored]
        return found


def _chunks(rows: Sequence[int]) -> Iterator[Sequence[int]]:
    return (rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK))


def _too_old(place: _Place, days: float) -> Sequence[str]:
    return place.stale(seen_before=_before(place.room, days))


def _before(room: Room, days: float) -> int:
    return to_micros(room.store.clock() - timedelta(days=days))


def _too_unsure(place: _Place, confidence: float) -> Sequence[str]:
    return place.stale(below=confidence)


def _useless(place: _Place, least: float) -> Sequence[str]:
    return place.ids([found.memory for found in place.left() if _is_useless(found.usage, least)])


def _is_useless(usage: Iterable[float], least: float) -> bool:
    counts = tuple(usage)
    return scoring.weight_of_use(*counts) >= ENOUGH_KNOWN and scoring.usefulness(*counts) < least


def _beyond_window(place: _Place, window: int) -> Sequence[str]:
    """Returns the oldest, by when they happened, beyond the window."""
    if place.count() <= window:
        return []
    ages = sorted((found.seen_at, found.memory) for found in place.left())
    return place.ids([row for _, row in ages[: max(len(ages) - window, 0)]])


def _beyond_quota(place: _Place, quota: int) -> Sequence[str]:
    """Returns the least valuable beyond the quota: those that would rank last if all were equally near."""
    if place.count() <= quota:
        return []
    room, kind, left = place.room, place.partition.kind, list(place.left())
    order = rank_contenders(
        [Contender(found.memory, 1.0, 1) for found in left],
        left,
        kinds={place.partition.row: kind},
        profile=profile_for(room, [kind], room.store.profile),
        now=room.now(),
        top_k=len(left),
    )
    return place.ids([item.memory for item in order[quota:]])


_RULES: Mapping[str, Callable[[_Place, Any], Sequence[str]]] = {
    "max_age_days": _too_old,
    "min_confidence": _too_unsure,
    "min_usefulness": _useless,
    "window": _beyond_window,
    "max_count": _beyond_quota,
}

_MISSED: Mapping[str, Callable[[Room, Rule, Any], bool]] = {
    "max_age_days": lambda room, rule, days: rule.row.last_at < _before(room, days),
    "min_confidence": lambda room, rule, least: rule.confidence < least,
    "min_usefulness": lambda room, rule, least: _is_useless((rule.record.use[name] for name in NO_USE), least),
}
"""Checks that a learned rule misses a limit."""
