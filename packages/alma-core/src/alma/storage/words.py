"""What is remembered of a project's words, brought up to date before each question: how long its texts are, and where asked words stand."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from alma.forking import renewed_in_children
from alma.storage import compiled
from alma.storage.fulltext import documents_of
from alma.storage.lengths import OTHER_WEIGHT, LengthRow, TextLengths
from alma.storage.logical import View
from alma.storage.postings import Piece, Posting, Postings
from alma.storage.stems import stemmer
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
class Texts:
    """A project's texts as of the journal `seq` of `upto`: their lengths (as of then or later), and the memories that full text lacks."""

    upto: int
    lengths: TextLengths
    waiting: Sequence[Documents]


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words of a question without endings, and where those of them stand that were asked for before."""

    terms: Sequence[str]
    lists: Mapping[str, Posting]


class KnownWords:
    """Caches of one project, which may be dropped at any time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Mapping[int, Documents] = {}
        self._read, self._patience = 0, ONE_BY_ONE[0]
        self._start()
        renewed_in_children(self)

    def brought_up_to_date(self, view: View, asked: Sequence[str]) -> tuple[Texts, AskedWords]:
        """The texts as of the newest journal `seq` that the view sees, and what is known then of the words of a question."""
        head, unindexed = view.connection.execute(compiled.PROJECT_TEXT, {"project": view.project}).fetchone()
        waiting = json.loads(unindexed)
        with self._lock:
            if self._lengths.upto < head:
                terms = self._catch_up(view, asked, waiting, head)
                words = self._waiting
            else:
                terms, cut = _cut(view, asked, [memory for memory in waiting if memory not in self._waiting])
                words = {**self._waiting, **cut}
            texts = Texts(head, self._lengths, [words[memory] for memory in waiting])
            return texts, AskedWords(terms, self._postings.known(terms, upto=head))

    def wants_all(self, count: int) -> bool:
        """Whether to read where all words stand, once that so many more have to be read; says so to one who asks and not to the next."""
        with self._lock:
            self._read += count
            is_small = self._lengths.count <= WHOLE_MEMORIES and self._lengths.total <= WHOLE_BYTES
            if self._read < self._patience or not is_small:
                return False
            self._read, self._patience = 0, min(2 * self._patience, ONE_BY_ONE[1])
            return True

    def keep(self, read: Mapping[str, Posting], *, upto: int, is_whole: bool = False) -> None:
        """Remembers where words stand as of `upto`, all there are if `is_whole`, if that is the newest moment known."""
        with self._lock:
            self._postings.keep(read, upto=upto, is_whole=is_whole)

    def forget(self) -> None:
        """Lets go of all words: what was purged may be among them."""
        stemmer().forget()
        with self._lock:
            self._waiting = {}
            self._postings.clear(upto=self._lengths.upto)

    def renew_in_child(self) -> None:
        """Keeps what is known, unless another thread was changing it."""
        if self._lock.locked():
            self._start()
        self._lock = threading.Lock()

    def _start(self) -> None:
        self._lengths, self._postings, self._waiting = TextLengths(), Postings(), {}

    def _catch_up(self, view: View, asked: Sequence[str], waiting: Sequence[int], head: int) -> Sequence[str]:
        """Takes in what was written since, and gives the words of a question without endings: all are cut in one go."""
        span = {"project": view.project, "after": self._lengths.upto, "upto": head}
        if view.connection.execute(compiled.REMOVED_ANY, span).fetchone():
            self._start()
            span["after"] = 0
        rows = view.connection.execute(compiled.LENGTHS, span).fetchall()
        is_growing = self._postings.upto == span["after"] and _are_new(rows, self._lengths)
        known = self._waiting if is_growing else {}
        added = {memory for memory, length in rows if length} if is_growing and self._postings.takes_words else set()
        terms, cut = _cut(view, asked, sorted(added.union(waiting).difference(known)))
        words = {**known, **cut}
        if is_growing:
            self._postings.add(_pieces(words[memory] for memory in sorted(added)), upto=head)
        else:
            self._postings.clear(upto=head)
        self._waiting = {memory: words[memory] for memory in waiting}
        self._lengths.take(rows, upto=head)
        return terms


def _are_new(rows: Sequence[LengthRow], lengths: TextLengths) -> bool:
    """Whether these are few memories that came after all others."""
    return len(rows) <= MOST_ADDED and all(memory > lengths.newest for memory, _ in rows)


def _cut(view: View, asked: Sequence[str], memories: Sequence[int]) -> tuple[Sequence[str], dict[int, Documents]]:
    """The words of a question, and those of memories as full text has them or would have them."""
    passages = searched(view, memories) if memories else ()
    documents = [found for memory, said in passages for found in documents_of(memory, said)]
    terms, words = stemmer().stems(asked, [text for _, text in documents])
    result: dict[int, list[tuple[int, Mapping[str, int]]]] = {memory: [] for memory in memories}
    for (document, _), found in zip(documents, words, strict=True):
        result[document >> 1].append((document, found))
    return terms, dict(result)


def _pieces(memories: Iterable[Documents]) -> Iterator[Piece]:
    for documents in memories:
        for document, words in documents:
            yield document >> 1, OTHER_WEIGHT if document & 1 else 1.0, words
