"""Full text by FTS5: one table a project, a cache in the same transaction as the rows.

A memory has two documents, its own words under twice its row number and the words of others one above, so that a document's number alone says
whose words they are.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, groupby

import numpy as np

from alma.storage.relational.logical import View
from alma.storage.relational.session import Session
from alma.storage.relational.text_index import OTHER_WEIGHT, Integers, Searched, WordLists, own_and_other
from alma.storage.sqlite.session import connection_of
from alma.storage.stems import TOKENIZER
from alma.types.passages import Passage

FEW = 4
"""At most this number of memories are made searchable by one statement."""

_TABLES = ("data", "idx", "docsize", "config")
"""The tables behind a full-text table without content, as FTS5 defines them (https://www.sqlite.org/fts5.html, section 9)."""

_LIVE = """
    SELECT passage.memory, position, is_own, text, keywords FROM passage JOIN memory ON memory.row = passage.memory
    WHERE memory.project = ? AND archived_at IS NULL ORDER BY passage.memory, position"""


class FTS5Index:
    """The `TextIndex` of a SQLite file."""

    def begin(self, session: Session, project: int, /) -> None:
        """Makes the tables of a new project."""
        create(connection_of(session), project)

    def put(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Makes memories searchable."""
        searched = list(memories)
        if 0 < len(searched) <= FEW:
            insert_together(connection_of(session), project, searched)
        else:
            insert_all(connection_of(session), project, searched)

    def remove(self, session: Session, project: int, memories: Iterable[Searched], /) -> None:
        """Takes memories out again. The table keeps no text, so it gets the words again."""
        searched = list(memories)
        run = remove_together if 0 < len(searched) <= FEW else remove_all
        run(connection_of(session), project, searched)

    def lists(self, session: Session, project: int, stems: Sequence[str], /, *, limit: int | None) -> WordLists:
        """Returns where each stem stands: a limit counts each time that it stands somewhere."""
        inner = f"SELECT doc FROM words_{project:d} WHERE term = value LIMIT {-1 if limit is None else limit:d}"  # noqa: S608 - numbers
        query = f"SELECT (SELECT group_concat(doc) FROM ({inner})) FROM json_each(?)"  # noqa: S608 - the query above
        found = connection_of(session).execute(query, (json.dumps(list(stems)),))
        return _word_lists([np.fromstring(listed or "", dtype=np.int64, sep=",") for (listed,) in found], limit)


def _word_lists(listed: Sequence[Integers], limit: int | None) -> WordLists:
    """The memories of lists of documents: each ascends, with one entry each time that the word stands there."""
    documents = np.concatenate([np.empty(0, dtype=np.int64), *listed])
    ends = np.cumsum([len(each) for each in listed], dtype=np.int64)
    is_first = np.ones(len(documents), dtype=np.bool_)
    is_first[1:] = documents[1:] >> 1 != documents[:-1] >> 1
    is_first[ends[:-1][ends[:-1] < len(documents)]] = True
    starts = is_first.nonzero()[0]
    weights = np.where(documents & 1, OTHER_WEIGHT, 1.0)
    frequencies = (np.add.reduceat(weights, starts) if len(starts) else weights).astype(np.float32)
    sizes = np.diff(starts.searchsorted(ends), prepend=0).tolist()
    return WordLists(documents[starts] >> 1, frequencies, sizes, [limit is None or len(each) < limit for each in listed])


def create(connection: sqlite3.Connection, project: int) -> None:
    """Makes the tables of a project: the index, and the view of it that lists where a word stands."""
    connection.execute(f"CREATE VIRTUAL TABLE text_{project:d} USING fts5(text, content='', {TOKENIZER})")
    connection.execute(f"CREATE VIRTUAL TABLE words_{project:d} USING fts5vocab('text_{project:d}', 'instance')")


def create_anew(connection: sqlite3.Connection, project: int) -> None:
    """Makes the tables of a project empty, whatever is left of them.

    FTS5 drops no table whose index it cannot read. So the tables behind it get the content of an empty index first.
    """
    behind = [f"text_{project:d}_{table}" for table in _TABLES]
    with closing(sqlite3.connect(":memory:")) as model:
        create(model, project)
        for name in behind:
            (definition,) = model.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(definition)
            for row in model.execute(f"SELECT * FROM {name}"):  # noqa: S608 - one of our own names
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in row)})", row)  # noqa: S608
    for name in (f"words_{project:d}", f"text_{project:d}", *behind):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    create(connection, project)


def insert_all(connection: sqlite3.Connection, project: int, memories: Iterable[Searched]) -> None:
    """Makes memories searchable, each with its passages."""
    connection.executemany(_inserting(project, 1), _documents(memories))


def insert_together(connection: sqlite3.Connection, project: int, memories: Sequence[Searched]) -> None:
    """As `insert_all`, in one statement. FTS5 writes all that it gathered before and after that, so it is for the few memories of a transaction."""
    if documents := [*_documents(memories)]:
        connection.execute(_inserting(project, len(documents)), [*chain.from_iterable(documents)])


def remove_all(connection: sqlite3.Connection, project: int, memories: Iterable[Searched]) -> None:
    """Takes memories out of the index, given with the passages that they were put in with."""
    connection.executemany(_deleting(project, 1), _documents(memories))


def remove_together(connection: sqlite3.Connection, project: int, memories: Sequence[Searched]) -> None:
    """As `remove_all`, in one statement, for few memories."""
    if documents := [*_documents(memories)]:
        connection.execute(_deleting(project, len(documents)), [*chain.from_iterable(documents)])


def _documents(memories: Iterable[Searched]) -> Iterator[tuple[int, str]]:
    return (document for memory, passages in memories for document in documents_of(memory, passages))


def _inserting(project: int, count: int) -> str:
    return f"INSERT INTO text_{project:d} (rowid, text) VALUES {', '.join(['(?, ?)'] * count)}"  # noqa: S608 - a number, and marks


def _deleting(project: int, count: int) -> str:
    rows = ", ".join(["('delete', ?, ?)"] * count)
    return f"INSERT INTO text_{project:d} (text_{project:d}, rowid, text) VALUES {rows}"  # noqa: S608 - a number, and marks


def optimize(connection: sqlite3.Connection, project: int) -> None:
    """Merges all segments into one; only then are the words of documents that were taken out gone from the file."""
    connection.execute(f"INSERT INTO text_{project:d} (text_{project:d}) VALUES ('optimize')")  # noqa: S608 - a number


def searchable(view: View) -> Iterator[Searched]:
    """Yields the memories of a project that are not archived, each with its passages. Damaged text is taken as it is."""
    for memory, found in groupby(connection_of(view.session).execute(_LIVE, (view.project,)), key=lambda row: int(row[0])):
        yield memory, [_passage(view, (view.project, memory, position), *values) for _, position, *values in found]


def _passage(view: View, row: tuple[int, int, int], is_own: int, *sealed: bytes) -> Passage:
    text, keywords = (
        view.seal.open(data, place=f"passage.{name}", row=row).decode(errors="replace")
        for name, data in zip(("text", "keywords"), sealed, strict=True)
    )
    return Passage.model_construct(text=text, keywords=keywords, is_own=bool(is_own))


def words(connection: sqlite3.Connection, project: int) -> Iterator[str]:
    """Yields every word of the index. Reads all of it."""
    return (word for (word,) in connection.execute(f"SELECT DISTINCT term FROM words_{project:d}"))  # noqa: S608 - a number


def standing(connection: sqlite3.Connection, project: int, word: str) -> str | None:
    """Returns the documents that a word stands in, one entry each time; `None` if it stands in none."""
    query = f"SELECT group_concat(doc) FROM words_{project:d} WHERE term = ?"  # noqa: S608 - a number
    listed: str | None = connection.execute(query, (word,)).fetchone()[0]
    return listed


def documents_of(memory: int, passages: Sequence[Passage]) -> list[tuple[int, str]]:
    """The documents of a memory, each with its number."""
    own, others = own_and_other(passages)
    return [(2 * memory, own), (2 * memory + 1, others)] if others else [(2 * memory, own)]
