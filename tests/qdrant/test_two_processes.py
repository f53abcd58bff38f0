"""Two processes that use one collection. They share a client in memory here, as two processes share a server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_mock import MockerFixture
from qdrant_client import QdrantClient

from alma.errors import StorageError
from alma.protocols import VectorsRequest
from alma.testing import make_vector_changes
from alma_qdrant import QdrantSearch
from alma_testing.contracts.candidate_search import DIMENSION, changes, directions, query
from alma_testing.fakes import MockEmbedder


@pytest.fixture
def client() -> Iterator[QdrantClient]:
    made = QdrantClient(":memory:")
    yield made
    made.close()


@pytest.fixture
def process(client: QdrantClient, tmp_path: Path) -> Callable[[], QdrantSearch]:
    fingerprint = MockEmbedder(DIMENSION).fingerprint
    request = VectorsRequest(str(tmp_path), "d1", "shop", fingerprint, {}, lambda seq: f"head {seq}")
    return lambda: QdrantSearch(lambda: client, request, prefix="alma", place="the folder of a test")


def test_a_look_at_a_collection_that_another_process_fills_takes_nothing_from_it(
    process: Callable[[], QdrantSearch], client: QdrantClient, mocker: MockerFixture
) -> None:
    filling, looking = process(), process()
    upsert, seen = client.upsert, []

    def upsert_and_look(*args: Any, **kwargs: Any) -> Any:
        done = upsert(*args, **kwargs)
        seen.append(looking.upto)
        return done

    mocker.patch.object(client, "upsert", upsert_and_look)
    filling.apply(changes(1, directions(600)))  # three batches, then the watermark
    assert seen == [0, 0, 0, 1]
    assert looking.search(query(), partitions=[0], limit=999).tolist() == list(range(600))


def test_another_embedder_leaves_no_second_collection(
    process: Callable[[], QdrantSearch], client: QdrantClient, tmp_path: Path
) -> None:
    process().apply(changes(1, directions(3)))
    request = VectorsRequest(str(tmp_path), "d1", "shop", MockEmbedder(16).fingerprint, {}, lambda seq: f"head {seq}")
    QdrantSearch(lambda: client, request, prefix="alma", place="the folder of a test").apply(
        make_vector_changes(1, np.eye(16)[:1], dimension=16)
    )
    assert len(client.get_collections().collections) == 1


def test_changes_that_were_interrupted_are_taken_in_by_the_next_process(
    process: Callable[[], QdrantSearch], client: QdrantClient, mocker: MockerFixture
) -> None:
    process().apply(changes(1, directions(4)))
    broken = mocker.patch.object(client, "delete", side_effect=OSError("the line broke"))
    with pytest.raises(StorageError, match="the line broke"):
        process().apply(changes(2, directions(2, seed=1), first=10, removed=[0]))
    mocker.stop(broken)
    other = process()
    assert other.upto == 1
    other.apply(changes(2, directions(2, seed=1), first=10, removed=[0]))
    assert other.search(query(), partitions=[0], limit=99).tolist() == [1, 2, 3, 10, 11]
