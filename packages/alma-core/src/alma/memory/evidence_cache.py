"""Cache of the evidence that questions use, kept between questions and updated before each."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from alma.forking import renewed_in_children
from alma.learning.catching_up import catch_up
from alma.learning.ledger import Book, Ledger, Owners
from alma.protocols import Project


class Books:
    """Cached evidence of one project. Thread-safe."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._ledger: Ledger | None = None
        self._lock = threading.RLock()
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Starts with an empty cache: another thread of the parent may have held the lock."""
        self._lock = threading.RLock()
        self._ledger = None

    @contextmanager
    def of(self, agents: Owners, empty: Callable[[int], Ledger]) -> Iterator[Book]:
        """Yields the newest evidence of some agents, as of now. One thread at a time holds it. `empty` makes an empty ledger as of a journal
        record."""
        with self._lock, self._project.moment():
            learned, ledger = self._project.learned, self._ledger
            upto = learned.upto()
            if ledger is not None and ledger.upto > upto:  # what this thread reads is of before: the cache is for others
                past = empty(upto)
                past.read([agents], learned, self._project.vectors)
                yield past.books[agents]
                return
            self._ledger = None  # a failed update must not be used again
            if ledger is not None and ledger.upto < upto:
                entries = self._project.entries(after=ledger.upto)
                is_current = catch_up(ledger, entries, upto=upto, learned=learned, vectors_of=self._project.vectors)
                ledger = ledger if is_current else None
            if ledger is None or ledger.upto != upto:
                ledger = empty(upto)
            ledger.read([agents], learned, self._project.vectors)
            yield ledger.books[agents]
            ledger.shrink()  # not after an error: a question changes it, and an interrupt may leave that half done
            self._ledger = None if ledger.is_provisional else ledger

    def drop(self) -> None:
        """Drops all evidence, and the texts in it."""
        with self._lock:
            self._ledger = None
