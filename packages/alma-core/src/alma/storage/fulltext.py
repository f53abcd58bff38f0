"""Full text: one FTS5 table a project, a cache in the same transaction as the rows. One document a memory, under its row number.

A score is a *share*: the BM25 that a memory reached of the most that BM25 gives to these words, in [0, 1). It is the sum of each word's idf times
a factor below k1 + 1 = 2.2 (Robertson and Zaragoza 2009, "The probabilistic relevance framework"), so the most is 2.2 times the idf of all words.

FTS5's idf has no smoothing: in a store of one memory no word counts anything. So each table also holds a few documents of a private filler word,
under negative numbers: a prior on how rare a word usually is.

What costs is BM25 of each row that matches, some microseconds; matching alone is a hundred times cheaper. So a search in a large scope first
adds up the idf of the words that are present, and only the best by that, and those that the caller names, are scored.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.protocols import TextScores
from alma.types.passages import Passage

OTHER_WEIGHT = 0.5
"""What a word of another speaker weighs beside one of the owner's."""

COMMON_FROM = 4_000
COMMON_SHARE = 0.04
"""A word that more memories hold than both, a number and a share of the project, is left out of a query that has rarer ones."""

MOST_PER_WORD = 2.2
FILLERS = 16
FILLER_WORDS = 100
_PRIVATE = "\ue000"
"""A private-use character: part of a token for FTS5, never of a word that `alma.text` finds, so that no query meets our own tokens."""
_FILLER = f"{_PRIVATE}filler"

Integers = NDArray[np.int64]


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


def delete(connection: sqlite3.Connection, project: int, memory: int, partition: int, passages: Sequence[Passage]) -> None:
    """Takes a memory out again. Partition and passages must be those that it was made searchable with: the table keeps no text."""
    connection.execute(
        f"INSERT INTO text_{project:d} (text_{project:d}, rowid, own, other, partition) "  # noqa: S608 - a number
        "VALUES ('delete', ?, ?, ?, ?)",
        (memory, *_columns(partition, passages)),
    )


def documents(connection: sqlite3.Connection, project: int) -> set[int]:
    """The memories that are searchable."""
    return {row for (row,) in connection.execute(f"SELECT id FROM text_{project:d}_docsize WHERE id > 0")}  # noqa: S608 - a number


def word_counts(connection: sqlite3.Connection, project: int) -> tuple[int, int]:
    """How many words the index holds, and how many its documents have: the same, unless it is damaged. Reads all of it, and searches it once."""
    query = f"SELECT bm25(text_{project:d}) FROM text_{project:d} WHERE text_{project:d} MATCH ?"  # noqa: S608 - a number
    connection.execute(query, (_any_of([_FILLER]),)).fetchall()
    connection.execute(f"CREATE VIRTUAL TABLE temp.words_{project:d} USING fts5vocab(main, text_{project:d}, row)")
    try:
        held = connection.execute(f"SELECT total(cnt) FROM temp.words_{project:d}").fetchone()[0]  # noqa: S608 - a number
    finally:
        connection.execute(f"DROP TABLE temp.words_{project:d}")
    sizes = connection.execute(f"SELECT sz FROM text_{project:d}_docsize")  # noqa: S608 - a number
    return int(held), sum(sum(_numbers(size)) for (size,) in sizes)


def _numbers(encoded: bytes) -> Iterator[int]:
    """The whole numbers of a record of FTS5: groups of seven bits, the greatest first, all but the last with the high bit set."""
    number = 0
    for byte in encoded:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            yield number
            number = 0


