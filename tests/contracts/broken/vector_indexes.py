"""Vector indexes that break one promise each, under the contract that has to notice."""

from collections.abc import Sequence
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import pytest

from alma.protocols import PassageScores, VectorChanges
from alma.testing import VectorIndexContract
from alma.vectors import ProjectIndex

NONE = np.empty(0, dtype=np.int64)


def taken(found: PassageScores, order: Any) -> PassageScores:
    names = ("passages", "memories", "partitions", "ties", "is_own", "scores")
    return PassageScores(**{name: getattr(found, name)[order] for name in names})


class _Broken(ProjectIndex):
    pass


class IgnoresTombstones(_Broken):
    def apply(self, changes: VectorChanges, /) -> None:
        super().apply(replace(changes, removed=NONE))


class BreaksTiesByRow(_Broken):
    def search(self, query: Any, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        found = super().search(query, partitions=partitions, limit=10**6)
        order = [
            at
            for number in dict.fromkeys(partitions)
            for at in sorted(np.flatnonzero(found.partitions == number), key=lambda at: (-found.scores[at], found.passages[at]))[
                :limit
            ]
        ]
        return taken(found, np.array(order, dtype=np.int64))


class StarvesAPartition(_Broken):
    def search(self, query: Any, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        found = super().search(query, partitions=partitions, limit=limit)
        return taken(found, np.argsort(-found.scores, kind="stable")[:limit])


class SearchesEverywhere(_Broken):
    def search(self, query: Any, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        return super().search(query, partitions=range(-99, 99), limit=limit)


class ForgetsUpto(_Broken):
    @property
    def upto(self) -> int:
        return super().upto if len(self) else 0


class TakesAnythingAgain(_Broken):
    def apply(self, changes: VectorChanges, /) -> None:
        self._upto = min(self._upto, changes.upto - 1)
        super().apply(changes)


class WorstFirst(_Broken):
    def search(self, query: Any, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        found = super().search(query, partitions=partitions, limit=limit)
        return taken(found, np.arange(len(found.passages))[::-1])


class Approximate(_Broken):
    """Overlooks every fifth passage."""

    def search(self, query: Any, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        found = super().search(query, partitions=partitions, limit=10**6)
        return taken(found, np.flatnonzero(found.passages % 5 != 4)[:limit])


class TakesHalf(_Broken):
    """Takes what came before the fault."""

    def apply(self, changes: VectorChanges, /) -> None:
        try:
            super().apply(changes)
        except Exception:
            super().apply(
                replace(
                    changes,
                    **{name: getattr(changes, name)[:0] for name in ("passages", "partitions", "ties", "is_own")},
                    memories=NONE,
                    vectors=changes.vectors[:0],
                )
            )
            raise


class ScoresByDistance(_Broken):
    def score(self, query: Any, /, *, memories: Any) -> PassageScores:
        found = super().score(query, memories=memories)
        return replace(found, scores=2 - 2 * found.scores)


class SamplesTheFirst(_Broken):
    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Any, int]:
        memories, count = super().sample(partitions=partitions, all_up_to=10**6, otherwise=otherwise)
        return (memories if count <= all_up_to else np.sort(memories)[:otherwise]), count


class CountsPassages(_Broken):
    def sample(self, *, partitions: Sequence[int], all_up_to: int, otherwise: int) -> tuple[Any, int]:
        memories, _ = super().sample(partitions=partitions, all_up_to=all_up_to, otherwise=otherwise)
        return memories, len(super().search(np.ones(self.dimension), partitions=partitions, limit=10**6).passages)


class WritesInTwoGoes(_Broken):
    """Lets a search in between the first passage and the rest."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.searched = Event()

    def search(self, query: Any, /, *, partitions: Sequence[int], limit: int) -> PassageScores:
        found = super().search(query, partitions=partitions, limit=limit)
        self.searched.set()
        return found

    def apply(self, changes: VectorChanges, /) -> None:
        if changes.upto > self.upto and len(changes.passages) == 2:
            names = ("passages", "memories", "partitions", "ties", "is_own", "vectors")
            super().apply(replace(changes, **{name: getattr(changes, name)[:1] for name in names}))
            self.searched.clear()
            self.searched.wait(0.01)
            self._upto = changes.upto - 1
            super().apply(replace(changes, **{name: getattr(changes, name)[1:] for name in names}))
        else:
            super().apply(changes)


def _under_contract(broken: type[_Broken]) -> type:
    return type(f"Test{broken.__name__}", (VectorIndexContract,), {"new_index": pytest.fixture(lambda self: broken)})


for _broken in _Broken.__subclasses__():
    globals()[f"Test{_broken.__name__}"] = _under_contract(_broken)
