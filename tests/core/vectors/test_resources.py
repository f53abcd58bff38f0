"""What the index does with memory and with the threads of its libraries."""

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from alma.vectors import ProjectIndex

Make = Callable[..., Any]


def test_compaction_gives_the_memory_of_removed_passages_back(make_changes: Make, unit_vectors: Make) -> None:
    changes = make_changes(1, unit_vectors(10_000, 64), dimension=64)
    tracemalloc.start()
    try:
        index = ProjectIndex(64)
        index.apply(changes)
        index.apply(make_changes(2, removed=np.arange(2_400), dimension=64))
        before, _ = tracemalloc.get_traced_memory()
        index.compact()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert before - after > 2_000 * 64 * 4
    assert after < 12_000 * 64 * 4


@pytest.mark.parametrize("kept", [0, 9_000])
def test_a_flat_index_answers_the_same_after_compaction(kept: int, make_changes: Make, unit_vectors: Make) -> None:
    index, query = ProjectIndex(8, wide_up_to=4), unit_vectors(1, seed=3)[0]
    index.apply(make_changes(1, unit_vectors(30_000)))
    index.apply(make_changes(2, removed=np.arange(kept, 30_000)))
    before = index.search(query, partitions=[0], limit=100)
    index.compact()
    after = index.search(query, partitions=[0], limit=100)
    assert (after.passages.tolist(), after.scores.tolist()) == (before.passages.tolist(), before.scores.tolist())
    assert len(after.passages) == min(kept, 100)


def test_without_faiss_a_large_kind_is_searched_exactly_and_the_log_says_what_to_install(
    make_changes: Make, unit_vectors: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    index, vectors = ProjectIndex(32, codes_above=10, wide_up_to=10), unit_vectors(50, 32)
    index.apply(make_changes(1, vectors, dimension=32))
    for _ in range(3):
        assert index.search(vectors[7], partitions=[0], limit=1).passages.tolist() == [7]
    assert caplog.text.count("install faiss-cpu") == 1
