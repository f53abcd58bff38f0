"""Statistics of a project."""

from collections import Counter
from collections.abc import Iterator

from alma.memory import arguments as args
from alma.memory.room import Room
from alma.memory.rules import KIND_OF_SIDE, owners_with_outcomes, rules_of
from alma.types.partition import Partition
from alma.types.reports import Stats


def get_stats(room: Room, agent: str | None = None) -> Stats:
    """Returns the content of the project, or of one agent in it, in numbers."""
    owner = None if agent is None else args.checked_name(agent, "agent")
    counts = [count for count in room.project.counts() if owner is None or count.partition.agent == owner]
    by_kind: Counter[str] = Counter()
    by_agent: dict[str, dict[str, int]] = {}
    for count in counts:
        by_kind[count.partition.kind] += count.count
        of_owner = by_agent.setdefault(_owner(count.partition), {})
        of_owner[count.partition.kind] = of_owner.get(count.partition.kind, 0) + count.count
    for agent_name, kind, number in _rules(room, owner):
        by_kind[kind] += number
        of_owner = by_agent.setdefault(agent_name, {})
        of_owner[kind] = of_owner.get(kind, 0) + number
    return Stats(
        project_id=room.name,
        total=by_kind.total(),
        by_kind=dict(sorted(by_kind.items())),
        by_agent=dict(sorted(by_agent.items())),
        journal_records=room.project.head(),
        database_bytes=room.store.storage.size(),
        embedder=room.store.texts.fingerprint.model,
        oldest=min((count.oldest for count in counts), default=None),
        newest=max((count.newest for count in counts), default=None),
    )


def _rules(room: Room, owner: str | None) -> Iterator[tuple[str, str, int]]:
    """Yields the number of learned rules of each agent and kind."""
    seen: set[str] = set()
    for agent, user in owners_with_outcomes(room):
        if owner in (None, agent):
            rules = [rule for rule in rules_of(room, agent, user) if rule.id not in seen]
            seen.update(rule.id for rule in rules)
            kinds = Counter(KIND_OF_SIDE[rule.record.side].value for rule in rules)
            yield from ((agent, kind, number) for kind, number in kinds.items())


def _owner(partition: Partition) -> str:
    return f"user:{partition.owner}" if partition.agent is None else partition.agent
