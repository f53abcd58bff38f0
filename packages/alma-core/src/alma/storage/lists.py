"""Where the words of a question stand in a scope, read from full text no further than the scope needs.

What is listed depends on the memories of the scope alone: whether a word is common is counted there, and of a list that goes on without an end in
sight only so much is read as shows that. How far that is depends on the others, and so does the time it takes, but nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from alma.storage import fulltext
from alma.storage.logical import View
from alma.storage.postings import NOWHERE, Crowd, Posting, postings_of
from alma.storage.text_table import Integers
from alma.storage.words import AskedWords, KnownWords
from alma.types.found import CommonWords, TextLists

FURTHER = 8
"""How many times as much of a list is read next, where what was read does not show that the word is common."""

KEPT_WHOLE = 16_000
"""Of a word that is common in the scope that asks for it a longer list is not kept: too few smaller scopes need it."""


class ScopedWords:
    """The words of one question, put to one scope of a project."""

    def __init__(
        self, view: View, words: Sequence[str], partitions: Sequence[int], common: CommonWords, cache: KnownWords
    ) -> None:
        self._connection, self._project = view.connection, view.project
        self._cache, self._common = cache, common
        self._asked: AskedWords = cache.brought_up_to_date(view, words, partitions)
        self._scope = self._asked.scope
        self._most = common.most(self._scope.count)

    def lists(self) -> TextLists:
        """The lists of the words that are not common; if none of them occurs, the end of that of the first common one."""
        rare, common = self._told_apart()
        found = self._inside(rare)
        if common and not any(found.sizes):
            newest, held_by = self._newest(common[0])
            return replace(
                found,
                places=newest.places,
                frequencies=newest.frequencies,
                sizes=[*found.sizes, len(newest.places)],
                held_by=[*found.held_by, held_by],
            )
        return found

    def _told_apart(self) -> tuple[list[Posting], list[str]]:
        """Where the words stand that are not common in the scope, and the words that are; both in the order of the question."""
        standing = self._standing()
        rare, common = [], []
        for term in self._asked.terms:
            held = standing[term]
            if isinstance(held, Posting) and (len(held.places) <= self._most or held.held_by(self._scope) <= self._most):
                rare.append(held)
            else:
                common.append(term)
        return rare, common

    def _inside(self, postings: Sequence[Posting]) -> TextLists:
        """The memories of the scope that words stand in."""
        scope = self._scope
        places = np.concatenate([NOWHERE.places, *(posting.places for posting in postings)])
        frequencies = np.concatenate([NOWHERE.frequencies, *(posting.frequencies for posting in postings)])
        sizes = [len(posting.places) for posting in postings]
        if scope.is_open is not None:
            inside = scope.is_open[scope.slots[places]]
            places, frequencies = places[inside], frequencies[inside]
            ends = np.concatenate([[0], inside.cumsum()])[np.cumsum(sizes, dtype=np.int64)].tolist()
            sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        return TextLists(scope.memories, scope.lengths, scope.count, scope.total_length, places, frequencies, sizes, sizes)

    def _standing(self) -> Mapping[str, Posting | Crowd]:
        """Where each word stands in the project, or that it is common in the scope: what is remembered of that, and what has to be read."""
        standing = {term: held for term, held in self._asked.lists.items() if self._suffices(held)}
        missing = [term for term in self._asked.terms if term not in standing]
        if not missing:
            return standing
        is_whole = self._cache.wants_all(len(missing))
        read = self._read_all() if is_whole else self._read(missing)
        self._cache.keep(read, upto=self._asked.upto, is_whole=is_whole)
        return {**dict.fromkeys(missing, NOWHERE), **read, **standing}

    def _suffices(self, held: Posting | Crowd) -> bool:
        return isinstance(held, Posting) or held.held_by(self._scope) > self._most

    def _read(self, terms: Sequence[str]) -> dict[str, Posting | Crowd]:
        """Lists as far as the scope needs them: to their end, or until the word is seen to be common."""
        scope, read = self._scope, dict[str, Posting | Crowd]()
        limit = self._first_limit()
        while terms:
            listed = self._documents(terms, limit)
            are_whole = [limit is None or len(documents) < limit for documents in listed]
            for term, posting, is_whole in zip(terms, self._postings(terms, listed, are_whole), are_whole, strict=True):
                is_common = posting.held_by(scope) > self._most
                if is_whole and not (is_common and len(posting.places) > KEPT_WHOLE):
                    read[term] = posting
                elif is_common:
                    read[term] = Crowd.of(posting, scope)
            terms = [term for term in terms if term not in read]
            limit = None if limit is None else FURTHER * limit
        return read

    def _read_all(self) -> dict[str, Posting | Crowd]:
        """The lists of all words."""
        listed = dict(fulltext.standing(self._connection, self._project))
        terms = list(listed.keys() | {term for documents in self._asked.waiting for _, words in documents for term in words})
        documents = [listed.get(term, _NO_DOCUMENTS) for term in terms]
        return dict(zip(terms, self._postings(terms, documents, [True] * len(terms)), strict=True))

    def _first_limit(self) -> int | None:
        """How much of a list to read at first: twice what is common, if the scope's memories are spread evenly. `None` if no word can be common."""
        count = self._scope.count
        if count <= self._most:
            return None
        return 2 * (self._most + 1) * max(len(self._scope.memories), count) // count

    def _newest(self, term: str) -> tuple[Posting, int]:
        """Where a common word stands in the newest memories that hold it, and how many do."""
        held = self._asked.lists.get(term)
        if not isinstance(held, Posting):
            (held,) = self._postings([term], self._documents([term], None), [True])
            self._cache.keep({term: held}, upto=self._asked.upto)
        inside, newest = held.within(self._scope), self._common.newest
        return Posting(inside.places[-newest:], inside.frequencies[-newest:]), len(inside.places)

    def _documents(self, terms: Sequence[str], limit: int | None) -> list[Integers]:
        """The first documents of the index that words stand in, one entry each time."""
        inner = f"SELECT doc FROM words_{self._project:d} WHERE term = value LIMIT {-1 if limit is None else limit:d}"  # noqa: S608 - numbers
        query = f"SELECT (SELECT group_concat(doc) FROM ({inner})) FROM json_each(?)"  # noqa: S608 - the query above
        return [_numbers(found) for (found,) in self._connection.execute(query, (json.dumps(list(terms)),))]

    def _postings(self, terms: Sequence[str], listed: Sequence[Integers], are_whole: Sequence[bool]) -> list[Posting]:
        """The lists that were read, whole ones with the memories that are not in the index yet, whose numbers are greater."""
        waiting: dict[str, list[int]] = {term: [] for term, is_whole in zip(terms, are_whole, strict=True) if is_whole}
        for documents in self._asked.waiting:
            for document, words in documents:
                for term in waiting.keys() & words.keys():
                    waiting[term] += [document] * words[term]
        whole = [
            np.concatenate([documents, np.array(waiting[term], dtype=np.int64)]) if waiting.get(term) else documents
            for term, documents in zip(terms, listed, strict=True)
        ]
        return postings_of(whole, self._scope.memories) if whole else []


_NO_DOCUMENTS = np.empty(0, dtype=np.int64)


def _numbers(listed: str | None) -> Integers:
    """The whole numbers of a list with commas."""
    return np.fromstring(listed or "", dtype=np.int64, sep=",")
