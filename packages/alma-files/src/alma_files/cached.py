"""The vectors of a projection and their caches: one for the embedder that serves, one for the one that the store is being re-embedded with."""

from pathlib import Path

from alma.storage.relational.reembedding import NEXT, SERVING, compared_texts
from alma.storage.relational.rows import text_hash
from alma.storage.sqlite.connections import Connection
from alma.types.identity import Fingerprint
from alma_files.projected import stored_values, vector_row, vectors_after
from alma_files.projecting import SEAL
from alma_files.vector_cache import VectorCache, drop_others

_EMBEDDED = "SELECT DISTINCT project, text_hash FROM passage WHERE text_hash IS NOT NULL"


def serving_cache(connection: Connection, folder: Path) -> VectorCache:
    """The cache of the embedder that serves."""
    return _cache(connection, folder, SERVING)


def add_new(connection: Connection, folder: Path, *, after: int) -> None:
    """Appends the vectors after a row to their caches."""
    for keys in _embedders(connection):
        _cache(connection, folder, keys).add(vectors_after(connection, after, keys))


def replace_all(connection: Connection, folder: Path) -> None:
    """Writes the caches anew; of former embedders nothing is left."""
    caches = {keys: _cache(connection, folder, keys) for keys in _embedders(connection)}
    for keys, cache in caches.items():
        cache.replace(vectors_after(connection, 0, keys))
    drop_others(folder, list(caches.values()))


def take_next(connection: Connection, folder: Path) -> None:
    """Takes in the vectors of an embedder that the store is being re-embedded with, as far as they were made."""
    if NEXT[0] in stored_values(connection):
        _take(connection, folder, NEXT)


def take_serving(connection: Connection, folder: Path) -> None:
    """Takes in the vectors of an embedder that serves since another process re-embedded the store, and drops those of the one before."""
    connection.execute("DELETE FROM vector WHERE embedder <> ?", (int(stored_values(connection)[SERVING[1]]),))
    _take(connection, folder, SERVING)


def _take(connection: Connection, folder: Path, keys: tuple[str, str]) -> None:
    number = int(stored_values(connection)[keys[1]])
    cached, _ = _cache(connection, folder, keys).read()
    named = {(row, digest) for row, digest in connection.execute(_EMBEDDED)}
    named |= {(row, text_hash(text)) for row, text in compared_texts(connection, SEAL)}
    found = [vector_row(row, digest, cached[digest]) for row, digest in sorted(named) if digest in cached]
    connection.run_many("next_vector_insert", [{**row, "embedder": number} for row in found])


def _embedders(connection: Connection) -> list[tuple[str, str]]:
    values = stored_values(connection)
    return [keys for keys in (SERVING, NEXT) if keys[0] in values]


def _cache(connection: Connection, folder: Path, keys: tuple[str, str]) -> VectorCache:
    fingerprint = Fingerprint.model_validate_json(stored_values(connection)[keys[0]])
    return VectorCache(folder, fingerprint.model_dump_json(), fingerprint.dimension)
