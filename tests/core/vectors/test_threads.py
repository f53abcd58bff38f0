"""Searches from several threads while changes arrive: no crash, no wait without end, and only rows that are true."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest

from alma.protocols import PassageScores
from alma.vectors import ProjectIndex
from alma.vectors.arrays import SharedLock

Make = Callable[..., Any]
DIMENSION = 32
ROUNDS = 120


def vectors_of(passages: Any) -> Any:
    """One-hot with a sign and a size told by the passage's number: its score gives the passage away."""
    passages = np.asarray(passages)
    vectors = np.zeros((len(passages), DIMENSION), dtype=np.float16)
    vectors[np.arange(len(passages)), passages % DIMENSION] = (passages % 1000 + 1) / 1000
    return vectors


def assert_true(found: PassageScores, query: Any) -> None:
    np.testing.assert_array_equal(found.memories, found.passages // 3)
    np.testing.assert_array_equal(found.partitions, found.memories % 4)
    np.testing.assert_array_equal(found.ties, -found.memories)
    np.testing.assert_array_equal(found.is_own, found.memories % 2 == 0)
    np.testing.assert_allclose(found.scores, vectors_of(found.passages).astype(np.float32) @ query, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("codes_above", [0, 1_500, 10**9], ids=["codes", "growing", "numpy"])
def test_readers_see_only_true_rows_while_a_writer_works(codes_above: int, make_changes: Make) -> None:
    index, done, start = ProjectIndex(DIMENSION, codes_above=codes_above), Event(), Barrier(4)

    def write() -> None:
        start.wait()
        for step in range(ROUNDS):
            passages = np.arange(30 * step, 30 * step + 30)
            memories = passages // 3
            removed = np.arange(30 * (step - 40), 30 * (step - 40) + 25)
            more = {"memories": memories, "ties": -memories, "partitions": memories % 4, "is_own": memories % 2 == 0}
            index.apply(
                make_changes(step + 1, vectors_of(passages), passages=passages, dimension=DIMENSION, removed=removed, **more)
            )
            if step % 30 == 29:
                index.compact()
        done.set()

    def read(seed: int) -> int:
        random, rounds = np.random.default_rng(seed), 0
        start.wait()
        while not done.is_set() or not rounds:
            query = random.standard_normal(DIMENSION).astype(np.float32)
            upto = index.upto
            assert_true(index.search(query, partitions=[0, 1, 2, 3], limit=20), query)
            assert_true(index.score(query, memories=np.arange(0, 1_200, 2)), query)
            memories, count = index.sample(partitions=[1, 2], all_up_to=50, otherwise=20)
            assert len(memories) == (count if count <= 50 else 20)
            assert index.upto >= upto
            rounds += 1
        return rounds

    with ThreadPoolExecutor(4) as pool:
        writing = pool.submit(write)
        reading = [pool.submit(read, seed) for seed in range(3)]
        writing.result(timeout=120)
        assert all(future.result(timeout=120) > 0 for future in reading)
    assert index.upto == ROUNDS


def test_readers_share_the_lock_and_a_writer_holds_it_alone() -> None:
    lock, both_inside, inside = SharedLock(), Barrier(2), []

    def read() -> None:
        with lock.reading():
            both_inside.wait(timeout=60)

    def write() -> None:
        for _ in range(500):
            with lock.writing():
                inside.append(1)
                assert len(inside) == 1
                inside.pop()

    with ThreadPoolExecutor(4) as pool:
        for future in [*(pool.submit(read) for _ in range(2)), *(pool.submit(write) for _ in range(2))]:
            future.result(timeout=60)


def test_a_failed_reader_or_writer_gives_the_lock_back() -> None:
    lock = SharedLock()
    for hold in (lock.reading, lock.writing):
        with pytest.raises(KeyError), hold():
            raise KeyError
    with lock.writing():
        pass
