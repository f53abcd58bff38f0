"""Builders of changes for a small vector index."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from alma.protocols import VectorChanges

MakeChanges = Callable[..., VectorChanges]


@pytest.fixture(scope="session")
def make_changes() -> MakeChanges:
    """Makes changes from the vectors; what is not given counts up from the first passage, in partition 0."""

    def make(
        upto: int, vectors: Any = (), *, first: int = 0, dimension: int = 8, removed: Any = (), **given: Any
    ) -> VectorChanges:
        vectors = np.asarray(vectors, dtype=np.float16).reshape(-1, dimension)
        passages = np.asarray(given.pop("passages", np.arange(first, first + len(vectors))), dtype=np.int64)
        memories = np.asarray(given.pop("memories", passages), dtype=np.int64)
        partitions = np.broadcast_to(np.asarray(given.pop("partitions", 0), dtype=np.int64), passages.shape)
        ties = np.asarray(given.pop("ties", memories), dtype=np.int64)
        is_own = np.broadcast_to(np.asarray(given.pop("is_own", True), dtype=np.bool_), passages.shape)
        assert not given, given
        return VectorChanges(
            upto=upto,
            passages=passages,
            memories=memories,
            partitions=partitions,
            is_own=is_own,
            ties=ties,
            vectors=vectors,
            removed=np.asarray(removed, dtype=np.int64),
        )

    return make


@pytest.fixture(scope="session")
def unit_vectors() -> Callable[..., Any]:
    """Random directions: `unit_vectors(count, dimension, seed=0)` gives normalised float32 rows."""

    def make(count: int, dimension: int = 8, *, seed: int = 0) -> Any:
        vectors = np.random.default_rng(seed).standard_normal((count, dimension), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    return make
