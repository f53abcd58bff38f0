"""BM25 over the full text of a project.

FTS5 keeps which memory holds which word, and how often; BM25 is computed here from those lists, for all memories at once. FTS5's own `bm25()`
looks up every row that matches, which costs far more than the matching, and has no smoothing: in a store of one memory no word counts anything.
Here each project is taken to hold a few unrelated memories more than it does, a prior on how rare a word is. The lists are remembered.

A score is a *share*: the BM25 of a memory, of the most that BM25 gives to these words, in [0, 1). BM25 is the sum over the words of idf times a
factor below k1 + 1, and others' words weigh as a weaker stream does in BM25F (Robertson and Zaragoza 2009, "The probabilistic relevance framework:
BM25 and beyond").
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma.protocols import TextScores
from alma.storage import fulltext
from alma.storage.lengths import OTHER_WEIGHT
from alma.storage.logical import View
from alma.storage.postings import NOWHERE, Posting
from alma.storage.words import KnownWords

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


class TextQuery:
    """The words of one question, put to one project, or to a few memories of it: those of `within`, ascending."""

    def __init__(self, view: View, words: Sequence[str], cache: KnownWords, within: Integers | None = None) -> None:
        self._connection, self._project = view.connection, view.project
        self._cache = cache
        self._texts, self._asked = cache.brought_up_to_date(view, words)
        self._lengths = self._texts.lengths
        self._within = None if within is None or len(within) >= self._lengths.count else within
        lenience = min(max(self._lengths.mean / LONG_TEXT, 1.0), MOST_LENIENCE)
        self._common_from = int(max(COMMON_FROM, COMMON_SHARE * self._lengths.count) * lenience)

    def scores(self) -> TextScores:
        """Every memory that holds a telling word of the question, ascending, with its share of what could be scored.

        Some that are not among `within` may be there too.
        """
        standing = self._standing()
        if self._within is None:
            telling = list(self._telling(standing).values())
        else:
            telling = [self._inside(term, posting) for term, posting in standing.items()]
        idfs = [self._idf(posting.held_by) for posting in telling]
        most = (K1 + 1) * sum(idfs)
        memories = np.concatenate([_NO_MEMORIES, *(posting.memories for posting in telling)])
        if not len(memories):
            return TextScores(memories.astype(np.int64), np.empty(0))
        scores = self._scored(telling, idfs, memories)
        order = np.argsort(memories, kind="stable")
        memories, starts = _runs(memories[order])
        return TextScores(memories.astype(np.int64), np.add.reduceat(scores[order], starts) / most)

    def _scored(self, telling: Sequence[Posting], idfs: Sequence[float], memories: NDArray[np.int32]) -> Floats:
        """What each word adds to the BM25 of each memory that holds it."""
        frequency = np.concatenate([posting.frequencies for posting in telling]).astype(np.float64)
        norm = K1 * (1 - B + B * self._lengths.relative(memories))
        factors = np.repeat([idf * (K1 + 1) for idf in idfs], [len(posting.memories) for posting in telling])
        return factors * frequency / (frequency + norm)

    def _idf(self, held_by: int) -> float:
        total = self._lengths.count + PRIOR_MEMORIES
        return max(math.log((total - held_by + 0.5) / (held_by + 0.5)), 1e-6)

    def _standing(self) -> dict[str, Posting]:
        """Where each word stands: what is remembered of that, and what has to be read."""
        standing = {term: posting for term, posting in self._asked.lists.items() if self._is_usable(posting)}
        missing = [term for term in self._asked.terms if term not in standing]
        if missing and self._cache.wants_all(len(missing)):
            read = self._read_all()
            self._cache.keep(read, upto=self._texts.upto, is_whole=True)
            standing |= {term: read.get(term, NOWHERE) for term in missing}
        elif missing:
            read = dict(zip(missing, self._read(missing), strict=True))
            self._cache.keep(read, upto=self._texts.upto)
            standing |= read
        return {term: standing[term] for term in self._asked.terms}

    def _is_usable(self, posting: Posting) -> bool:
        """Whether it says what reading would: that a word is common if it is that now, and all else of one that is not."""
        if posting.limit is None:
            return posting.entries <= self._common_from
        return posting.limit == self._common_from if self._within is not None else posting.limit >= self._common_from

    def _read(self, terms: Sequence[str]) -> list[Posting]:
        """Where words stand, read no further than just beyond what is common."""
        inner = f"SELECT doc FROM words_{self._project:d} WHERE term = value LIMIT {self._common_from + 1}"  # noqa: S608 - numbers
        query = f"SELECT (SELECT group_concat(doc) FROM ({inner})) FROM json_each(?)"  # noqa: S608 - the query above
        listed = self._connection.execute(query, (json.dumps(terms),)).fetchall()
        waiting = self._waiting_entries(terms)
        documents = [
            np.concatenate([_numbers(found), waiting[term]])[: self._common_from + 1]
            for term, (found,) in zip(terms, listed, strict=True)
        ]
        return [self._unless_common(posting) for posting in _postings(documents)]

    def _read_all(self) -> dict[str, Posting]:
        """Where every word stands, as `_read` gives it."""
        listed = dict(fulltext.standing(self._connection, self._project))
        waiting = self._waiting_entries({word for documents in self._texts.waiting for _, words in documents for word in words})
        terms = [*listed, *(term for term in waiting if term not in listed)]
        documents = [
            np.concatenate([listed.get(term, _NO_DOCUMENTS), waiting.get(term, _NO_DOCUMENTS)])[: self._common_from + 1]
            for term in terms
        ]
        return dict(zip(terms, map(self._unless_common, _postings(documents)), strict=True)) if terms else {}

    def _unless_common(self, posting: Posting) -> Posting:
        """Where a word stands; of one that is common only how often that was found."""
        if posting.entries <= self._common_from:
            return posting
        return replace(posting, memories=_NO_MEMORIES, frequencies=_NO_FREQUENCIES, limit=self._common_from)

    def _newest(self, term: str) -> Posting:
        """The newest documents that a common word stands in."""
        table = f"text_{self._project:d}"
        inner = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT {self._common_from + 1}"  # noqa: S608
        found = self._listed(f"SELECT group_concat(rowid) FROM ({inner})", f'"{term}"')[::-1]  # noqa: S608 - the query above
        waiting, _ = _runs(self._waiting_entries([term])[term])
        return _postings([np.concatenate([found, waiting])[-self._common_from - 1 :]])[0]

    def _inside(self, term: str, posting: Posting) -> Posting:
        """Where a word stands in the few memories that matter; it counts as held by as many as were counted in all."""
        if posting.limit is None:
            return posting
        assert self._within is not None
        table = f"text_{self._project:d}"
        few = json.dumps(np.stack([2 * self._within, 2 * self._within + 1]).ravel().tolist())
        inner = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND +rowid IN (SELECT value FROM json_each(?))"  # noqa: S608
        found = self._listed(f"SELECT group_concat(rowid) FROM ({inner})", f'"{term}"', few)  # noqa: S608 - the query above
        waiting, _ = _runs(self._waiting_entries([term])[term])
        inside = np.concatenate([found, waiting[np.isin(waiting >> 1, self._within)]])
        return replace(_postings([np.sort(inside)])[0], held_by=posting.held_by)

    def _waiting_entries(self, terms: Iterable[str]) -> Mapping[str, Integers]:
        """The documents that words stand in of memories that are not in the index yet, ascending, one entry each time."""
        held: dict[str, list[int]] = {term: [] for term in terms}
        for documents in self._texts.waiting:
            for document, words in documents:
                for term in held.keys() & words.keys():
                    held[term] += [document] * words[term]
        return {term: np.array(entries, dtype=np.int64) for term, entries in held.items()}

    def _listed(self, query: str, *values: str) -> Integers:
        return _numbers(self._connection.execute(query, values).fetchone()[0])

    def _telling(self, standing: Mapping[str, Posting]) -> Mapping[str, Posting]:
        """The words that are not common; if none of them occurs, the first common one, where it stands newest."""
        telling = {term: posting for term, posting in standing.items() if posting.limit is None}
        common = [term for term in standing if term not in telling]
        if not common or any(posting.held_by for posting in telling.values()):
            return telling
        return {**telling, common[0]: self._newest(common[0])}


_NO_DOCUMENTS = np.empty(0, dtype=np.int64)
_NO_MEMORIES = np.empty(0, dtype=np.int32)
_NO_FREQUENCIES = np.empty(0, dtype=np.float32)


def _numbers(listed: str | None) -> Integers:
    """The whole numbers of a list with commas."""
    return np.fromstring(listed or "", dtype=np.int64, sep=",")


def _postings(listed: Sequence[Integers]) -> list[Posting]:
    """The memories of lists of documents, each ascending, with one entry each time that a word stands there."""
    documents = np.concatenate(listed)
    ends = np.cumsum([len(each) for each in listed])
    is_first = np.ones(len(documents), dtype=np.bool_)
    is_first[1:] = documents[1:] >> 1 != documents[:-1] >> 1
    is_first[ends[:-1][ends[:-1] < len(documents)]] = True
    starts = is_first.nonzero()[0]
    weights = np.where(documents & 1, OTHER_WEIGHT, 1.0)
    memories = (documents[starts] >> 1).astype(np.int32)
    frequencies = (np.add.reduceat(weights, starts) if len(starts) else weights).astype(np.float32)
    borders = [0, *starts.searchsorted(ends).tolist()]
    return [
        Posting(memories[first:last].copy(), frequencies[first:last].copy(), len(each), last - first)
        for each, first, last in zip(listed, borders, borders[1:], strict=False)
    ]


def _runs(ascending: NDArray[Any]) -> tuple[NDArray[Any], Integers]:
    """The distinct values of an ascending array, and where each begins."""
    is_first = np.ones(len(ascending), dtype=np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    starts = np.flatnonzero(is_first)
    return ascending[starts], starts
