"""The vectors of one project in a namespace of a Pinecone index."""

import json
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pinecone import Pinecone
from pinecone.errors.exceptions import ConflictError, NotFoundError

from alma.errors import ConfigurationError, StorageError
from alma.protocols import VectorChanges, VectorsRequest
from alma_integration.services import Service, calls_service
from alma_pinecone.unseen import Held, Unseen

WATERMARK = "watermark"
"""Id of the entry that carries the watermark. It belongs to no partition."""
NO_PARTITION = -1
MOST_UPSERTED = 1_000
MOST_BYTES = 1_900_000
"""An upsert takes 2 MB; some of it is left to names."""
MOST_DELETED = 1_000
MOST_ASKED = 10_000
DIGITS = 6
"""Decimals of a number that is sent. Scores come from the stored vectors."""
TIMEOUT_SECONDS = 20.0
READY_SECONDS = 120
"""For this long a new index may become ready."""
CLOUDS = ("aws", "gcp", "azure")

_LOG = logging.getLogger("alma")


class PineconeSearch:
    """Implements `alma.protocols.CandidateSearch`: an entry for each live passage, under its row number, with its partition and memory.

    All entries of one filling of the namespace carry its name, and a search asks for these alone: entries that were deleted count at once
    as gone, although the service goes on showing them for a while. What this process wrote is searched here until the service shows it.
    """

    def __init__(
        self,
        index: Callable[[], Any],
        request: VectorsRequest,
        *,
        place: str,
        secret: str,
        create: Callable[[], None] | None = None,
    ) -> None:
        """`index` connects when it is first needed. With `create`, an index that is missing is made by the first write. `secret` is left out of
        errors."""
        self.service = Service("Pinecone", place, advice="is it there, and is the key right?", secret=secret)
        self._connect, self._create, self._request = index, create, request
        self._namespace = f"alma-{request.name}"
        self._opened: Any = None
        self._width = 0
        self._unseen = Unseen(request.fingerprint.dimension)
        self._filling: str | None = None

    @property
    def recall(self) -> float:
        """At least nine of ten is assumed. It was never measured against the service."""
        return 0.9

    @property
    @calls_service
    def upto(self) -> int:
        """Newest journal `seq` held. Changes nothing: another process may be filling the namespace."""
        held = self._held()
        return held.upto if held else 0

    @calls_service
    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order. The watermark moves when all of them are written. A namespace that is not ours is filled anew."""
        held = self._held()
        if held is None:
            held = self._cleared()
        elif changes.upto <= held.upto:
            return
        index, live = self._index(), _without_removed(changes)
        for entries in self._batches(live, held.filling):
            index.upsert(vectors=entries, namespace=self._namespace)
        gone = [str(row) for row in sorted(set(changes.removed.tolist()))]
        for start in range(0, len(gone), MOST_DELETED):
            with suppress(NotFoundError):  # a namespace without entries is none
                index.delete(ids=gone[start : start + MOST_DELETED], namespace=self._namespace)
        axis = [1.0, *[0.0] * (self._dimension() - 1)]
        mark = {"watermark": self._request.watermark(changes.upto), "filling": held.filling, "partition": NO_PARTITION}
        index.upsert(vectors=[{"id": WATERMARK, "values": axis, "metadata": mark}], namespace=self._namespace)
        self._unseen.add(live, Held(held.filling, changes.upto))

    @calls_service
    def search(self, query: NDArray[np.float32], /, *, partitions: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns the memories of the `limit` nearest passages of each partition, ascending, and of up to as many that were just written."""
        if not partitions or limit < 1 or (self._filling is None and self._held() is None):
            return np.empty(0, dtype=np.int64)
        asked, memories = np.asarray(query, dtype=np.float32), set[int]()
        values = self._written(asked[None])[0]
        for partition in dict.fromkeys(map(int, partitions)):
            found = self._index().query(
                vector=values,
                top_k=min(limit, MOST_ASKED),
                namespace=self._namespace,
                filter={"$and": [{"filling": {"$eq": self._filling}}, {"partition": {"$eq": partition}}]},
                include_values=False,
                include_metadata=True,
            )
            memories |= {int(match.metadata["memory"]) for match in found.matches}
            memories |= set(self._unseen.near(asked, partition, limit))
        return np.array(sorted(memories), dtype=np.int64)

    @calls_service
    def clear(self) -> None:
        """Deletes all entries of the namespace."""
        self._cleared()
        self._filling = None

    def close(self) -> None:
        """Closes the connection."""
        with self.service.lock:
            index, self._opened = self._opened, None
        if index is not None:
            index.close()

    def _cleared(self) -> Held:
        if self._create is not None and self._is_missing():
            self._create()
        with suppress(NotFoundError):  # a namespace without entries is none
            self._index().delete(delete_all=True, namespace=self._namespace)
        self._filling = uuid.uuid4().hex
        return self._unseen.begin(self._filling)

    def _held(self) -> Held | None:
        """The metadata of the namespace; `None` without a watermark of ours in it."""
        if self._create is not None and self._is_missing():
            return None
        found = self._index().fetch(ids=[WATERMARK], namespace=self._namespace).vectors.get(WATERMARK)
        facts: Mapping[str, Any] = (found.metadata if found else None) or {}
        upto = self._request.upto_of(facts.get("watermark"))
        held = self._unseen.newer_of(None if upto is None else Held(str(facts.get("filling")), upto))
        self._filling = held.filling if held else None
        return held

    def _is_missing(self) -> bool:
        try:
            self._index()
        except NotFoundError:
            return True
        return False

    def _index(self) -> Any:
        if self._opened is None:
            self._opened = self._connect()
        return self._opened

    def _dimension(self) -> int:
        """The length of the index's vectors. `StorageError` if ours are longer; shorter ones are filled up with zeros."""
        if not self._width:
            width, ours = self._index().describe_index_stats().dimension, self._request.fingerprint.dimension
            if not width or width < ours:
                raise StorageError(
                    f"Pinecone at {self.service.place}: the index takes vectors of {width} numbers, and those of the embedder have {ours}; "
                    f"make an index of dimension {ours}"
                )
            self._width = int(width)
        return self._width

    def _written(self, vectors: NDArray[np.float32]) -> list[list[float]]:
        wide = np.zeros((len(vectors), self._dimension()), dtype=np.float64)
        wide[:, : vectors.shape[1]] = vectors
        return [[round(number, DIGITS) for number in vector] for vector in wide.tolist()]

    def _batches(self, changes: VectorChanges, filling: str) -> Iterator[list[dict[str, Any]]]:
        """The entries, as many at a time as a request takes."""
        step = max(1, min(MOST_UPSERTED, MOST_BYTES // (self._dimension() * (DIGITS + 4) + 200)))
        for start in range(0, len(changes.passages), step):
            at = slice(start, start + step)
            rows = zip(changes.passages[at].tolist(), changes.partitions[at].tolist(), changes.memories[at].tolist(), strict=True)
            values = self._written(changes.vectors[at].astype(np.float32))
            yield [
                {"id": str(row), "values": vector, "metadata": {"filling": filling, "partition": partition, "memory": memory}}
                for (row, partition, memory), vector in zip(rows, values, strict=True)
            ]


def _without_removed(changes: VectorChanges) -> VectorChanges:
    """The same changes without the passages that they remove again."""
    stays = ~np.isin(changes.passages, changes.removed)
    return VectorChanges(
        changes.upto,
        changes.passages[stays],
        changes.memories[stays],
        changes.partitions[stays],
        changes.is_own[stays],
        changes.ties[stays],
        changes.vectors[stays],
        changes.removed,
    )


def open_search(request: VectorsRequest) -> PineconeSearch:
    """Opens the vectors of a project in the index at `host`, or in the index of the name `index_name`. The `CandidateFactory` of `pinecone`.

    Where there is none of this name, the first write makes a serverless one in the `environment`. `ConfigurationError` without a key.
    """
    options = request.options
    key, host, name = _plain(options.get("api_key")), str(options.get("host") or ""), str(options.get("index_name") or "")
    if not key:
        raise ConfigurationError("pinecone.api_key: is not given; set the variable that it names, such as PINECONE_API_KEY")

    def client() -> Pinecone:
        return Pinecone(api_key=key, timeout=TIMEOUT_SECONDS)

    def connect() -> Any:
        with client() as opened:  # the index has connections of its own
            return opened.index(host=host) if host else opened.index(name=name)

    def create() -> None:
        with client() as opened:
            _create_index(opened, name, request.fingerprint.dimension, str(options.get("environment") or ""))

    place = host or f"index {json.dumps(name)}"
    return PineconeSearch(connect, request, place=place, secret=key, create=None if host else create)


def _create_index(client: Pinecone, name: str, dimension: int, environment: str) -> None:
    """Makes a serverless index and waits until it takes vectors. `environment` names its region and cloud, as "us-east-1-aws" does."""
    region, _, cloud = environment.rpartition("-")
    if not region or cloud not in CLOUDS:
        raise StorageError(
            f"Pinecone has no index {json.dumps(name)}; make it there, or let pinecone.environment name a region and a cloud, such as us-east-1-aws"
        )
    field = {"type": "dense_vector", "dimension": dimension, "metric": "cosine"}
    place = {"deployment_type": "managed", "cloud": cloud, "region": region}
    with suppress(ConflictError):  # another process has just made it
        client.indexes.create(name=name, schema={"fields": {"_values": field}}, deployment=place, timeout=READY_SECONDS)
        _LOG.warning("Pinecone had no index %r: a serverless one of dimension %d was made in %s", name, dimension, environment)


def _plain(value: Any) -> str:
    reveal = getattr(value, "get_secret_value", None)
    return str(reveal() if callable(reveal) else value or "")
