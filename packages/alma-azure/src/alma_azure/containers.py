"""The containers that hold vectors: one for each length of them, with all projects of a database."""

from collections.abc import Callable, Iterator
from typing import Any

from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosResourceNotFoundError

from alma.errors import StorageError

PREFIX = "alma-vectors-"
PROJECT = "project"
"""The partition key: a project is one logical partition, so that its batches are transactions."""
VECTOR = "/vector"


def vector_policy(dimension: int) -> dict[str, Any]:
    """Returns the facts about the vectors that the service has to know."""
    return {"vectorEmbeddings": [{"path": VECTOR, "dataType": "float32", "distanceFunction": "cosine", "dimensions": dimension}]}


def indexing_policy() -> dict[str, Any]:
    """Returns the paths that are indexed: the numbers of a vector by DiskANN only."""
    return {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": '/"_etag"/?'}, {"path": f"{VECTOR}/*"}],
        "vectorIndexes": [{"path": VECTOR, "type": "diskANN"}],
    }


class Containers:
    """The containers of one account and database. Connects when it is first needed."""

    def __init__(self, client: Callable[[], CosmosClient], database: str, *, makes: bool) -> None:
        """Missing containers are made if `makes` is true."""
        self._connect, self._name, self._makes = client, database, makes
        self._client: Any = None

    def of(self, dimension: int) -> Any:
        """The container for vectors of a length, which may not be there."""
        return self._database().get_container_client(f"{PREFIX}{dimension}")

    def made(self, dimension: int) -> Any:
        """The container for vectors of a length, made if it is not there. `StorageError` if it may not be made."""
        if not self._makes:
            try:
                self.of(dimension).read()
            except CosmosResourceNotFoundError:
                raise StorageError(
                    f"the database {self._name} has no container {PREFIX}{dimension}; make it, or set azure.create_if_not_exists"
                ) from None
            return self.of(dimension)
        database = self._opened().create_database_if_not_exists(self._name)
        return database.create_container_if_not_exists(
            f"{PREFIX}{dimension}",
            PartitionKey(path=f"/{PROJECT}"),
            indexing_policy=indexing_policy(),
            vector_embedding_policy=vector_policy(dimension),
        )

    def all(self) -> Iterator[Any]:
        """All containers of vectors that there are."""
        try:
            names = [str(each["id"]) for each in self._database().list_containers()]
        except CosmosResourceNotFoundError:  # no such database yet
            return
        yield from (self._database().get_container_client(name) for name in names if name.startswith(PREFIX))

    def close(self) -> None:
        """Closes the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.__exit__()

    def _database(self) -> Any:
        return self._opened().get_database_client(self._name)

    def _opened(self) -> Any:
        if self._client is None:
            self._client = self._connect()
        return self._client
