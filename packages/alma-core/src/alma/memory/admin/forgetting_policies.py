"""Selects memories by the rules of forgetting. Writes nothing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from alma import scoring
from alma.memory.room import Room
from alma.memory.rules import KIND_OF_SIDE, Rule, each_rule
from alma.protocols import Candidate
from alma.retrieval.fusion import Contender, rank_contenders
from alma.scoring import DAY
from alma.types.identity import Partition, agent_in
from alma.types.strategies import NO_USE

ENOUGH_KNOWN = 5.0
"""Least weight of use and feedback for judging a memory's usefulness: ignored ten times, say, or two thumbs."""

CONDITIONS = ("max_age_days", "min_confidence", "min_usefulness", "window", "max_count")
"""The conditions in the order in which they select: those of a single memory first, then the numbers that are kept."""

Limits = Mapping[str, float]
"""Conditions that hold for a kind, by name in the order of `CONDITIONS`, each with its limit."""

_ALL = 2**62
_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A memory selected for archiving, with the first condition that selects it. `learned` is the learned rule that it is, if any."""

    memory_id: str
    owner: str
    kind: str
    rule: str
    limit: float
    learned: Rule | None = None


def owner_label(partition: Partition) -> str:
    """Returns the owner as reports name it: an agent, or `user:` and the name of a user."""
    return f"user:{partition.owner}" if partition.agent is None else partition.agent


def choose(room: Room, limits_of: Callable[[str], Limits], *, owner: str | None = None) -> list[Choice]:
    """Returns the memories that the limits of their kinds select now, partition by partition, then the learned rules. With an `owner`, only
    those of this agent."""
    counts = {each.partition.row: each.count for each in room.project.counts()}
    found: list[Choice] = []
    for row, partition in room.project.partitions().items():
        gone: dict[str, None] = {}
        for name, limit in limits_of(partition.kind).items() if owner in (None, partition.agent) else ():
            if name in ("window", "max_count") and counts.get(row, 0) - len(gone) <= limit:
                continue
            chosen = [one for one in dict.fromkeys(_select(room, partition, name, limit, gone)) if one not in gone]
            found += [Choice(one, owner_label(partition), partition.kind, name, limit) for one in chosen]
            gone |= dict.fromkeys(chosen)
    return [*found, *_choose_rules(room, limits_of, owner)]


def _select(room: Room, partition: Partition, name: str, limit: float, gone: Collection[str]) -> Sequence[str]:
    """Returns the memories of a partition that one condition selects, of those that are not `gone`."""
    if name == "max_age_days":
        return room.project.stale([partition.row], seen_before=room.now() - round(limit * DAY), below=None)
    if name == "min_confidence":
        return room.project.stale([partition.row], seen_before=None, below=limit)
    left = list(_left(room, partition, gone))
    if name == "min_usefulness":
        return _ids(room, [found.memory for found in left if _is_useless(found.usage, limit)])
    if name == "window":  # the oldest go, by when they happened
        ages = sorted((found.seen_at, found.memory) for found in left)
        return _ids(room, [row for _, row in ages[: max(len(ages) - int(limit), 0)]])
    order = rank_contenders(  # the least valuable go: those that would rank last if all were equally near
        [Contender(found.memory, 1.0, 1) for found in left],
        left,
        kinds={partition.row: partition.kind},
        profile=room.profile_for([partition.kind], room.store.profile),
        now=room.now(),
        top_k=len(left),
    )
    return _ids(room, [item.memory for item in order[int(limit) :]])


def _choose_rules(room: Room, limits_of: Callable[[str], Limits], owner: str | None) -> Iterator[Choice]:
    """Yields learned rules, by age, confidence and usefulness. They take no place, so no quota counts them."""
    limits = {kind: limits_of(kind) for kind in KIND_OF_SIDE.values()}
    for rule in each_rule(room, agent=owner) if any(limits.values()) else ():
        of_kind = limits[rule.kind]
        name = next((name for name, limit in of_kind.items() if _misses(room, rule, name, limit)), None)
        if name is not None:
            yield Choice(rule.id, agent_in(rule.record.owner), rule.kind.value, name, of_kind[name], rule)


def _misses(room: Room, rule: Rule, name: str, limit: float) -> bool:
    if name == "max_age_days":
        return rule.row.last_at < room.now() - round(limit * DAY)
    if name == "min_confidence":
        return rule.confidence < limit
    return name == "min_usefulness" and _is_useless((rule.record.use[name] for name in NO_USE), limit)


def _is_useless(usage: Iterable[float], least: float) -> bool:
    counts = tuple(usage)
    return scoring.weight_of_use(*counts) >= ENOUGH_KNOWN and scoring.usefulness(*counts) < least


def _left(room: Room, partition: Partition, gone: Collection[str]) -> Iterator[Candidate]:
    going = {place.memory for place in room.project.find(gone).values()}
    rows = room.project.listed([partition.row], since=None, limit=_ALL, newest_first=False)
    for start in range(0, len(rows), _CHUNK):
        found = room.project.candidates(rows[start : start + _CHUNK])
        yield from (each for each in found if each.memory not in going)


def _ids(room: Room, rows: Sequence[int]) -> list[str]:
    """Returns the ids of memories by row, in chunks: a long list would be one large read."""
    found: list[str] = []
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        stored = room.project.memories(chunk)
        found += [stored[row].id for row in chunk if row in stored]
    return found
