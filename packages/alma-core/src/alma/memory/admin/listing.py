"""Lists the content of a project."""

from datetime import datetime

from alma.memory import arguments as args
from alma.memory.kinds import checked_kind
from alma.memory.room import Room
from alma.memory.rules import as_memory, owners_with_outcomes, rules_of
from alma.types.identity import to_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, AnyMemory, Heuristic
from alma.types.partition import Partition

LARGEST_LIST = 100_000

RULES = (MemoryType.HEURISTIC.value, MemoryType.ANTI_PATTERN.value)


def list_memories(
    room: Room,
    kind: str | None = None,
    agent: str | None = None,
    user_id: str | None = None,
    *,
    since: datetime | None = None,
    limit: int = 100,
    newest_first: bool = True,
) -> list[AnyMemory]:
    """Returns memories by the time they were made: all of the project, or those of one kind, of one agent, of one user, made at or
    after `since`.

    This is for browsing the store, whatever the agents' scopes; `retrieve` finds what matters for a task. Forgotten memories are not
    listed.
    """
    wanted_kind = None if kind is None else checked_kind(room, kind)
    owner = None if agent is None else args.checked_name(agent, "agent")
    user = args.optional_name(user_id, "user_id")
    moment = args.checked_time(since, "since")
    most = args.checked_count(limit, "limit", largest=LARGEST_LIST)
    partitions = room.project.partitions().items()
    rows = room.project.listed(
        [row for row, one in partitions if wanted_kind in (None, one.kind) and _is_of(one, owner, user)],
        since=None if moment is None else to_micros(moment),
        limit=most,
        newest_first=newest_first,
    )
    found = room.project.memories(rows)
    stored = [found[row] for row in rows if row in found]
    rules = [] if wanted_kind not in (None, *RULES) else _rules(room, wanted_kind, owner, user, moment)
    if not rules:
        return stored
    both = [*stored, *rules]
    both.sort(key=lambda memory: memory.created_at, reverse=newest_first)
    return both[:most]


def _is_of(partition: Partition, owner: str | None, user: str | None) -> bool:
    if owner is None and user is None:
        return True
    if owner is None or partition.agent is None:
        return user is not None and partition.user_id == user
    return partition.agent == owner and (user is None or partition.user_id in (None, user))


def _rules(
    room: Room, kind: str | None, owner: str | None, user: str | None, since: datetime | None
) -> list[Heuristic | AntiPattern]:
    """The learned rules that are listed. A rule is as old as the first outcome behind it."""
    found: dict[str, Heuristic | AntiPattern] = {}
    owners = [(owner, user)] if owner and user else owners_with_outcomes(room)
    for agent, of_user in owners:
        if owner not in (None, agent) or user not in (None, of_user):
            continue
        for rule in rules_of(room, agent, of_user):
            memory = as_memory(room, rule)
            if kind in (None, memory.kind) and (since is None or memory.created_at >= since):
                found.setdefault(memory.id, memory)
    return list(found.values())
