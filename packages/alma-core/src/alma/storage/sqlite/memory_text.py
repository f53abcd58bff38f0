"""Full text in memory alone, for encrypted stores: FTS5 over a database that is never written to a disk.

It is brought up to date by the passages' journal numbers, as the vector index is, so it sees what other processes wrote.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence

from alma.forking import is_held_elsewhere, renewed_in_children
from alma.storage.relational.seal import Seal
from alma.storage.relational.searched import SearchedRow, searched
from alma.storage.relational.session import Session
from alma.storage.relational.text_index import Searched, WordLists
from alma.storage.sqlite.fulltext import FTS5Index, insert_all
from alma.storage.sqlite.session import Connection
from alma.storage.stems import TOKENIZER

_LISTS = FTS5Index()


class MemoryText:
    """A `TextIndex` that writes nothing: a process makes it when it first searches, and it is gone when the store is closed. Thread-safe.

    A search sees all that its session sees, and may name memories that were written later, which callers leave out.
    """

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        self._start()
        renewed_in_children(self)

    def begin(self, session: Session, project: int, /) -> None:
        """Nothing: the tables are made when a project is first searched."""

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Nothing: the next search reads what was committed."""

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Nothing: the next search reads what was committed."""

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> WordLists:
        """Returns where each stem stands: a limit counts each time that it stands somewhere."""
        ((head, *_),) = session.all("project_ends", {"project": project})
        with self._lock:
            if self._upto.get(project, -1) < head:
                self._catch_up(session, project, head)
            return _LISTS.lists(self._database, project, stems, limit=limit)

    def drop(self) -> None:
        """Forgets all texts."""
        with self._lock:
            self._let_go()

    def renew_in_child(self) -> None:
        """Begins anew if another thread was using it; the database of that thread is kept, for to close it would wait for the thread."""
        if is_held_elsewhere(self._lock):
            self._left_open = self._held
            self._start()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._begin_empty()

    def _begin_empty(self) -> None:
        self._upto: dict[int, int] = {}
        self._held: Connection | None = None

    @property
    def _database(self) -> Connection:
        """The database in memory, made when it is first asked for."""
        if self._held is None:
            self._held = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Connection)
            self._held.execute("PRAGMA temp_store=MEMORY")
        return self._held

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.close()
        self._begin_empty()

    def _catch_up(self, session: Session, project: int, head: int) -> None:
        upto = self._upto.get(project)
        self._database.execute("BEGIN")
        try:
            if upto is None:
                self._make(project)
                self._take(project, session.all("texts_searched", {"project": project}))
            else:
                self._renew(session, project, {"project": project, "after": upto, "upto": head})
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._upto[project] = head

    def _make(self, project: int) -> None:
        self._database.execute(f"CREATE VIRTUAL TABLE text_{project:d} USING fts5(text, {TOKENIZER})")
        self._database.execute(f"CREATE VIRTUAL TABLE words_{project:d} USING fts5vocab('text_{project:d}', 'instance')")
        self._database.execute(f"CREATE TABLE passage_{project:d} (passage INTEGER PRIMARY KEY, memory INTEGER NOT NULL)")

    def _renew(self, session: Session, project: int, span: dict[str, int]) -> None:
        """Takes in anew the memories that changed, and lets go of those that are gone."""
        gone = json.dumps([passage for (passage,) in session.all("removed_since", span)])
        left = f"DELETE FROM passage_{project:d} WHERE passage IN (SELECT value FROM json_each(?)) RETURNING memory"  # noqa: S608 - a number
        changed = {memory for (memory,) in session.all("texts_touched", span)}
        changed |= {memory for (memory,) in self._database.execute(left, (gone,)).fetchall()}
        documents = [(document,) for memory in changed for document in (2 * memory, 2 * memory + 1)]
        self._database.executemany(f"DELETE FROM text_{project:d} WHERE rowid = ?", documents)  # noqa: S608 - a number
        self._take(project, session.all("texts_searched_of", {"rows": json.dumps(sorted(changed))}))

    def _take(self, project: int, rows: Iterator[SearchedRow]) -> None:
        """Takes in passages, given by memory."""

        def taken() -> Iterator[Searched]:
            for memory, passage_rows, passages in searched(rows, project, self._seal):
                numbers.extend((row, memory) for row in passage_rows)
                yield memory, passages

        numbers: list[tuple[int, int]] = []
        insert_all(self._database, project, taken())
        self._database.executemany(f"INSERT OR REPLACE INTO passage_{project:d} VALUES (?, ?)", numbers)  # noqa: S608 - a number
