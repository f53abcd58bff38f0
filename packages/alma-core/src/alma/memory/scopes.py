"""Scopes: what one agent may learn, and what one reader may read. Fails closed.

A readable scope is computed once a reader: a project of two thousand agents has thousands of partitions, too many to check for each question.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from alma.errors import ScopeViolationError
from alma.protocols import Project
from alma.text import composed, normalised
from alma.types.identity import Access, MemoryScope, Partition, UserWall, access
from alma.types.kinds import KINDS

_LOG = logging.getLogger("alma")

NEAR_CATEGORY = 0.3
NEAR_FORBIDDEN = 0.2
"""Below this cosine a task does not belong to the nearest of an agent's categories. The bound is lower for a forbidden one: scope fails
closed."""

ALWAYS_HOLD = frozenset(kind.value for kind, spec in KINDS.items() if spec.forgotten_by == "nothing")
"""Kinds that apply to every task, such as preferences: they are ranked, but never excluded as irrelevant."""

CLOSED = -1

BYTES_A_PARTITION = 200
MOST_BYTES = 16 << 20
"""Limit on the memory of all cached scopes: enough for a thousand readers of few partitions each, beside two thousand agents."""

_FORMER_NAMES = (
    "project %r has memories of %d agents or users whose names are not in composed form, so no call finds them: `compose_names(dry_run=True)` "
    "shows them, `compose_names()` gives them that form"
)

ScopeKey = tuple[str, str | None, bool]
"""Agent, user, and whether shared memories are wanted."""

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ReadableScope:
    """The partitions that a reader may read, of those that are `known`. Iterates over them.

    `rows` and `kinds` have the row of each and its kind by row, `owners` the agents among the owners, `counts_of` the agents of whose other
    users the reader sees counts. `kind_names` are all existing kinds.
    """

    known: Mapping[int, Partition]
    by_row: Mapping[int, Partition]
    rows: tuple[int, ...]
    kinds: Mapping[int, str]
    owners: frozenset[str]
    counts_of: frozenset[str]
    kind_names: frozenset[str]
    _kind_numbers: NDArray[np.int16]
    _always_holds: Flags

    @classmethod
    def of(
        cls, partitions: Iterable[Partition], known: Mapping[int, Partition], counts_of: Iterable[str] = ()
    ) -> "ReadableScope":
        """Builds the scope of these partitions. `counts_of` are agents of whose other users the reader sees counts."""
        by_row = {partition.row: partition for partition in partitions}
        kinds = {row: partition.kind for row, partition in by_row.items()}
        numbers = {kind: number for number, kind in enumerate(sorted(set(kinds.values())))}
        kind_numbers = np.full(max(by_row, default=0) + 2, CLOSED, dtype=np.int16)  # the last place stands for all others
        kind_numbers[list(kinds)] = [numbers[kind] for kind in kinds.values()]
        return cls(
            known=known,
            by_row=by_row,
            rows=tuple(by_row),
            kinds=kinds,
            owners=frozenset(partition.agent for partition in by_row.values() if partition.agent is not None),
            counts_of=frozenset(counts_of),
            kind_names=frozenset(numbers),
            _kind_numbers=kind_numbers,
            _always_holds=np.array([*(kind in ALWAYS_HOLD for kind in numbers), False], dtype=np.bool_),
        )

    def __iter__(self) -> Iterator[Partition]:
        return iter(self.by_row.values())

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_empty(self) -> bool:
        """True where the reader sees neither memories nor counts."""
        return not self.rows and not any(map(self.counts_without_words, self.known))

    def counts_without_words(self, row: int) -> bool:
        """Checks that a partition is one of another user, whose outcomes count for the reader but may not be quoted."""
        one = self.known.get(row)
        return one is not None and row not in self.by_row and one.user_id is not None and one.agent in self.counts_of

    def of_kinds(self, kinds: Collection[str]) -> list[int]:
        """Returns the partitions of some kinds."""
        return [row for row, kind in self.kinds.items() if kind in kinds]

    def kind_numbers(self, partitions: Integers) -> Integers:
        """Returns a number for the kind of each of the partitions, -1 for those that the reader may not read."""
        return self._kind_numbers.take(partitions, mode="clip").astype(np.int64)

    def is_open(self, partitions: Integers) -> Flags:
        """Marks the partitions that the reader may read."""
        are_open: Flags = self._kind_numbers.take(partitions, mode="clip") != CLOSED
        return are_open

    def always_hold(self, partitions: Integers) -> Flags:
        """Marks the partitions whose memories apply to every task."""
        return self._always_holds[self._kind_numbers.take(partitions, mode="clip")]

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return BYTES_A_PARTITION * len(self) + self._kind_numbers.nbytes


class Scopes:
    """The rules of one project, with a bounded cache of the scopes of readers that evicts the oldest. Thread-safe: the cache is replaced as a
    whole."""

    def __init__(self, project: Project, agents: Mapping[str, MemoryScope], users: UserWall) -> None:
        self._project, self._agents, self._users = project, agents, users
        self._kept: Mapping[ScopeKey, ReadableScope] = {}
        self._is_checked = False

    def readable(
        self,
        *,
        agent: str,
        user_id: str | None,
        include_shared: bool = True,
        partitions: Mapping[int, Partition] | None = None,
    ) -> ReadableScope:
        """Returns the partitions that an agent may read: its own, those shared with it, and those of the user it works for.

        They are chosen from `partitions`, or from all. The choice is cached for recent readers: partitions are added, and never change.
        """
        known = self._project.partitions() if partitions is None else partitions
        key = (agent, user_id, include_shared)
        before = self._kept.get(key)
        if not self._is_checked:
            self._is_checked = True
            if former_names := {one.owner for one in known.values() if composed(one.owner) != one.owner}:
                _LOG.warning(_FORMER_NAMES, self._project.name, len(former_names))
        if before is not None and before.known is known:
            return before
        if before is not None and any(row not in known for row in before.by_row):
            before = None  # a user was forgotten
        former = {} if before is None else before.known
        added = [
            partition
            for row, partition in known.items()
            if row not in former
            and self.access_to(partition, agent=agent, user_id=user_id, include_shared=include_shared).is_open
        ]
        counted = self._counts_of(known, agent, user_id, include_shared=include_shared)
        scope = ReadableScope.of([*(before or ()), *added], known, counted)
        self._keep(key, scope)
        return scope

    def _keep(self, key: ScopeKey, scope: ReadableScope) -> None:
        """Adds a scope and evicts the oldest where there is no room."""
        kept = {known: other for known, other in self._kept.items() if known != key}
        size = scope.size + sum(other.size for other in kept.values())
        while kept and size > MOST_BYTES:
            size -= kept.pop(next(iter(kept))).size
        self._kept = {**kept, key: scope}

    def _counts_of(
        self, known: Mapping[int, Partition], agent: str, user_id: str | None, *, include_shared: bool
    ) -> frozenset[str]:
        """Returns the agents of whose other users a reader sees counts: those that it may read, unless users are isolated."""
        if self._users is not UserWall.SEPARATE:
            return frozenset()
        of_others = {one.agent for one in known.values() if one.agent is not None and one.user_id not in (None, user_id)}
        ways = {owner: access(agent, owner, self._agents) for owner in of_others}
        return frozenset(owner for owner, way in ways.items() if way is Access.OWN or (way.is_open and include_shared))

    def access_to(self, partition: Partition, *, agent: str, user_id: str | None, include_shared: bool = True) -> Access:
        """Returns the rule between an agent, working for a user, and a partition."""
        if partition.agent is None:
            if user_id is None:
                return Access.NO_USER
            return Access.OWN_PREFERENCE if partition.owner == user_id else Access.OTHER_USER
        if partition.user_id not in (None, user_id) and self._users is not UserWall.SHARED:
            return Access.NO_USER if user_id is None else Access.OTHER_USER
        found = access(agent, partition.agent, self._agents)
        return found if include_shared or found is Access.OWN or not found.is_open else Access.SHARED_EXCLUDED

    def check_may_learn(self, agent: str, category: str, *, is_inferred: bool = False) -> None:
        """Raises `ScopeViolationError` if an agent's rules forbid it to learn in a category, which the caller gave or which was inferred."""
        scope = self._agents.get(agent)
        if scope is None or scope.is_allowed(category):
            return
        if normalised(category) in map(normalised, scope.cannot_learn):
            why = ", the nearest of its categories to this task (a task_type of its own says another)" if is_inferred else ""
            raise ScopeViolationError(f"{agent!r} may not learn {category!r} (cannot_learn){why}; nothing was stored")
        allowed = ", ".join(scope.can_learn)
        raise ScopeViolationError(f"{agent!r} may only learn {allowed} (can_learn), not {category!r}; nothing was stored")

    def category_texts(self, agent: str) -> list[str]:
        """Returns the agent's own listed categories as they are embedded; none if it has no list."""
        scope = self._agents.get(agent)
        return [] if scope is None else [normalised(category) for category in (*scope.can_learn, *scope.cannot_learn)]

    def nearest_category(self, agent: str, text: str, vectors: Mapping[str, bytes]) -> str | None:
        """Returns the nearest of the agent's own listed categories to a text, `None` if none is near. `vectors` must have all of their
        vectors."""
        scope = self._agents[agent]
        categories = [*scope.can_learn, *scope.cannot_learn]
        keys = (text, *self.category_texts(agent))
        task, *others = (np.frombuffer(vectors[key], dtype="<f2").astype(np.float32) for key in keys)
        cosines = np.vecdot(np.stack(others), task)
        best = int(cosines.argmax())
        needed = NEAR_CATEGORY if best < len(scope.can_learn) else NEAR_FORBIDDEN
        return categories[best] if cosines[best] >= needed else None

    def hint(
        self, agent: str, task: str, user_id: str | None, *, partitions: Mapping[int, Partition] | None = None
    ) -> str | None:
        """Returns a hint where nothing is stored for an agent: that a known agent has a similar name, or that the task is one. Logs it,
        too. Agents that recorded for other users alone are not named."""
        known = (self._project.partitions() if partitions is None else partitions).values()
        if any(partition.agent == agent for partition in known):
            return None
        is_named = self._users is UserWall.SHARED
        names = {each.agent for each in known if each.agent is not None and (is_named or each.user_id in (None, user_id))}
        by_case = {name.casefold(): name for name in names}
        if task.casefold() in by_case:
            other = by_case[task.casefold()]
            hint = f"no memories of {agent!r}, but of {other!r}, the task; were agent and task swapped, here or in learn()?"
        elif near := get_close_matches(agent.casefold(), by_case, n=1, cutoff=0.75):
            hint = f"no memories of {agent!r}; did you mean {by_case[near[0]]!r}?"
        else:
            return None
        _LOG.warning("%s", hint, extra={"is_hint": True})
        return hint
