"""Full text: one FTS5 table a project, a cache in the same transaction as the rows.

FTS5 keeps which memory holds which word, and how often; BM25 is computed here from those lists, for all memories at once. FTS5's own `bm25()`
looks up every row that matches, which costs far more than the matching, and has no smoothing: in a store of one memory no word counts anything.
Here each project is taken to hold a few unrelated memories more than it does, a prior on how rare a word is.

A memory has two documents, its own words under twice its row number and the words of others one above, so that a document's number alone says
whose words they are. A score is a *share*: the BM25 of a memory, of the most that BM25 gives to these words, in [0, 1). BM25 is the sum over the
words of idf times a factor below k1 + 1, and others' words weigh as a weaker stream does in BM25F (Robertson and Zaragoza 2009, "The
probabilistic relevance framework: BM25 and beyond").
"""

import json
import math
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from alma.forking import renewed_in_children
from alma.protocols import TextScores
from alma.storage.lengths import OTHER_WEIGHT, TextLengths
from alma.types.passages import Passage

K1 = 1.2
B = 0.75
PRIOR_MEMORIES = 16

COMMON_FROM = 4_000
COMMON_SHARE = 0.04
"""A word that stands more often in a project than both, a number and a share of its memories, is left out of a query that has rarer ones."""

LONG_TEXT = 1_000
MOST_LENIENCE = 8
"""Where memories are longer than this many bytes on average, words stand in them more often, and count as common that much later."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_TOKENIZER = "tokenize='porter unicode61 remove_diacritics 2'"


def create(connection: sqlite3.Connection, project: int) -> None:
    """Makes the tables of a project: the index, and the view of it that lists where a word stands."""
    connection.execute(f"CREATE VIRTUAL TABLE text_{project:d} USING fts5(text, content='', {_TOKENIZER})")
    connection.execute(f"CREATE VIRTUAL TABLE words_{project:d} USING fts5vocab('text_{project:d}', 'instance')")


def insert(connection: sqlite3.Connection, project: int, memory: int, passages: Sequence[Passage]) -> None:
    """Makes a memory searchable."""
    connection.executemany(
        f"INSERT INTO text_{project:d} (rowid, text) VALUES (?, ?)",  # noqa: S608 - a number
        _documents(memory, passages),
    )


def delete(connection: sqlite3.Connection, project: int, memory: int, passages: Sequence[Passage]) -> None:
    """Takes a memory out again. The passages must be those that it was made searchable with: the table keeps no text."""
    connection.executemany(
        f"INSERT INTO text_{project:d} (text_{project:d}, rowid, text) VALUES ('delete', ?, ?)",  # noqa: S608 - a number
        _documents(memory, passages),
    )


def optimize(connection: sqlite3.Connection, project: int) -> None:
    """Merges all segments into one; only then are the words of documents that were taken out gone from the file."""
    connection.execute(f"INSERT INTO text_{project:d} (text_{project:d}) VALUES ('optimize')")  # noqa: S608 - a number


def words_of(memory: int, passages: Sequence[Passage]) -> list[tuple[int, list[tuple[str, int]]]]:
    """The documents that `insert` would make of a memory: the number of each, and its words with how often they stand there."""
    return [(document, _tokenizer().terms(text)) for document, text in _documents(memory, passages)]


def documents(connection: sqlite3.Connection, project: int) -> set[int]:
    """The memories that are searchable."""
    return {row >> 1 for (row,) in connection.execute(f"SELECT id FROM text_{project:d}_docsize")}  # noqa: S608 - a number


def word_counts(connection: sqlite3.Connection, project: int) -> tuple[int, int]:
    """How many words the index holds, and how many its documents have: the same, unless it is damaged. Reads all of it."""
    held = connection.execute(f"SELECT count(*) FROM words_{project:d}").fetchone()[0]  # noqa: S608 - a number
    sizes = connection.execute(f"SELECT sz FROM text_{project:d}_docsize")  # noqa: S608 - a number
    return int(held), sum(sum(_numbers(size)) for (size,) in sizes)


def standing(connection: sqlite3.Connection, project: int) -> Iterator[tuple[str, Integers]]:
    """Every word of the index with the documents that it stands in, ascending, one entry each time. Reads all of it."""
    query = f"SELECT term, group_concat(doc) FROM words_{project:d} GROUP BY term"  # noqa: S608 - a number
    for word, listed in connection.execute(query):
        yield word, np.fromstring(listed, dtype=np.int64, sep=",")


class TextQuery:
    """The words of one question, put to one project, or to a few memories of it: those of `within`, ascending."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        project: int,
        words: Sequence[str],
        lengths: TextLengths,
        within: Integers | None = None,
        waiting: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """`waiting` has the words of the newest memories, which the index does not hold yet, with the documents that each stands in."""
        self._connection = connection
        self._project = project
        self._lengths = lengths
        self._waiting = waiting or {}
        self._within = None if within is None or len(within) >= lengths.count else within
        lenience = min(max(lengths.mean / LONG_TEXT, 1.0), MOST_LENIENCE)
        self._common_from = int(max(COMMON_FROM, COMMON_SHARE * lengths.count) * lenience)
        self._terms = dict.fromkeys(term for word in words for term in _terms(word))

    def scores(self) -> TextScores:
        """Every memory that holds a telling word of the question, ascending, with its share of what could be scored.

        Some that are not among `within` may be there too.
        """
        standing = {term: self._standing(term) for term in self._terms}
        if self._within is None:
            parts = [self._scored(documents) for documents in self._telling(standing).values()]
        else:
            parts = [self._scored_within(term, documents) for term, documents in standing.items()]
        most = (K1 + 1) * sum(idf for idf, _, _ in parts)
        memories = np.concatenate([memories for _, memories, _ in parts] or [_NONE])
        scores = np.concatenate([scores for _, _, scores in parts] or [_NO_SCORES])
        order = np.argsort(memories, kind="stable")
        memories, starts = _runs(memories[order])
        return TextScores(memories, np.add.reduceat(scores[order], starts) / most if len(starts) else scores)

    def _standing(self, term: str) -> Integers:
        """The documents that a word stands in, ascending, one entry each time, listed no further than just beyond what is common."""
        inner = f"SELECT doc FROM words_{self._project:d} WHERE term = ? LIMIT {self._common_from + 1}"  # noqa: S608 - numbers
        found = self._listed(f"SELECT group_concat(doc) FROM ({inner})", term)  # noqa: S608 - the query above
        return np.concatenate([found, self._waiting.get(term, _NONE)])[: self._common_from + 1]

    def _newest(self, term: str) -> Integers:
        """The newest documents that a common word stands in, ascending, one entry each."""
        table = f"text_{self._project:d}"
        inner = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT {self._common_from + 1}"  # noqa: S608
        found = self._listed(f"SELECT group_concat(rowid) FROM ({inner})", f'"{term}"')[::-1]  # noqa: S608 - the query above
        return np.concatenate([found, self._waiting_documents(term)])[-self._common_from - 1 :]

    def _scored_within(self, term: str, documents: Integers) -> tuple[float, Integers, Floats]:
        """As `_scored`. Of a common word only the few memories that matter are looked at; it counts as held by as many as were counted."""
        count = len(_runs(documents >> 1)[0])
        return self._scored(documents if len(documents) <= self._common_from else self._inside(term), held_by=count)

    def _inside(self, term: str) -> Integers:
        """The documents of the few memories that a word stands in, ascending, one entry each."""
        assert self._within is not None
        table = f"text_{self._project:d}"
        few = json.dumps(np.stack([2 * self._within, 2 * self._within + 1]).ravel().tolist())
        inner = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))"  # noqa: S608
        found = self._listed(f"SELECT group_concat(rowid) FROM ({inner})", f'"{term}"', few)  # noqa: S608
        waiting = self._waiting_documents(term)
        return np.sort(np.concatenate([found, waiting[np.isin(waiting >> 1, self._within)]]))

    def _waiting_documents(self, term: str) -> Integers:
        """The documents that a word stands in of memories that are not in the index yet, ascending, one entry each."""
        return np.array([*dict.fromkeys(self._waiting.get(term, ()))], dtype=np.int64)

    def _listed(self, query: str, *values: str) -> Integers:
        listed = self._connection.execute(query, values).fetchone()[0]
        return np.fromstring(listed or "", dtype=np.int64, sep=",")

    def _telling(self, standing: Mapping[str, Integers]) -> Mapping[str, Integers]:
        """The words that are not common; if none of them occurs, the first common one, where it stands newest."""
        telling = {term: found for term, found in standing.items() if len(found) <= self._common_from}
        common = [term for term in standing if term not in telling]
        if not common or any(len(found) for found in telling.values()):
            return telling
        return {**telling, common[0]: self._newest(common[0])}

    def _scored(self, documents: Integers, *, held_by: int | None = None) -> tuple[float, Integers, Floats]:
        """The idf of a word, and the memories that hold it, ascending, with what it adds to their BM25."""
        memories, starts = _runs(documents >> 1)
        held_by = len(memories) if held_by is None else held_by
        total = self._lengths.count + PRIOR_MEMORIES
        idf = max(math.log((total - held_by + 0.5) / (held_by + 0.5)), 1e-6)
        if not len(memories):
            return idf, memories, _NO_SCORES
        frequency = np.add.reduceat(np.where(documents & 1, OTHER_WEIGHT, 1.0), starts)
        norm = K1 * (1 - B + B * self._lengths.relative(memories))
        return idf, memories, idf * (K1 + 1) * frequency / (frequency + norm)


