"""The vectors of one project in a collection of Qdrant."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from alma.protocols import VectorChanges, VectorsRequest
from alma_integration.services import Service, WatermarkedSearch

DEFAULT_URL = "http://localhost:6333"
BATCH = 256
WATERMARK = (1 << 63) - 1
"""Number of the point that carries the watermark. It belongs to no partition."""
TIMEOUT_SECONDS = 30


class QdrantSearch(WatermarkedSearch):
    """Implements `alma.protocols.CandidateSearch`: a point for each live passage, under its row number, with its partition and memory."""

    def __init__(self, client: Callable[[], QdrantClient], request: VectorsRequest, *, prefix: str, place: str) -> None:
        """`client` connects when it is first needed."""
        super().__init__(Service("Qdrant", place, advice="is it running, and is the key right?"), request)
        self._connect = client
        self._collection = f"{prefix}_{request.name}"
        self._opened: QdrantClient | None = None

    def write(self, changes: VectorChanges) -> None:
        """Stores points in batches, then the watermark."""
        client, name = self._client(), self._collection
        gone = set(changes.removed.tolist())
        points = [
            models.PointStruct(id=passage, vector=vector, payload={"partition": partition, "memory": memory})
            for passage, vector, partition, memory in zip(
                changes.passages.tolist(),
                changes.vectors.astype(np.float32).tolist(),
                changes.partitions.tolist(),
                changes.memories.tolist(),
                strict=True,
            )
            if passage not in gone
        ]
        for start in range(0, len(points), BATCH):
            client.upsert(name, points[start : start + BATCH], wait=True)
        if gone:
            client.delete(name, models.PointIdsList(points=list(gone)), wait=True)
        axis = [1.0, *[0.0] * (self.request.fingerprint.dimension - 1)]
        mark = models.PointStruct(id=WATERMARK, vector=axis, payload={"watermark": self.request.watermark(changes.upto)})
        client.upsert(name, [mark], wait=True)

    def nearest(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> Iterator[int]:
        """Asks for all partitions at once. At least nine of ten are found with Qdrant's own defaults; its local mode is exact."""
        asked = [
            models.QueryRequest(
                query=query.tolist(),
                filter=models.Filter(must=[models.FieldCondition(key="partition", match=models.MatchValue(value=partition))]),
                limit=limit,
                with_payload=["memory"],
            )
            for partition in partitions
        ]
        answers = self._client().query_batch_points(self._collection, asked)
        return (_memory(point) for answer in answers for point in answer.points)

    def watermark(self) -> object:
        """Returns the payload of the point of that number."""
        client = self._client()
        if not client.collection_exists(self._collection):
            return None
        found = client.retrieve(self._collection, [WATERMARK], with_payload=True)
        return (found[0].payload or {}).get("watermark") if found else None

    def make_empty(self) -> None:
        """Deletes the collection and makes an empty one."""
        client = self._client()
        client.delete_collection(self._collection)
        self._make(client)

    def close(self) -> None:
        """Closes the connection."""
        with self.service.lock:
            client, self._opened = self._opened, None
        if client is not None:
            client.close()

    def _client(self) -> QdrantClient:
        if self._opened is None:
            self._opened = self._connect()
        return self._opened

    def _make(self, client: QdrantClient) -> None:
        size = self.request.fingerprint.dimension
        vectors = models.VectorParams(size=size, distance=models.Distance.DOT, datatype=models.Datatype.FLOAT16)
        client.create_collection(self._collection, vectors_config=vectors)
        if not self.service.place.startswith("the folder"):  # local mode has no indexes of payloads, and warns
            client.create_payload_index(self._collection, "partition", models.PayloadSchemaType.INTEGER)


def _memory(point: models.ScoredPoint) -> int:
    return int((point.payload or {})["memory"])


def open_search(request: VectorsRequest) -> QdrantSearch:
    """Opens the vectors of a project on a server, or in local mode where `url` is `path:FOLDER`. The `CandidateFactory` of `qdrant`."""
    options = request.options
    url, key = str(options.get("url") or DEFAULT_URL), _plain(options.get("api_key"))
    prefix = str(options.get("collection_prefix") or "alma")
    if url.startswith("path:"):
        folder = url.removeprefix("path:")
        return QdrantSearch(lambda: QdrantClient(path=folder), request, prefix=prefix, place=f"the folder {folder}")

    def connect() -> QdrantClient:
        return QdrantClient(url=url, api_key=key or None, timeout=TIMEOUT_SECONDS, check_compatibility=False)

    return QdrantSearch(connect, request, prefix=prefix, place=url)


def _plain(value: Any) -> str:
    reveal = getattr(value, "get_secret_value", None)
    return str(reveal() if callable(reveal) else value or "")
