"""The evidence that questions are put to, kept from one question to the next and brought up to date before each."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from alma.forking import renewed_in_children
from alma.learning.catching_up import catch_up
from alma.learning.ledger import Agents, Book, Ledger
from alma.protocols import Project


class Books:
    """The books of one project. `empty` makes a ledger as of a record, of which nothing was read yet. Thread-safe."""

    def __init__(self, project: Project, empty: Callable[[int], Ledger]) -> None:
        self._project = project
        self._empty = empty
        self._ledger: Ledger | None = None
        self._lock = threading.Lock()
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Starts anew: another thread of the parent may have had the lock."""
        self._lock = threading.Lock()
        self._ledger = None

    @contextmanager
    def of(self, agents: Agents) -> Iterator[Book]:
        """The newest evidence of some agents, as of now. One thread at a time has it."""
        with self._lock, self._project.moment():
            learned, ledger = self._project.learned, self._ledger
            upto = learned.upto()
            self._ledger = None  # what fails half-way is never used again
            if ledger is not None and ledger.upto < upto:
                entries = self._project.entries(after=ledger.upto)
                is_current = catch_up(ledger, entries, upto=upto, learned=learned, vectors_of=self._project.vectors)
                ledger = ledger if is_current else None
            if ledger is None or ledger.upto != upto:
                ledger = self._empty(upto)
            ledger.read([agents], learned, self._project.vectors)
            try:
                yield ledger.books[agents]
            finally:
                ledger.shrink()
                self._ledger = ledger

    def drop(self) -> None:
        """Lets go of all evidence, and the texts in it."""
        with self._lock:
            self._ledger = None
