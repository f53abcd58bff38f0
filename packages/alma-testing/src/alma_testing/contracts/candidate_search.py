"""Contract of searches for vectors outside of the process."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from alma.protocols import CandidateFactory, CandidateSearch, VectorsRequest
from alma_testing.builders import make_vector_changes
from alma_testing.fakes import MockEmbedder

DIMENSION = 32


def directions(count: int, seed: int = 0) -> Any:
    """Returns random unit vectors as float16."""
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def changes(upto: int, vectors: Any = (), **arrays: Any) -> Any:
    """Returns changes of vectors of this contract."""
    return make_vector_changes(upto, vectors, dimension=DIMENSION, **arrays)


def query(seed: int = 99) -> Any:
    """Returns a question's vector."""
    return directions(1, seed)[0].astype(np.float32)


def nearest(vectors: Any, question: Any, rows: Iterable[int], limit: int) -> set[int]:
    """Returns the true nearest of some rows."""
    chosen = np.array(list(rows))
    scores = vectors.astype(np.float32)[chosen] @ question
    return set(chosen[np.argsort(-scores)[:limit]].tolist())


class CandidateSearchContract:
    """Promises of an `alma.protocols.CandidateSearch`.

    A test class that inherits this defines the fixtures `factory`, a `CandidateFactory`, and `options`, its block of the configuration.
    `is_kept` says whether what was applied outlasts `close`.
    """

    is_kept = True

    @pytest.fixture
    def request_for(self, tmp_path: Any, options: dict[str, object]) -> Callable[..., VectorsRequest]:
        """Makes requests for projects of one database."""
        fingerprint = MockEmbedder(DIMENSION).fingerprint

        def make(project: str = "shop", database: str = "d1") -> VectorsRequest:
            return VectorsRequest(str(tmp_path), database, project, fingerprint, options, lambda seq: f"head {seq}")

        return make

    @pytest.fixture
    def search(self, factory: CandidateFactory, request_for: Callable[..., VectorsRequest]) -> Any:
        """An empty search."""
        made = factory(request_for())
        yield made
        made.close()

    def test_an_empty_search_holds_nothing(self, search: CandidateSearch) -> None:
        assert search.upto == 0
        assert search.search(query(), partitions=[0], limit=5).tolist() == []

    def test_the_nearest_are_found_as_often_as_is_stated(self, search: CandidateSearch) -> None:
        vectors = directions(600)
        search.apply(changes(1, vectors, partitions=np.arange(600) % 2))
        assert 0.5 < search.recall <= 1.0
        hits = []
        for seed in range(100, 130):
            found = search.search(query(seed), partitions=[0], limit=20).tolist()
            hits.append(len(nearest(vectors, query(seed), range(0, 600, 2), 20) & set(found)) / 20)
        assert sum(hits) / len(hits) >= search.recall - 1e-9

    def test_partitions_are_a_wall(self, search: CandidateSearch) -> None:
        search.apply(changes(1, directions(30), partitions=np.arange(30) % 3))
        found = search.search(query(), partitions=[2, 0, 77], limit=99).tolist()
        assert found == [row for row in range(30) if row % 3 != 1]
        assert search.search(query(), partitions=[], limit=9).tolist() == []

    def test_a_small_partition_does_not_starve_beside_a_large_one(self, search: CandidateSearch) -> None:
        near, far = np.eye(DIMENSION)[0], np.eye(DIMENSION)[1]
        search.apply(changes(1, np.vstack([np.repeat([near], 60, axis=0), [far]]), partitions=[*[1] * 60, 2]))
        assert 60 in search.search(near.astype(np.float32), partitions=[1, 2], limit=5).tolist()

    def test_equal_vectors_are_all_held(self, search: CandidateSearch) -> None:
        search.apply(changes(1, np.repeat(directions(1), 12, axis=0)))
        assert search.search(query(), partitions=[0], limit=50).tolist() == list(range(12))

    def test_what_is_removed_is_gone(self, search: CandidateSearch) -> None:
        search.apply(changes(1, directions(10)))
        search.apply(changes(2, removed=[3, 4, 99]))
        assert search.search(query(), partitions=[0], limit=50).tolist() == [0, 1, 2, 5, 6, 7, 8, 9]

    def test_changes_of_the_past_are_ignored(self, search: CandidateSearch) -> None:
        first = changes(1, directions(3))
        search.apply(first)
        search.apply(changes(2, removed=[1]))
        search.apply(first)
        assert search.upto == 2
        assert search.search(query(), partitions=[0], limit=9).tolist() == [0, 2]

    def test_what_is_cleared_can_be_filled_again(self, search: CandidateSearch) -> None:
        search.apply(changes(5, directions(3)))
        search.clear()
        assert search.upto == 0
        assert search.search(query(), partitions=[0], limit=9).tolist() == []
        search.apply(changes(1, directions(2)))
        assert search.search(query(), partitions=[0], limit=9).tolist() == [0, 1]

    def test_it_is_there_after_a_restart(self, factory: CandidateFactory, request_for: Callable[..., VectorsRequest]) -> None:
        one = factory(request_for())
        one.apply(changes(7, directions(5)))
        one.close()
        one.close()
        other = factory(request_for())
        assert other.upto == (7 if self.is_kept else 0)
        assert len(other.search(query(), partitions=[0], limit=9)) == (5 if self.is_kept else 0)
        other.close()

    def test_another_project_or_database_sees_nothing_of_it(
        self, factory: CandidateFactory, request_for: Callable[..., VectorsRequest]
    ) -> None:
        one = factory(request_for())
        one.apply(changes(7, directions(5)))
        one.close()
        for request in (request_for("other"), request_for(database="d2")):
            other = factory(request)
            assert other.upto == 0
            assert other.search(query(), partitions=[0], limit=9).tolist() == []
            other.close()

    def test_what_is_of_another_history_is_not_trusted(
        self, factory: CandidateFactory, request_for: Callable[..., VectorsRequest]
    ) -> None:
        one = factory(request_for())
        one.apply(changes(7, directions(5)))
        one.close()
        other = factory(replace(request_for(), head_at=lambda seq: f"another {seq}"))
        assert other.upto == 0
        other.apply(changes(1, directions(1)))
        assert other.search(query(), partitions=[0], limit=9).tolist() == [0]
        other.close()

    def test_a_look_changes_nothing(self, factory: CandidateFactory, request_for: Callable[..., VectorsRequest]) -> None:
        one = factory(request_for())
        one.apply(changes(7, directions(5)))
        one.close()
        other = factory(replace(request_for(), head_at=lambda seq: f"another {seq}"))
        assert other.upto == 0  # as another process may see it that looks while one fills it
        other.close()
        one = factory(request_for())
        assert one.upto == (7 if self.is_kept else 0)
        assert len(one.search(query(), partitions=[0], limit=9)) == (5 if self.is_kept else 0)
        one.close()

    def test_what_is_of_another_embedder_is_not_trusted(
        self, factory: CandidateFactory, request_for: Callable[..., VectorsRequest]
    ) -> None:
        one = factory(request_for())
        one.apply(changes(7, directions(5)))
        one.close()
        shorter = DIMENSION // 2
        other = factory(replace(request_for(), fingerprint=MockEmbedder(shorter).fingerprint))
        assert other.upto == 0
        other.apply(make_vector_changes(1, np.eye(shorter)[:1], dimension=shorter))
        assert other.search(np.eye(shorter)[0].astype(np.float32), partitions=[0], limit=9).tolist() == [0]
        other.close()
