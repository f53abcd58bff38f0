"""Who may learn what and read whom, applied. Fails closed."""

import logging
from collections.abc import Sequence
from difflib import get_close_matches

from alma.errors import ScopeViolationError
from alma.memory.room import Room
from alma.text import normalised
from alma.types.partition import Partition
from alma.types.scope import MemoryScope, may_read

_LOG = logging.getLogger("alma")

NEAR_CATEGORY = 0.3
"""Below this cosine a task belongs to none of an agent's categories."""


def readable(room: Room, *, agent: str, user_id: str | None, include_shared: bool = True) -> list[Partition]:
    """The partitions that an agent may read: its own, those shared with it, and the preferences of the user it works for."""
    scopes = room.store.agents

    def is_open(partition: Partition) -> bool:
        if partition.is_user:
            return user_id is not None and partition.owner == user_id
        if partition.owner == agent:
            return True
        return include_shared and may_read(agent, partition.owner, scopes)

    return [partition for partition in room.project.partitions().values() if is_open(partition)]


def check_may_learn(room: Room, agent: str, category: str) -> None:
    """`ScopeViolationError` if an agent's rules keep it from learning in a category."""
    scope = room.store.agents.get(agent)
    if scope is None:
        return
    wanted = normalised(category)
    if wanted in map(normalised, scope.cannot_learn):
        raise ScopeViolationError(f"{agent!r} may not learn {category!r} (cannot_learn); nothing was stored")
    if scope.can_learn and wanted not in map(normalised, scope.can_learn):
        allowed = ", ".join(scope.can_learn)
        raise ScopeViolationError(f"{agent!r} may only learn {allowed} (can_learn), not {category!r}; nothing was stored")


def inferred_category(room: Room, agent: str, text: str) -> str | None:
    """The nearest of the agent's own listed categories to a text, `None` if the agent has no list or none is near."""
    scope = room.store.agents.get(agent)
    categories = _categories(scope) if scope else ()
    if not categories:
        return None
    by_words = {normalised(category): category for category in categories}
    vectors = room.store.texts.unit_rows([text, *by_words], room.project)
    cosines = vectors[1:] @ vectors[0]
    best = int(cosines.argmax())
    return list(by_words.values())[best] if cosines[best] >= NEAR_CATEGORY else None


def _categories(scope: MemoryScope) -> tuple[str, ...]:
    return (*scope.can_learn, *scope.cannot_learn)


def unknown_agent_hint(room: Room, agent: str) -> str | None:
    """A question that helps whoever misspelt an agent's name, if nothing is kept for this one and another is spelt nearly so. Logged too."""
    known = {partition.owner for partition in room.project.partitions().values() if not partition.is_user}
    if agent in known:
        return None
    by_case = {name.casefold(): name for name in known}
    near: Sequence[str] = get_close_matches(agent.casefold(), by_case, n=1, cutoff=0.75)
    if not near:
        return None
    hint = f"no memories of {agent!r}; did you mean {by_case[near[0]]!r}?"
    _LOG.warning("%s", hint)
    return hint
