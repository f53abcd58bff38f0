"""The vectors of one project in a collection of Chroma."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings
from chromadb.errors import NotFoundError
from numpy.typing import NDArray

from alma.protocols import VectorChanges, VectorsRequest
from alma.services import Service, calls_service

BATCH = 256
LISTED = 400
"""Candidates that a search keeps. With Chroma's own 100, of the 50 nearest of 20,000 real sentences .978 were found."""
WATERMARK = "watermark"
"""Id of the entry that carries the watermark. It belongs to no partition."""


class ChromaSearch:
    """Implements `alma.protocols.CandidateSearch`: an entry for each live passage, under its row number, with its partition and memory."""

    def __init__(self, client: Callable[[], Any], request: VectorsRequest, *, place: str) -> None:
        """`client` connects when it is first needed."""
        self.service = Service("Chroma", place)
        self._connect, self._request = client, request
        self._name = f"alma_{request.name}"
        self._opened: Any = None
        self._is_filled = False

    @property
    def recall(self) -> float:
        """At least nine of ten."""
        return 0.9

    @property
    @calls_service
    def upto(self) -> int:
        """Newest journal `seq` held, read from the collection itself. Changes nothing: another process may be filling it."""
        return self._trusted() or 0

    @calls_service
    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order. The watermark moves when all of them are there. A collection that is not ours is made anew."""
        held = self._trusted()
        if held is None:
            self.clear()
        elif changes.upto <= held:
            return
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
        axis = np.eye(1, self._request.fingerprint.dimension, dtype=np.float32)
        mark = {"watermark": self._request.watermark(changes.upto), "partition": -1}
        collection.upsert(ids=[WATERMARK], embeddings=axis, metadatas=[mark])
        self._is_filled = True

    @calls_service
    def search(self, query: NDArray[np.float32], /, *, partitions: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns the memories of the `limit` nearest passages of each partition, ascending."""
        memories: set[int] = set()
        if not partitions or limit < 1 or (not self._is_filled and self._trusted() is None):
            return np.empty(0, dtype=np.int64)
        collection = self._collection()
        for partition in dict.fromkeys(partitions):
            found = collection.query(
                query_embeddings=np.asarray(query, dtype=np.float32)[None],
                n_results=limit,
                where={"partition": int(partition)},
                include=["metadatas"],
            )
            near = found["metadatas"][0]
            if len(near) < limit:  # its graph does not lead to all entries of a filter
                near = _compared(collection, query, partition, limit)
            memories |= {int(each["memory"]) for each in near}
        return np.array(sorted(memories), dtype=np.int64)

    @calls_service
    def clear(self) -> None:
        """Deletes the collection and makes an empty one."""
        with suppress(NotFoundError):
            self._client().delete_collection(self._name)
        self._client().create_collection(
            self._name, embedding_function=None, configuration={"hnsw": {"space": "ip", "ef_search": LISTED}}
        )
        self._is_filled = False

    def close(self) -> None:
        """Lets go of the client."""
        with self.service.lock:
            self._opened = None

    def _client(self) -> Any:
        if self._opened is None:
            self._opened = self._connect()
        return self._opened

    def _collection(self) -> Any:
        return self._client().get_collection(self._name, embedding_function=None)

    def _trusted(self) -> int | None:
        """The `seq` of the stored watermark; `None` without a collection, or without a watermark of ours in it."""
        try:
            found = self._collection().get(ids=[WATERMARK], include=["metadatas"])["metadatas"]
        except NotFoundError:
            return None
        upto = self._request.upto_of(found[0].get("watermark")) if found else None
        self._is_filled = upto is not None
        return upto


def _compared(collection: Any, query: NDArray[np.float32], partition: int, limit: int) -> list[Any]:
    """Returns what is known of the `limit` nearest entries of a partition, by comparing all of them."""
    found = collection.get(where={"partition": int(partition)}, include=["embeddings", "metadatas"])
    if not len(found["ids"]):
        return []
    order = np.argsort(-(np.asarray(found["embeddings"], dtype=np.float32) @ query), kind="stable")[:limit]
    return [found["metadatas"][place] for place in order.tolist()]


def open_search(request: VectorsRequest) -> ChromaSearch:
    """Opens the vectors of a project on a server, if `host` is given, else in a folder. The `CandidateFactory` of `chroma`."""
    options, settings = request.options, Settings(anonymized_telemetry=False)
    if options.get("host"):
        host, port = str(options["host"]), int(str(options.get("port") or 8000))
        return ChromaSearch(
            lambda: chromadb.HttpClient(host=host, port=port, settings=settings), request, place=f"http://{host}:{port}"
        )
    folder = Path(str(options.get("persist_directory") or Path(request.folder) / "chroma"))
    return ChromaSearch(lambda: chromadb.PersistentClient(path=str(folder), settings=settings), request, place=f"{folder}")
