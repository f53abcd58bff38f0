"""Statistics of a project."""

from collections import Counter

from alma.memory import arguments as args
from alma.memory.room import Room
from alma.types.partition import Partition
from alma.types.reports import Stats


def get_stats(room: Room, *, agent: object = None) -> Stats:
    """Returns the content of the project, or of one agent in it, in numbers."""
    owner = None if agent is None else args.checked_name(agent, "agent")
    counts = [count for count in room.project.counts() if owner is None or count.partition.agent == owner]
    by_kind: Counter[str] = Counter()
    by_agent: dict[str, dict[str, int]] = {}
    for count in counts:
        by_kind[count.partition.kind] += count.count
        of_owner = by_agent.setdefault(_owner(count.partition), {})
        of_owner[count.partition.kind] = of_owner.get(count.partition.kind, 0) + count.count
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


def _owner(partition: Partition) -> str:
    return f"user:{partition.owner}" if partition.agent is None else partition.agent
