"""What is remembered of a project's words, brought up to date before each question: how long its texts are, and where asked words stand."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

from alma.forking import renewed_in_children
from alma.storage import compiled
from alma.storage.fulltext import documents_of
from alma.storage.lengths import OTHER_WEIGHT, LengthRow, TextLengths
from alma.storage.logical import View
from alma.storage.postings import Piece, Posting, Postings
from alma.storage.stems import stemmer
from alma.storage.waiting import searched

FEW = 200
"""So many passages since the last question are cut into words here; beyond, it is quicker to read the lists again."""

Documents = Sequence[tuple[int, Mapping[str, int]]]
"""The documents of a memory: the number of each, and its words with how often they stand there."""


class KnownWords:
    """Caches of one project, which may be dropped at any time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Mapping[int, Documents] = {}
        self._start()
        renewed_in_children(self)

    def brought_up_to_date(self, view: View) -> tuple[int, TextLengths, Sequence[Documents]]:
        """The newest journal `seq` that the view sees, the lengths of texts as of then or later, and the memories that full text lacks then."""
        head, unindexed = view.connection.execute(compiled.PROJECT_TEXT, {"project": view.project}).fetchone()
        waiting = json.loads(unindexed)
        with self._lock:
            if self._lengths.upto < head:
                self._catch_up(view, {"project": view.project, "after": self._lengths.upto, "upto": head}, waiting)
            known = self._waiting
            if any(memory not in known for memory in waiting):
                known = _words_of(view, waiting)
            return head, self._lengths, [known[memory] for memory in waiting]

    def postings(self, words: Iterable[str], *, upto: int) -> dict[str, Posting]:
        """Where those of the words stand of which it is known, as of `upto`."""
        with self._lock:
            return self._postings.known(words, upto=upto)

    def keep(self, read: Mapping[str, Posting], *, upto: int) -> None:
        """Remembers where words stand as of `upto`, if that is the newest moment known."""
        with self._lock:
            self._postings.keep(read, upto=upto)

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

    def _catch_up(self, view: View, span: Mapping[str, int], waiting: Sequence[int]) -> None:
        if view.connection.execute(compiled.REMOVED_ANY, span).fetchone():
            self._start()
            span = {**span, "after": 0}
        rows = view.connection.execute(compiled.LENGTHS, span).fetchall()
        if self._postings.upto == span["after"] and _are_new(rows, self._lengths):
            self._add({memory for memory, length in rows if length}, view, waiting, upto=span["upto"])
        else:
            self._waiting = _words_of(view, waiting)
            self._postings.clear(upto=span["upto"])
        self._lengths.take(rows, upto=span["upto"])

    def _add(self, added: set[int], view: View, waiting: Sequence[int], *, upto: int) -> None:
        wanted = added.union(waiting) if len(self._postings) else set(waiting)
        words = {**self._waiting, **_words_of(view, sorted(wanted - self._waiting.keys()))}
        self._waiting = {memory: words[memory] for memory in waiting}
        self._postings.add(_pieces(words[memory] for memory in sorted(added & words.keys())), upto=upto)


def _are_new(rows: Sequence[LengthRow], lengths: TextLengths) -> bool:
    """Whether these are few memories that came after all others."""
    return len(rows) <= FEW and all(memory > lengths.newest for memory, _ in rows)


def _words_of(view: View, memories: Sequence[int]) -> dict[int, Documents]:
    """The words of memories, as full text has them or would have them."""
    if not memories:
        return {}
    documents = [found for memory, passages in searched(view, memories) for found in documents_of(memory, passages)]
    words = stemmer().of_texts([text for _, text in documents])
    result: dict[int, list[tuple[int, Mapping[str, int]]]] = {memory: [] for memory in memories}
    for (document, _), found in zip(documents, words, strict=True):
        result[document >> 1].append((document, found))
    return dict(result)


def _pieces(memories: Iterable[Documents]) -> Iterator[Piece]:
    for documents in memories:
        for document, words in documents:
            yield document >> 1, OTHER_WEIGHT if document & 1 else 1.0, words
