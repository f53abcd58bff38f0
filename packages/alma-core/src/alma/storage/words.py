"""What is remembered of a project's texts, brought up to date before each question: whose they are, how long, and where asked words stand."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from alma.forking import renewed_in_children
from alma.storage import compiled
from alma.storage.fulltext import documents_of
from alma.storage.logical import View
from alma.storage.postings import Crowd, Piece, Posting, Postings
from alma.storage.stems import stemmer
from alma.storage.text_table import OTHER_WEIGHT, Integers, TextScope, TextTable
from alma.storage.waiting import searched

MOST_ADDED = 200
"""So many passages since the last question are cut into words here; beyond, it is quicker to read the lists again."""

WHOLE_MEMORIES = 20_000
WHOLE_BYTES = 4 << 20
"""The lists of a project of at most so many memories, of at most so much text together, are read all at once when enough were read one by one.
That takes as long as to read some thousand of them, and then the words of a question cost nothing."""

ONE_BY_ONE = 64, 4096
"""So many lists are read one by one before all are: at first, and at most, where they had to be read again and again."""

Documents = Sequence[tuple[int, Mapping[str, int]]]
"""The documents of a memory: the number of each, and its words with how often they stand there."""


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words of a question without endings, where those of them stand that were asked for before, and in which scope they are asked for.

    All is as of the journal `seq` of `upto`; the scope, as of then or later. `waiting` are the memories that full text lacks.
    """

    terms: Sequence[str]
    lists: Mapping[str, Posting | Crowd]
    scope: TextScope
    waiting: Sequence[Documents]
    upto: int


class KnownWords:
    """Caches of one project, which may be dropped at any time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Mapping[int, Documents] = {}
        self._read, self._patience = 0, ONE_BY_ONE[0]
        self._start()
        renewed_in_children(self)

    def brought_up_to_date(self, view: View, asked: Sequence[str], partitions: Sequence[int]) -> AskedWords:
        """What is known of the words of a question and of a scope as of the newest journal `seq` that the view sees."""
        head, unindexed = view.connection.execute(compiled.PROJECT_TEXT, {"project": view.project}).fetchone()
        waiting = json.loads(unindexed)
        with self._lock:
            if self._texts.upto < head:
                terms = self._catch_up(view, asked, waiting, head)
                words = self._waiting
            else:
                terms, cut = _cut(view, asked, [memory for memory in waiting if memory not in self._waiting])
                words = {**self._waiting, **cut}
            lists = self._postings.known(terms, upto=head)
            scope = self._texts.scope(tuple(partitions))
        return AskedWords(terms, lists, scope, [words[memory] for memory in waiting], head)

    def wants_all(self, count: int) -> bool:
        """Whether to read where all words stand, once that so many more have to be read; says so to one who asks and not to the next."""
        with self._lock:
            self._read += count
            if self._read < self._patience or not self._texts.is_within(memories=WHOLE_MEMORIES, total_length=WHOLE_BYTES):
                return False
            self._read, self._patience = 0, min(2 * self._patience, ONE_BY_ONE[1])
            return True

    def keep(self, read: Mapping[str, Posting | Crowd], *, upto: int, is_whole: bool = False) -> None:
        """Remembers where words stand as of `upto`, all there are if `is_whole`, if that is the newest moment known."""
        with self._lock:
            self._postings.keep(read, upto=upto, is_whole=is_whole)

    def forget(self) -> None:
        """Lets go of all words: what was purged may be among them."""
        stemmer().forget()
        with self._lock:
            self._waiting = {}
            self._postings.clear(upto=self._texts.upto)

    def renew_in_child(self) -> None:
        """Keeps what is known, unless another thread was changing it."""
        if self._lock.locked():
            self._start()
        self._lock = threading.Lock()

    def _start(self) -> None:
        self._texts, self._postings, self._waiting = TextTable(), Postings(), {}

    def _catch_up(self, view: View, asked: Sequence[str], waiting: Sequence[int], head: int) -> Sequence[str]:
        """Takes in what was written since, and gives the words of a question without endings: all are cut in one go."""
        since = self._texts.upto
        added = self._take(view, since, head)
        is_growing = added is not None and self._postings.upto == since
        known = self._waiting if is_growing else {}
        new = (
            set(self._texts.with_text(added).tolist())
            if added is not None and is_growing and self._postings.takes_words
            else set()
        )
        terms, cut = _cut(view, asked, sorted(new.union(waiting).difference(known)))
        words = {**known, **cut}
        if is_growing:
            self._postings.add(_pieces((words[memory] for memory in sorted(new)), self._texts.memories), upto=head)
        else:
            self._postings.clear(upto=head)
        self._waiting = {memory: words[memory] for memory in waiting}
        return terms

    def _take(self, view: View, since: int, head: int) -> Integers | None:
        """Brings the table of texts up to date. The memories that were added, if they are few and nothing else was changed, else `None`."""
        span = {"project": view.project, "after": since, "upto": head}
        if view.connection.execute(compiled.REMOVED_ANY, span).fetchone():
            self._start()
        elif since:
            rows = view.connection.execute(compiled.TEXTS_SINCE, span).fetchall()
            before = len(self._texts.memories)
            if self._texts.take(rows, upto=head):
                added = self._texts.memories[before:]
                return added if len(rows) <= MOST_ADDED and {row[0] for row in rows} == set(added.tolist()) else None
            self._start()
        self._texts.take(view.connection.execute(compiled.TEXTS, {**span, "after": 0}).fetchall(), upto=head)
        return None


def _cut(view: View, asked: Sequence[str], memories: Sequence[int]) -> tuple[Sequence[str], dict[int, Documents]]:
    """The words of a question, and those of memories as full text has them or would have them."""
    passages = searched(view, memories) if memories else ()
    documents = [found for memory, said in passages for found in documents_of(memory, said)]
    terms, words = stemmer().stems(asked, [text for _, text in documents])
    result: dict[int, list[tuple[int, Mapping[str, int]]]] = {memory: [] for memory in memories}
    for (document, _), found in zip(documents, words, strict=True):
        result[document >> 1].append((document, found))
    return terms, dict(result)


def _pieces(added: Iterable[Documents], memories: Integers) -> Iterator[Piece]:
    for documents in added:
        for document, words in documents:
            yield int(np.searchsorted(memories, document >> 1)), OTHER_WEIGHT if document & 1 else 1.0, words
