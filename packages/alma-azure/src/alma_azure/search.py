"""The vectors of one project in a logical partition of a container of Azure Cosmos DB for NoSQL."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from azure.cosmos import CosmosClient
from azure.cosmos.exceptions import CosmosResourceNotFoundError
from azure.identity import DefaultAzureCredential
from numpy.typing import NDArray

from alma.errors import ConfigurationError
from alma.protocols import VectorChanges, VectorsRequest
from alma_azure.containers import PROJECT, Containers
from alma_azure.key_vault import TIMEOUT_SECONDS
from alma_integration.services import Service, WatermarkedSearch

DEFAULT_DATABASE = "alma-memory"
WATERMARK = "watermark"
"""Id of the item that carries the watermark. It belongs to no partition."""
MOST_OPERATIONS = 100
MOST_BYTES = 1_900_000
"""A batch takes 2 MB; some of it is left to names."""
DIGITS = 6
"""Decimals of a number that is sent. Scores come from the stored vectors."""
PAGE = 1_000

NEAREST = "SELECT TOP @limit c.memory FROM c WHERE c.place = @place ORDER BY VectorDistance(c.vector, @query)"
THERE = "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"
ALL = "SELECT VALUE c.id FROM c"


class CosmosSearch(WatermarkedSearch):
    """Implements `alma.protocols.CandidateSearch`: an item for each live passage, under its row number, with its partition and memory.

    The reads of one connection see its own writes, and what they once saw, where the account's consistency is Session or stronger. Its
    recall of nine of ten is assumed: it was never measured against the service.
    """

    def __init__(self, containers: Containers, request: VectorsRequest, *, place: str, secret: str) -> None:
        """`secret` is left out of errors."""
        super().__init__(Service("Azure Cosmos DB", place, advice="is it there, and is the key right?", secret=secret), request)
        self._containers = containers

    def write(self, changes: VectorChanges) -> None:
        """Stores items in batches, then the watermark."""
        container = self._container()
        for operations in self._upserts(changes):
            container.execute_item_batch(operations, partition_key=self._project)
        leaving = [str(row) for row in sorted(set(changes.removed.tolist()))]
        for start in range(0, len(leaving), PAGE):
            given = [{"name": "@ids", "value": leaving[start : start + PAGE]}]
            self._delete(container, list(self._asked(container, THERE, given)))
        mark = {"id": WATERMARK, PROJECT: self._project, "watermark": self.request.watermark(changes.upto)}
        container.upsert_item(mark)

    def nearest(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> Iterator[int]:
        """Asks for each partition."""
        values = _numbers(query.astype(np.float64))
        for partition in partitions:
            given: list[dict[str, Any]] = [
                {"name": "@limit", "value": int(limit)},
                {"name": "@place", "value": partition},
                {"name": "@query", "value": values},
            ]
            yield from (int(found["memory"]) for found in self._asked(self._container(), NEAREST, given))

    def watermark(self) -> object:
        """Returns what the item of that name holds."""
        try:
            return self._container().read_item(WATERMARK, partition_key=self._project).get("watermark")
        except CosmosResourceNotFoundError:
            return None

    def make_empty(self) -> None:
        """Deletes all items of the project, also those of vectors of another length, and makes the container if it is missing."""
        for container in self._containers.all():
            there = list(self._asked(container, ALL, []))
            self._delete(container, sorted(there, key=lambda name: name != WATERMARK))  # without it, nothing counts as held
        self._containers.made(self.request.fingerprint.dimension)

    def close(self) -> None:
        """Closes the connection."""
        with self.service.lock:
            self._containers.close()

    @property
    def _project(self) -> str:
        return self.request.name

    def _container(self) -> Any:
        return self._containers.of(self.request.fingerprint.dimension)

    def _asked(self, container: Any, text: str, given: list[dict[str, Any]]) -> Any:
        return container.query_items(text, parameters=given, partition_key=self._project, max_item_count=PAGE)

    def _delete(self, container: Any, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), MOST_OPERATIONS):
            operations = [("delete", (name,)) for name in ids[start : start + MOST_OPERATIONS]]
            container.execute_item_batch(operations, partition_key=self._project)

    def _upserts(self, changes: VectorChanges) -> Iterator[list[tuple[str, tuple[dict[str, Any]]]]]:
        """The operations that write the passages, as many at a time as a batch takes."""
        places = np.flatnonzero(~np.isin(changes.passages, changes.removed))
        step = max(1, min(MOST_OPERATIONS, MOST_BYTES // (changes.vectors.shape[1] * (DIGITS + 4) + 300)))
        for start in range(0, len(places), step):
            yield [
                (
                    "upsert",
                    (
                        {
                            "id": str(changes.passages[place]),
                            PROJECT: self._project,
                            "place": int(changes.partitions[place]),
                            "memory": int(changes.memories[place]),
                            "vector": _numbers(changes.vectors[place].astype(np.float64)),
                        },
                    ),
                )
                for place in places[start : start + step].tolist()
            ]


def _numbers(vector: NDArray[np.float64]) -> list[float]:
    return [round(number, DIGITS) for number in vector.tolist()]


def open_search(request: VectorsRequest) -> CosmosSearch:
    """Opens the vectors of a project in an account. The `CandidateFactory` of `azure`.

    `ConfigurationError` without an endpoint, or without either a key or `use_managed_identity`.
    """
    options = request.options
    endpoint, key = str(options.get("endpoint") or ""), _plain(options.get("key"))
    if not endpoint:
        raise ConfigurationError("azure.endpoint: is not given; it is like https://my-account.documents.azure.com:443/")
    has_identity = options.get("use_managed_identity") == "on"
    if not key and not has_identity:
        raise ConfigurationError("azure.key: is not given; set the variable that it names, such as AZURE_COSMOS_KEY")
    if key and has_identity:
        raise ConfigurationError("azure.key: is given beside use_managed_identity; remove one of them")

    def connect() -> CosmosClient:
        credential = key or DefaultAzureCredential(process_timeout=TIMEOUT_SECONDS)
        return CosmosClient(endpoint, credential, retry_total=5, retry_connect=1, retry_backoff_max=10, connection_timeout=10)

    database = str(options.get("database") or DEFAULT_DATABASE)
    containers = Containers(connect, database, makes=options.get("create_if_not_exists") != "off")
    return CosmosSearch(containers, request, place=endpoint, secret=key)


def _plain(value: Any) -> str:
    reveal = getattr(value, "get_secret_value", None)
    return str(reveal() if callable(reveal) else value or "")
