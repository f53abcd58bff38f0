"""Which memories the rules of forgetting choose. Writes nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from alma import scoring
from alma.config import ForgettingRule, ForgettingSettings, OutcomeRule
from alma.memory.kinds import profile_for
from alma.memory.room import Room
from alma.protocols import Candidate
from alma.retrieval.ranking import Contender, ranked
from alma.types.identity import to_micros
from alma.types.partition import Partition

ENOUGH_KNOWN = 5.0
"""The least weight of use and feedback for a memory to go by its usefulness: being passed over ten times, say, or two thumbs."""

_ALL = 2**62
_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A memory that a rule has go: the first of its kind's rules that says so."""

    memory_id: str
    owner: str
    kind: str
    rule: str
    limit: float


def choices(room: Room, settings: ForgettingSettings) -> list[Choice]:
    """What the rules have go now, partition by partition: by age, confidence and usefulness, then the window, then the quota."""
    return [choice for partition in room.project.partitions().values() for choice in _of_partition(room, settings, partition)]


def unknown_kinds(room: Room, settings: ForgettingSettings, registered: Mapping[str, object]) -> tuple[str, ...]:
    """The kinds that have rules although nobody knows them here: misspelt, or not registered yet."""
    held = {partition.kind for partition in room.project.partitions().values()}
    return tuple(sorted(set(settings.kinds) - held - set(registered)))


def _of_partition(room: Room, settings: ForgettingSettings, partition: Partition) -> Iterator[Choice]:
    rule = settings.rule_of(partition.kind)
    owner = f"user:{partition.owner}" if partition.is_user else partition.owner
    gone: set[str] = set()
    for name, choose in _RULES.items():
        limit = getattr(rule, name, None)
        if limit is None:
            continue
        for memory_id in choose(_Place(room, partition, rule, gone)):
            if memory_id not in gone:
                gone.add(memory_id)
                yield Choice(memory_id, owner, partition.kind, name, limit)


@dataclass(frozen=True, slots=True)
class _Place:
    """A partition, its rule, and what goes from it already."""

    room: Room
    partition: Partition
    rule: ForgettingRule
    gone: set[str]

    def left(self) -> Iterator[Candidate]:
        """What is known of the memories that stay so far."""
        project = self.room.project
        places = (project.find(memory_id) for memory_id in self.gone)
        going = {place.memory for place in places if place is not None}
        rows = project.listed([self.partition.row], since=None, limit=_ALL, newest_first=False)
        for start in range(0, len(rows), _CHUNK):
            yield from (found for found in project.candidates(rows[start : start + _CHUNK]) if found.memory not in going)

    def ids(self, rows: list[int]) -> list[str]:
        """The ids of memories by row."""
        found: list[str] = []
        for start in range(0, len(rows), _CHUNK):
            memories = self.room.project.memories(rows[start : start + _CHUNK])
            found += [memories[row].id for row in rows[start : start + _CHUNK] if row in memories]
        return found


def _too_old(place: _Place) -> list[str]:
    assert place.rule.max_age_days is not None
    oldest = to_micros(place.room.store.clock() - timedelta(days=place.rule.max_age_days))
    return list(place.room.project.stale([place.partition.row], seen_before=oldest, below=None))


def _too_unsure(place: _Place) -> list[str]:
    return list(place.room.project.stale([place.partition.row], seen_before=None, below=place.rule.min_confidence))


def _useless(place: _Place) -> list[str]:
    least = place.rule.min_usefulness
    assert least is not None
    return place.ids([found.memory for found in place.left() if _is_known(found) and scoring.usefulness(*found.usage) < least])


def _is_known(candidate: Candidate) -> bool:
    return scoring.weight_of_use(*candidate.usage) >= ENOUGH_KNOWN


def _beyond_window(place: _Place) -> list[str]:
    """The oldest, by when they happened, beyond the window."""
    assert isinstance(place.rule, OutcomeRule)
    assert place.rule.window is not None
    if _count(place) <= place.rule.window:
        return []
    ages = sorted((found.seen_at, found.memory) for found in place.left())
    return place.ids([row for _, row in ages[: max(len(ages) - place.rule.window, 0)]])


def _beyond_quota(place: _Place) -> list[str]:
    """The least valuable beyond the quota: those that would be recalled last by somebody to whom all were equally near."""
    quota = place.rule.max_count
    assert quota is not None
    if _count(place) <= quota:
        return []
    kind, room = place.partition.kind, place.room
    left = list(place.left())
    order = ranked(
        [Contender(found.memory, 1.0, 1) for found in left],
        left,
        kinds={place.partition.row: kind},
        profile=profile_for(room, [kind], room.store.profile),
        now=room.now(),
        top_k=max(len(left), 1),
    )
    return place.ids([item.memory for item in order[quota:]])


def _count(place: _Place) -> int:
    counts = (each.count for each in place.room.project.counts() if each.partition.row == place.partition.row)
    return next(counts, 0) - len(place.gone)


_RULES: Mapping[str, Callable[[_Place], list[str]]] = {
    "max_age_days": _too_old,
    "min_confidence": _too_unsure,
    "min_usefulness": _useless,
    "window": _beyond_window,
    "max_count": _beyond_quota,
}
