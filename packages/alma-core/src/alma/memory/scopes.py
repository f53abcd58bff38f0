"""Applies the rules for learning and reading. Fails closed."""

import logging
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from alma.errors import ScopeViolationError
from alma.memory.readable import ReadableScope
from alma.memory.room import Room
from alma.text import normalised
from alma.types.scope import Access, Partition, UserWall, access

_LOG = logging.getLogger("alma")

NEAR_CATEGORY = 0.3
NEAR_FORBIDDEN = 0.2
"""Below this cosine a task does not belong to the nearest of an agent's categories. The bound is lower for a forbidden one: scope fails
closed."""


def readable(
    room: Room,
    *,
    agent: str,
    user_id: str | None,
    include_shared: bool = True,
    partitions: Mapping[int, Partition] | None = None,
) -> ReadableScope:
    """Returns the partitions that an agent may read: its own, those shared with it, and what is of the user it works for.

    They are chosen from `partitions`, or from all. The choice is cached for recent readers: partitions are added, and never change.
    """
    known = room.project.partitions() if partitions is None else partitions
    key = (agent, user_id, include_shared)
    before = room.scopes.get(key)
    if before is not None and before.known is known:
        return before
    if before is not None and any(row not in known for row in before.by_row):
        before = None  # a user was forgotten
    former = {} if before is None else before.known
    added = [
        partition
        for row, partition in known.items()
        if row not in former and access_to(room, partition, agent=agent, user_id=user_id, include_shared=include_shared).is_open
    ]
    scope = ReadableScope.of(
        [*(before or ()), *added], known, _counts_of(room, known, agent, user_id, include_shared=include_shared)
    )
    room.scopes.keep(key, scope)
    return scope


def _counts_of(
    room: Room, known: Mapping[int, Partition], agent: str, user_id: str | None, *, include_shared: bool
) -> frozenset[str]:
    """Returns the agents of whose other users a reader sees counts: those that it may read, unless users are isolated."""
    if room.store.users is not UserWall.SEPARATE:
        return frozenset()
    of_others = {one.agent for one in known.values() if one.agent is not None and one.user_id not in (None, user_id)}
    ways = {owner: access(agent, owner, room.store.agents) for owner in of_others}
    return frozenset(owner for owner, way in ways.items() if way is Access.OWN or (way.is_open and include_shared))


def access_to(room: Room, partition: Partition, *, agent: str, user_id: str | None, include_shared: bool = True) -> Access:
    """Returns the rule between an agent, working for a user, and a partition."""
    if partition.agent is None:
        if user_id is None:
            return Access.NO_USER
        return Access.OWN_PREFERENCE if partition.owner == user_id else Access.OTHER_USER
    if partition.user_id not in (None, user_id) and room.store.users is not UserWall.SHARED:
        return Access.NO_USER if user_id is None else Access.OTHER_USER
    found = access(agent, partition.agent, room.store.agents)
    return found if include_shared or found is Access.OWN or not found.is_open else Access.SHARED_EXCLUDED


def check_may_learn(room: Room, agent: str, category: str, *, is_inferred: bool = False) -> None:
    """Raises `ScopeViolationError` if an agent's rules forbid it to learn in a category, which the caller gave or which was inferred."""
    scope = room.store.agents.get(agent)
    if scope is None:
        return
    if scope.is_allowed(category):
        return
    if normalised(category) in map(normalised, scope.cannot_learn):
        why = ", the nearest of its categories to this task (a task_type of its own says another)" if is_inferred else ""
        raise ScopeViolationError(f"{agent!r} may not learn {category!r} (cannot_learn){why}; nothing was stored")
    allowed = ", ".join(scope.can_learn)
    raise ScopeViolationError(f"{agent!r} may only learn {allowed} (can_learn), not {category!r}; nothing was stored")


def category_texts(room: Room, agent: str) -> list[str]:
    """Returns the agent's own listed categories as they are embedded; none if it has no list."""
    scope = room.store.agents.get(agent)
    return [] if scope is None else [normalised(category) for category in (*scope.can_learn, *scope.cannot_learn)]


def nearest_category(room: Room, agent: str, text: str, vectors: Mapping[str, bytes]) -> str | None:
    """Returns the nearest of the agent's own listed categories to a text, `None` if none is near. `vectors` must have all of their
    vectors."""
    scope = room.store.agents[agent]
    categories = [*scope.can_learn, *scope.cannot_learn]
    task, *others = (np.frombuffer(vectors[key], dtype="<f2").astype(np.float32) for key in (text, *map(normalised, categories)))
    cosines = np.stack(others) @ task
    best = int(cosines.argmax())
    needed = NEAR_CATEGORY if best < len(scope.can_learn) else NEAR_FORBIDDEN
    return categories[best] if cosines[best] >= needed else None


def hint_of_agent(room: Room, agent: str, text: str, user_id: str | None) -> str | None:
    """Returns the hint of `unknown_agent_hint` for an answer that is empty."""
    return unknown_agent_hint(room, room.project.partitions(), agent, text, user_id)


def unknown_agent_hint(room: Room, partitions: Mapping[int, Partition], agent: str, task: str, user_id: str | None) -> str | None:
    """Returns a hint where nothing is stored for an agent: that a known agent has a similar name, or that the task is one. Logs it,
    too. Agents that recorded for other users alone are not named."""
    if any(partition.agent == agent for partition in partitions.values()):
        return None
    users = {partition.user_id for partition in partitions.values()} if room.store.users is UserWall.SHARED else {None, user_id}
    known = {each.agent for each in partitions.values() if each.agent is not None and each.user_id in users}
    by_case = {name.casefold(): name for name in known}
    near: Sequence[str] = get_close_matches(agent.casefold(), by_case, n=1, cutoff=0.75)
    if task.casefold() in by_case:
        hint = f"no memories of {agent!r}, but of {by_case[task.casefold()]!r}, the task; were agent and task swapped, here or in learn()?"
    elif near:
        hint = f"no memories of {agent!r}; did you mean {by_case[near[0]]!r}?"
    else:
        return None
    _LOG.warning("%s", hint, extra={"is_hint": True})
    return hint
