"""Pieces that statements are put together of: the tables, what is given to a statement, and the usual ways to write."""

from typing import Any

from sqlalchemy import Insert, Integer, Table, Update, and_, bindparam, cast, func, insert, literal_column, select, update

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
