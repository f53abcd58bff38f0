"""Full text: one FTS5 table a project, a cache in the same transaction as the rows. One document a memory, under its row number.

FTS5's BM25 has no smoothing: where every second memory holds a word, the word counts nothing, and the very first memory counts nothing at all. So
each table also holds a few documents of a private filler word, under negative numbers: a prior on how rare a word usually is.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from alma.protocols import TextScores
from alma.types.passages import Passage

OTHER_WEIGHT = 0.5
"""What a word of another speaker weighs beside one of the owner's."""

MATCH_BUDGET = 2_000
"""A search ranks about so many memories at most: in a large project common words are left to the scoring of what rarer ones found."""

FILLERS = 16
FILLER_WORDS = 500
_FILLER = "almafillerword"


def create(connection: sqlite3.Connection, project: int) -> None:
    """Makes the table of a project. Columns: own text, other text, the partition that the memory belongs to."""
    connection.execute(
        f"CREATE VIRTUAL TABLE text_{project:d} USING fts5"
        "(own, other, partition, content='', tokenize='porter unicode61 remove_diacritics 2')"
    )
    fillers = [(-number, f"{_FILLER} " * FILLER_WORDS) for number in range(1, FILLERS + 1)]
    connection.executemany(f"INSERT INTO text_{project:d} (rowid, own) VALUES (?, ?)", fillers)  # noqa: S608 - a number


def insert(connection: sqlite3.Connection, project: int, memory: int, partition: int, passages: Sequence[Passage]) -> None:
    """Makes a memory searchable."""
    connection.execute(
        f"INSERT INTO text_{project:d} (rowid, own, other, partition) VALUES (?, ?, ?, ?)",  # noqa: S608 - a number
        (memory, *_columns(partition, passages)),
    )


def documents(connection: sqlite3.Connection, project: int) -> set[int]:
    """The memories that are searchable."""
    return {row for (row,) in connection.execute(f"SELECT id FROM text_{project:d}_docsize WHERE id > 0")}  # noqa: S608 - a number


def search(
    connection: sqlite3.Connection, project: int | None, words: Sequence[str], *, partitions: Sequence[int], limit: int | None
) -> TextScores:
    """The memories of the partitions that have any of the words, best first; with a `limit`, of a few thousand that have the rarer ones."""
    if project is None or not words or not partitions:
        return _scores([], 0.0)
    table = f"text_{project:d}"
    counts = _counts(connection, table, words)
    chosen = list(words) if limit is None else _rarest(counts)
    scope = f" AND partition : ({_any_of(f'p{partition:d}' for partition in partitions)})"
    query = f"{{own other}} : ({_any_of(chosen)}){scope}"
    if limit is not None and counts[chosen[0]] > MATCH_BUDGET:
        rows = connection.execute(
            f"SELECT rowid, -{_rank(table)} FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?",  # noqa: S608
            (query, limit),
        )
    else:
        rows = connection.execute(
            f"SELECT rowid, -{_rank(table)} AS score FROM {table} WHERE {table} MATCH ? ORDER BY score DESC LIMIT ?",  # noqa: S608
            (query, -1 if limit is None else limit),
        )
    return _scores(rows.fetchall(), _mass(connection, table, counts))


def score(
    connection: sqlite3.Connection, project: int | None, words: Sequence[str], *, memories: NDArray[np.int64]
) -> TextScores:
    """The scores of those of the memories that have any of the words, in no order."""
    if project is None or not words:
        return _scores([], 0.0)
    table = f"text_{project:d}"
    rows = connection.execute(
        f"SELECT rowid, -{_rank(table)} FROM {table} "  # noqa: S608 - numbers
        f"WHERE {table} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))",
        (f"{{own other}} : ({_any_of(words)})", json.dumps(memories.tolist())),
    )
    return _scores(rows.fetchall(), _mass(connection, table, _counts(connection, table, words)))


def _rank(table: str) -> str:
    return f"bm25({table}, 1.0, {OTHER_WEIGHT}, 0.0)"


def _counts(connection: sqlite3.Connection, table: str, words: Sequence[str]) -> Mapping[str, int]:
    """How many memories hold each word, counted no further than just beyond the budget."""
    query = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {MATCH_BUDGET + 1})"  # noqa: S608 - numbers
    return {word: connection.execute(query, (f"{{own other}} : {_any_of([word])}",)).fetchone()[0] for word in words}


def _rarest(counts: Mapping[str, int]) -> list[str]:
    """The rarest words that occur, as many as fit into the budget, but one at least."""
    chosen: list[str] = []
    total = 0
    for word in sorted(counts, key=lambda word: counts[word] or math.inf):
        total += counts[word]
        if chosen and total > MATCH_BUDGET:
            break
        chosen.append(word)
    return chosen


def _mass(connection: sqlite3.Connection, table: str, counts: Mapping[str, int]) -> float:
    """The sum of the words' idf, as BM25 in FTS5 has it; words beyond the budget count nothing unless all are."""
    total = connection.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]  # noqa: S608 - a number
    telling = [count for count in counts.values() if count <= MATCH_BUDGET] or list(counts.values())
    return sum(max(math.log((total - count + 0.5) / (count + 0.5)), 1e-6) for count in telling)


def _columns(partition: int, passages: Sequence[Passage]) -> tuple[str, str, str]:
    own = "\n".join(passage.text for passage in passages if passage.is_own)
    others = [passage.text for passage in passages if not passage.is_own] + [passage.keywords for passage in passages]
    return own, "\n".join(text for text in others if text), f"p{partition:d}"


def _any_of(words: Iterable[str]) -> str:
    return "(" + " OR ".join('"' + word.replace('"', '""') + '"' for word in words) + ")"


def _scores(rows: Sequence[tuple[int, float]], mass: float) -> TextScores:
    return TextScores(
        memories=np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows)),
        scores=np.fromiter((row[1] for row in rows), dtype=np.float32, count=len(rows)),
        mass=mass,
    )