_NONE = np.empty(0, dtype=np.int64)
_NO_SCORES = np.empty(0)


def _runs(ascending: Integers) -> tuple[Integers, Integers]:
    """The distinct values of an ascending array, and where each begins."""
    is_first = np.ones(len(ascending), dtype=np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    starts = np.flatnonzero(is_first)
    return ascending[starts], starts


def _documents(memory: int, passages: Sequence[Passage]) -> list[tuple[int, str]]:
    own = "\n".join(passage.text for passage in passages if passage.is_own)
    others = "\n".join(
        text for passage in passages for text in ("" if passage.is_own else passage.text, passage.keywords) if text
    )
    return [(2 * memory, own), (2 * memory + 1, others)] if others else [(2 * memory, own)]


def _numbers(encoded: bytes) -> Iterator[int]:
    """The whole numbers of a record of FTS5: groups of seven bits, the greatest first, all but the last with the high bit set."""
    number = 0
    for byte in encoded:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            yield number
            number = 0


class _Tokenizer:
    """FTS5's own tokenizer, which nothing but an FTS5 table gives access to: a table in memory that holds one word at a time."""

    def __init__(self) -> None:
        self._open()
        renewed_in_children(self)

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, content='', {_TOKENIZER})")
        self._connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab('one', 'row')")

    def renew_in_child(self) -> None:
        """Another table, if a thread of the parent was using this one; that one is kept, for to close it would wait for that thread."""
        if self._lock.locked():
            self._left_open = self._connection
            self._open()

    def terms(self, text: str) -> list[tuple[str, int]]:
        """What FTS5 stores for the words of a text, and how often each stands there."""
        with self._lock:
            self._connection.execute("INSERT INTO one (rowid, text) VALUES (1, ?)", (text,))
            found = self._connection.execute("SELECT term, cnt FROM terms").fetchall()
            self._connection.execute("INSERT INTO one (one, rowid, text) VALUES ('delete', 1, ?)", (text,))
            return found


@lru_cache(maxsize=1)
def _tokenizer() -> _Tokenizer:
    return _Tokenizer()


def forget_words() -> None:
    """Lets go of the words that are remembered with their stems: what was purged may be among them."""
    _terms.cache_clear()


@lru_cache(maxsize=8192)
def _terms(word: str) -> tuple[str, ...]:
    return tuple(term for term, _ in _tokenizer().terms(word))
