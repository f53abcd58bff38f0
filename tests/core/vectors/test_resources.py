"""What the index does with memory and with the threads of its libraries."""

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from alma.errors import MissingDependencyError
from alma.vectors import ProjectIndex
from alma.vectors.flat_faiss import FlatFaiss

Make = Callable[..., Any]


def test_compaction_gives_the_memory_of_removed_passages_back(make_changes: Make, unit_vectors: Make) -> None:
    changes = make_changes(1, unit_vectors(10_000, 64), dimension=64)
    tracemalloc.start()
    try:
        index = ProjectIndex(64)
        index.apply(changes)
        index.apply(make_changes(2, removed=np.arange(9_000), dimension=64))
        before, _ = tracemalloc.get_traced_memory()
        index.compact()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert before - after > 8_000 * 64 * 4
    assert after < 2_000 * 64 * 4


@pytest.mark.parametrize("kept", [0, 9_000])
def test_a_flat_index_answers_the_same_after_compaction(kept: int, make_changes: Make, unit_vectors: Make) -> None:
    index, query = ProjectIndex(8, faiss_above=4), unit_vectors(1, seed=3)[0]
    index.apply(make_changes(1, unit_vectors(30_000)))
    index.apply(make_changes(2, removed=np.arange(kept, 30_000)))
    before = index.search(query, partitions=[0], limit=100)
    index.compact()
    after = index.search(query, partitions=[0], limit=100)
    assert (after.passages.tolist(), after.scores.tolist()) == (before.passages.tolist(), before.scores.tolist())
    assert len(after.passages) == min(kept, 100)


def test_faiss_searches_in_one_thread_and_its_setting_is_put_back() -> None:
    method = FlatFaiss()
    faiss = method.faiss
    before = faiss.omp_get_max_threads()

    class Listening:
        def search(self, query: Any, count: int) -> Any:
            self.threads = faiss.omp_get_max_threads()
            return np.zeros((1, count), dtype=np.float32), np.zeros((1, count), dtype=np.int64)

    listening = Listening()
    faiss.omp_set_num_threads(3)
    try:
        method.search(listening, np.zeros(4, dtype=np.float32), 1)
        assert (listening.threads, faiss.omp_get_max_threads()) == (1, 3)
    finally:
        faiss.omp_set_num_threads(before)


def test_without_faiss_a_large_project_says_what_to_install(
    make_changes: Make, unit_vectors: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    index = ProjectIndex(8, faiss_above=10)
    index.apply(make_changes(1, unit_vectors(10)))
    with pytest.raises(MissingDependencyError, match="install faiss-cpu"):
        index.apply(make_changes(2, unit_vectors(1), first=10))
    assert (index.upto, len(index)) == (0, 0)
