"""Pieces that statements are put together of: the tables, what is given to a statement, and the usual ways to write."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    CTE,
    Insert,
    Integer,
    Table,
    Update,
    and_,
    bindparam,
    cast,
    column,
    func,
    insert,
    literal_column,
    select,
    update,
    values,
)
from sqlalchemy.dialects import sqlite

from alma.storage import tables

STORE, PROJECT, PARTITION, MEMORY, PASSAGE, VECTOR, USAGE, RECORD, JOURNAL = (
    tables.metadata.tables[name]
    for name in ("store", "project", "partition", "memory", "passage", "vector", "usage", "record", "journal")
)
EVIDENCE, TOUCHED, REMOVED = (tables.metadata.tables[name] for name in ("evidence", "touched", "removed"))


def given(name: str) -> Any:
    """A value that whoever runs the statement gives."""
    return bindparam(name)


def begins(column: Any) -> tuple[Any, Any]:
    """The condition of beginning as all texts do that come after the first one given and before the last."""
    return column >= given("first"), column < given("last")


def number(name: str) -> Any:
    """A whole number that is given."""
    return bindparam(name, type_=Integer())


def place(project: Any, seq: Any) -> Any:
    """The key of a record in the journal of a project."""
    return project * literal_column(str(1 << 32), Integer()) + seq


def in_journal(after: Any = None) -> Any:
    """The condition of being in the journal of the given project, after a `seq`."""
    project, first = number("project"), literal_column("0", Integer()) if after is None else after
    return and_(
        JOURNAL.c.place > place(project, first),
        JOURNAL.c.place < place(project + literal_column("1", Integer()), literal_column("0", Integer())),
    )


def embedder() -> Any:
    """The number of the database's embedder, whose vectors serve."""
    value = select(STORE.c.value).where(STORE.c.key == literal_column("'embedder_number'")).scalar_subquery()
    return cast(value, Integer)


def rows_given() -> Any:
    """The row numbers that a JSON array names."""
    return given_in("rows")


def given_in(name: str) -> Any:
    """The values of a JSON array."""
    return select(func.json_each(given(name)).table_valued("value").c.value)


def inserting(table: Table, *left_out: str) -> Insert:
    """A new row: a value is given for each column that is not left out."""
    return insert(table).values({column.name: given(column.name) for column in table.c if column.name not in left_out})


def updating(table: Table, key: str, *columns: str) -> Update:
    """New values of some columns, in the row whose key is given as `of_KEY`."""
    return update(table).values({name: given(name) for name in columns}).where(table.c[key] == given(f"of_{key}"))


def replacing(table: Table, key: str) -> Insert:
    """A row that takes the place of the one with its key, if there is one."""
    names = [column.name for column in table.c]
    made = sqlite.insert(table).values({name: given(name) for name in names})
    return made.on_conflict_do_update(index_elements=[key], set_={name: made.excluded[name] for name in names if name != key})


def rows_of(*names: str) -> CTE:
    """Rows that are given, of one value a name: one of them here, as many as needed in `batches.py`."""
    return values(*map(column, names), name="given").data([tuple(map(given, names))]).cte("given")


def updating_rows(table: Table, keys: Sequence[str], *columns: str) -> Update:
    """New values of some columns, in each row whose keys are given."""
    rows = rows_of(*keys, *columns)
    return update(table).values({name: rows.c[name] for name in columns}).where(*(table.c[key] == rows.c[key] for key in keys))
