"""What one reader may read, computed once: a project of two thousand agents has thousands of partitions, too many to check for each
question."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.types.kinds import KINDS
from alma.types.scope import Partition

ALWAYS_HOLD = frozenset(kind.value for kind, spec in KINDS.items() if spec.forgotten_by == "nothing")
"""Kinds that apply to every task, such as preferences: they are ranked, but never excluded as irrelevant."""

CLOSED = -1

BYTES_A_PARTITION = 200
MOST_BYTES = 16 << 20
"""Limit on the memory of all cached scopes: enough for a thousand readers of few partitions each, beside two thousand agents."""

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


class ReadableScopes:
    """Bounded cache of the scopes of readers. Evicts the oldest entries. Thread-safe: it is replaced as a whole."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: Mapping[ScopeKey, ReadableScope] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: ScopeKey) -> ReadableScope | None:
        """Returns the scope of a reader, if it is cached."""
        return self._kept.get(key)

    def keep(self, key: ScopeKey, scope: ReadableScope) -> None:
        """Adds a scope and evicts the oldest where there is no room."""
        kept = {known: other for known, other in self._kept.items() if known != key}
        size = scope.size + sum(other.size for other in kept.values())
        while kept and size > self._most_bytes:
            size -= kept.pop(next(iter(kept))).size
        self._kept = {**kept, key: scope}
