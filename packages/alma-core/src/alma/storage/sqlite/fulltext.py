"""Full text by FTS5: one table a project, a cache in the same transaction as the rows.

FTS5 gets the stems of `alma.storage.relational.text_index`, keyed hashes of these in an encrypted store, and leaves them as they are. They are
sorted: FTS5 keeps the place of each, and in a file that shows the order of hashes these could be guessed. A memory has two documents, its own words
under twice its row number and the words of others one above, so that a document's number alone says whose words they are.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing

import numpy as np

from alma.storage.relational.session import Seal, Session, terms_of
from alma.storage.relational.text_index import OTHER_WEIGHT, Integers, Searched, WordList, own_and_other
from alma.storage.sqlite.connections import Connection, connection_of

_TABLES = ("data", "idx", "config")
"""The tables behind a full-text table without content, as FTS5 defines them (https://www.sqlite.org/fts5.html, section 9)."""


class FTS5Index:
    """The `TextIndex` of a SQLite file under a seal."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    def begin(self, session: Session, project: int, /) -> None:
        """Makes the tables of a project empty, whatever is left of them.

        FTS5 drops no table whose index it cannot read. So the tables behind it get the content of an empty index first.
        """
        connection, names = connection_of(session), [f"text_{project:d}_{table}" for table in _TABLES]
        if connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name IN (?, ?, ?)", (f"words_{project:d}", f"text_{project:d}", names[0])
        ).fetchone():
            with closing(sqlite3.connect(":memory:", factory=Connection)) as model:
                create(model, project)
                for name in names:
                    _copy_table(name, model, connection)
            for name in (f"words_{project:d}", f"text_{project:d}", *names, f"text_{project:d}_docsize"):
                connection.execute(f"DROP TABLE IF EXISTS {name}")
        create(connection, project)

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable."""
        self._write(session, f"INSERT INTO text_{project:d} (rowid, text) SELECT ", memories)

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again. The table keeps no text, so it gets the words again."""
        self._write(session, f"INSERT INTO text_{project:d} (text_{project:d}, rowid, text) SELECT 'delete', ", memories)

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> Sequence[WordList]:
        """Returns where each stem stands: a limit counts each time that it stands somewhere."""
        inner = f"SELECT doc FROM words_{project:d} WHERE term = value LIMIT {-1 if limit is None else limit:d}"  # noqa: S608 - numbers
        query = f"SELECT (SELECT group_concat(doc) FROM ({inner})) FROM json_each(?)"  # noqa: S608 - the query above
        found = connection_of(session).execute(query, (json.dumps(list(terms_of(self._seal, stems))),))
        return [_word_list(np.fromstring(listed or "", dtype=np.int64, sep=","), limit) for (listed,) in found]

    def _write(self, session: Session, statement: str, memories: Iterable[Searched]) -> None:
        """Runs one statement for all documents of memories: before each, FTS5 would write what it gathered."""
        documents = []
        for memory, passages in memories:
            own, others = own_and_other(passages)
            documents.append((2 * memory, " ".join(sorted(terms_of(self._seal, own)))))
            if others:
                documents.append((2 * memory + 1, " ".join(sorted(terms_of(self._seal, others)))))
        if documents:
            columns = "json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)"
            connection_of(session).execute(statement + columns, (json.dumps(documents),))


def create(connection: sqlite3.Connection, project: int) -> None:
    """Makes the tables of a project: the index, and the view of it that lists where a word stands."""
    table = f"text_{project:d}"
    connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(text, content='', columnsize=0, tokenize='ascii')")
    connection.execute(f"CREATE VIRTUAL TABLE words_{project:d} USING fts5vocab('{table}', 'instance')")
    # By default each transaction merges a little. Without that FTS5 merges 16 segments at once, which takes a third less time of a write and
    # reads as quickly: .153 -> .109 ms at 1,000 texts, .185 -> .134 ms at 10,000 (29 November 2026, LongMemEval turns, one a transaction).
    # With 64 or 256 segments writes gain nothing more, and reading takes 2 to 9 times as long.
    connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', 0)")  # noqa: S608 - a number


def optimize(connection: sqlite3.Connection, project: int) -> None:
    """Merges all segments into one; only then are the words of documents that were taken out gone from the file."""
    connection.execute(f"INSERT INTO text_{project:d} (text_{project:d}) VALUES ('optimize')")  # noqa: S608 - a number


def _copy_table(name: str, source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    (definition,) = source.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    target.execute(f"DROP TABLE IF EXISTS {name}")
    target.execute(definition)
    for row in source.execute(f"SELECT * FROM {name}"):  # noqa: S608 - one of our own names
        target.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in row)})", row)  # noqa: S608


def _word_list(documents: Integers, limit: int | None) -> WordList:
    """Returns the memories of ascending documents, one for each time that a word stands there."""
    memories = documents >> 1
    starts = np.flatnonzero(np.diff(memories, prepend=-1))
    weights = np.where(documents & 1, OTHER_WEIGHT, 1.0)
    counts = (np.add.reduceat(weights, starts) if len(starts) else weights).astype(np.float32)
    return WordList(memories[starts], counts, limit is None or len(documents) < limit)
