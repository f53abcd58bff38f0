"""Lists the content of a project."""

from alma.memory import arguments as args
from alma.memory.kinds import checked_kind
from alma.memory.recall.current_rules import as_they_stand
from alma.memory.room import Room
from alma.types.identity import to_micros
from alma.types.memories import AnyMemory
from alma.types.partition import Partition

LARGEST_LIST = 100_000


def list_memories(
    room: Room,
    *,
    kind: object = None,
    agent: object = None,
    user_id: object = None,
    since: object = None,
    limit: object = 100,
    newest_first: bool = True,
) -> list[AnyMemory]:
    """Returns memories by the time they were made: all, or those of a kind, of an agent, of a user. Learned rules say what holds now."""
    wanted_kind = None if kind is None else checked_kind(room, kind)
    owner = None if agent is None else args.checked_name(agent, "agent")
    user = args.optional_name(user_id, "user_id")
    moment = args.checked_time(since, "since")
    most = args.checked_count(limit, "limit", largest=LARGEST_LIST)

    def is_wanted(partition: Partition) -> bool:
        if wanted_kind not in (None, partition.kind):
            return False
        if owner is None and user is None:
            return True
        if owner is None or partition.agent is None:
            return user is not None and partition.user_id == user
        return partition.agent == owner and (user is None or partition.user_id in (None, user))

    rows = room.project.listed(
        [row for row, partition in room.project.partitions().items() if is_wanted(partition)],
        since=None if moment is None else to_micros(moment),
        limit=most,
        newest_first=newest_first,
    )
    found = as_they_stand(room, room.project.memories(rows))
    return [found[row] for row in rows if row in found]