class TextQuery:
    """The words of one question, put to one project. `partitions` is the scope; `None` is all of the project."""

    def __init__(
        self, connection: sqlite3.Connection, project: int, words: Sequence[str], partitions: Sequence[int] | None
    ) -> None:
        self._connection = connection
        self._table = f"text_{project:d}"
        self._is_whole = partitions is None
        self._scope = "" if partitions is None else f" AND partition : {_any_of(map(_token, partitions))}"
        self._total = int(self._one(f"SELECT count(*) FROM {self._table}_docsize"))  # noqa: S608 - a number
        self._common_from = max(COMMON_FROM, int(COMMON_SHARE * self._total))
        self._holders = self._telling({word: self._holding(word) for word in words})
        self._match = _any_of(self._holders)

    def all(self) -> TextScores:
        """Every memory of the scope that has any of the words, in no order."""
        query = f"SELECT rowid, -{self._rank} FROM {self._table} WHERE {self._table} MATCH ?"  # noqa: S608 - a number
        return self._scores(self._connection.execute(query, (f"{self._match}{self._scope}",)).fetchall())

    def candidates(self, limit: int, *, among: Callable[[Integers], NDArray[np.bool_]]) -> Integers:
        """The memories in which the most idf of the words is present, of those that `among` says may be found; newer before older among equals."""
        weights = np.repeat([self._idf(word) for word in self._holders], [len(rows) for rows in self._holders.values()])
        memories, inverse = np.unique(np.concatenate(list(self._holders.values())), return_inverse=True)
        sums = np.bincount(inverse, weights=weights, minlength=len(memories))
        if not self._is_whole:
            allowed = among(memories)
            memories, sums = memories[allowed], sums[allowed]
        return memories[np.lexsort((-memories, -sums))[:limit]]

    def score(self, memories: Integers) -> TextScores:
        """Those of the memories that have any of the words, in no order."""
        wanted = self._with_words(memories)
        if not len(wanted):
            return self._scores([])
        query = (
            f"SELECT rowid, -{self._rank} FROM {self._table} "  # noqa: S608 - a number
            f"WHERE {self._table} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))"
        )
        return self._scores(self._connection.execute(query, (self._match, json.dumps(wanted.tolist()))).fetchall())

    @property
    def _rank(self) -> str:
        return f"bm25({self._table}, 1.0, {OTHER_WEIGHT}, 0.0)"

    def _one(self, query: str, *values: str) -> Any:
        return self._connection.execute(query, values).fetchone()[0]

    def _holding(self, word: str, order: str = "") -> Integers:
        """The memories of the project that hold a word, listed no further than just beyond what is common."""
        listed = self._one(
            f"SELECT group_concat(rowid) FROM (SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? "  # noqa: S608 - numbers
            f"{order} LIMIT {self._common_from + 1})",
            _any_of([word]),
        )
        return np.fromstring(listed or "", dtype=np.int64, sep=",")

    def _telling(self, holders: Mapping[str, Integers]) -> Mapping[str, Integers]:
        """The words that are not common; if none of them occurs, the first common one, by its newest memories."""
        telling = {word: rows for word, rows in holders.items() if len(rows) <= self._common_from}
        common = [word for word in holders if word not in telling]
        if not common or any(len(rows) for rows in telling.values()):
            return telling
        return {**telling, common[0]: self._holding(common[0], "ORDER BY rowid DESC")}

    def _with_words(self, memories: Integers) -> Integers:
        """Those of the memories that hold a word, where all that do are known; else the memories."""
        if any(len(rows) > self._common_from for rows in self._holders.values()):
            return memories
        return np.intersect1d(memories, np.concatenate(list(self._holders.values())))

    def _idf(self, word: str) -> float:
        count = len(self._holders[word])
        return max(math.log((self._total - count + 0.5) / (count + 0.5)), 1e-6)

    def _scores(self, rows: Sequence[tuple[int, float]]) -> TextScores:
        most = MOST_PER_WORD * sum(map(self._idf, self._holders))
        scores = np.fromiter((row[1] for row in rows), dtype=np.float64, count=len(rows))
        return TextScores(
            np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows)), scores / most if rows else scores
        )


def _columns(partition: int, passages: Sequence[Passage]) -> tuple[str, str, str]:
    own = "\n".join(passage.text for passage in passages if passage.is_own)
    others = [passage.text for passage in passages if not passage.is_own] + [passage.keywords for passage in passages]
    return own, "\n".join(text for text in others if text), _token(partition)


def _token(partition: int) -> str:
    return f"{_PRIVATE}p{partition:d}"


def _any_of(words: Iterable[str]) -> str:
    return "(" + " OR ".join('"' + word.replace('"', '""') + '"' for word in words) + ")"
