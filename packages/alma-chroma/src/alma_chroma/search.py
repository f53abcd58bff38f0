"""The vectors of one project in a collection of Chroma."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings
from chromadb.errors import NotFoundError
from numpy.typing import NDArray

from alma.protocols import VectorChanges, VectorsRequest
from alma_integration.services import Service, WatermarkedSearch

IN_MEMORY = ":memory:"
BATCH = 256
LISTED = 400
"""Candidates that a search keeps. With Chroma's own 100, of the 50 nearest of 20,000 real sentences .978 were found."""
WATERMARK = "watermark"
"""Id of the entry that carries the watermark. It belongs to no partition."""


class ChromaSearch(WatermarkedSearch):
    """Implements `alma.protocols.CandidateSearch`: an entry for each live passage, under its row number, with its partition and memory."""

    def __init__(self, client: Callable[[], Any], request: VectorsRequest, *, place: str, is_local: bool = True) -> None:
        """`client` connects when it is first needed. A local one is closed at the end."""
        super().__init__(Service("Chroma", place), request)
        self._connect, self._is_local = client, is_local
        self._name = f"alma_{request.name}"
        self._opened: Any = None

    def write(self, changes: VectorChanges) -> None:
        """Stores entries in batches, then the watermark."""
        collection, gone = self._collection(), set(changes.removed.tolist())
        places = np.flatnonzero(~np.isin(changes.passages, changes.removed))
        for start in range(0, len(places), BATCH):
            at = places[start : start + BATCH]
            pairs = zip(changes.partitions[at].tolist(), changes.memories[at].tolist(), strict=True)
            collection.upsert(
                ids=[str(row) for row in changes.passages[at].tolist()],
                embeddings=changes.vectors[at].astype(np.float32),
                metadatas=[{"partition": partition, "memory": memory} for partition, memory in pairs],
            )
        leaving = [str(row) for row in sorted(gone)]
        for start in range(0, len(leaving), BATCH):
            there = collection.get(ids=leaving[start : start + BATCH], include=[])["ids"]
            if there:
                collection.delete(ids=there)
        axis = np.eye(1, self.request.fingerprint.dimension, dtype=np.float32)
        mark = {"watermark": self.request.watermark(changes.upto), "partition": -1}
        collection.upsert(ids=[WATERMARK], embeddings=axis, metadatas=[mark])

    def nearest(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> Iterator[int]:
        """Asks the graph, and compares all entries of a partition where it leads to too few."""
        collection = self._collection()
        for partition in partitions:
            found = collection.query(
                query_embeddings=query[None],
                n_results=limit,
                where={"partition": partition},
                include=["metadatas"],
            )
            near = found["metadatas"][0]
            if len(near) < limit:  # its graph does not lead to all entries of a filter
                near = _compared(collection, query, partition, limit)
            yield from (int(each["memory"]) for each in near)

    def watermark(self) -> object:
        """Returns the metadata of the entry of that name."""
        try:
            found = self._collection().get(ids=[WATERMARK], include=["metadatas"])["metadatas"]
        except NotFoundError:
            return None
        return found[0].get("watermark") if found else None

    def make_empty(self) -> None:
        """Deletes the collection and makes an empty one."""
        with suppress(NotFoundError):
            self._client().delete_collection(self._name)
        self._client().create_collection(
            self._name, embedding_function=None, configuration={"hnsw": {"space": "ip", "ef_search": LISTED}}
        )

    def close(self) -> None:
        """Closes a local client: it lets go of its files, and a collection in memory is gone with the last one."""
        with self.service.lock:
            client, self._opened = self._opened, None
        if client is not None and self._is_local:  # Chroma 1.5 would drop a connection to a server without closing it
            client.close()

    def _client(self) -> Any:
        if self._opened is None:
            self._opened = self._connect()
        return self._opened

    def _collection(self) -> Any:
        return self._client().get_collection(self._name, embedding_function=None)


def _compared(collection: Any, query: NDArray[np.float32], partition: int, limit: int) -> list[Any]:
    """Returns what is known of the `limit` nearest entries of a partition, by comparing all of them."""
    found = collection.get(where={"partition": partition}, include=["embeddings", "metadatas"])
    if not len(found["ids"]):
        return []
    order = np.argsort(-(np.asarray(found["embeddings"], dtype=np.float32) @ query), kind="stable")[:limit]
    return [found["metadatas"][place] for place in order.tolist()]


def open_search(request: VectorsRequest) -> ChromaSearch:
    """Opens the vectors of a project on a server, if `host` is given, else in a folder, or in this process, if that is ":memory:". The
    `CandidateFactory` of `chroma`."""
    options, settings = request.options, Settings(anonymized_telemetry=False)
    if options.get("host"):
        host, port = str(options["host"]), int(str(options.get("port") or 8000))
        return ChromaSearch(
            lambda: chromadb.HttpClient(host=host, port=port, settings=settings),
            request,
            place=f"http://{host}:{port}",
            is_local=False,
        )
    if options.get("persist_directory") == IN_MEMORY:
        return ChromaSearch(lambda: chromadb.EphemeralClient(settings=settings), request, place="this process")
    folder = Path(str(options.get("persist_directory") or Path(request.folder) / "chroma"))
    return ChromaSearch(lambda: chromadb.PersistentClient(path=str(folder), settings=settings), request, place=f"{folder}")
