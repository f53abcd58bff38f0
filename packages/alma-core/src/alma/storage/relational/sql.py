"""Pieces of which `statements` are put together: the tables, what is given to a statement, and the usual ways to write.

Where dialects differ, an element of our own says once what is meant, and how each dialect writes it.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeEngine

from alma.storage.relational import tables
from alma.storage.relational.rows import PLACES

STORE, MIGRATION, PROJECT, PARTITION, MEMORY, PASSAGE, VECTOR, USAGE, RECORD, JOURNAL = (
    tables.metadata.tables[name]
    for name in ("store", "migration", "project", "partition", "memory", "passage", "vector", "usage", "record", "journal")
)
TOUCHED, REMOVED = (tables.metadata.tables[name] for name in ("touched", "removed"))

ZERO: Any = sa.literal_column("0", sa.BigInteger())
ONE: Any = sa.literal_column("1", sa.BigInteger())
"""Constants as they stand in a statement; a parameter would be given with each call."""


class json_each(GenericFunction[Any]):  # noqa: N801 - its name in SQL
    """The values of a JSON array, as rows with the column `value`."""

    inherit_cache = True


@compiles(json_each, "postgresql")
def _json_each_for_postgresql(element: json_each, compiler: Any, **given: Any) -> str:
    (array,) = element.clauses
    return f"jsonb_array_elements_text(CAST({compiler.process(array, **given)} AS JSONB))"


def given(name: str) -> Any:
    """A value that is given when the statement is run."""
    return sa.bindparam(name)


def number(name: str) -> Any:
    """A whole number that is given."""
    return sa.bindparam(name, type_=sa.BigInteger())


def optional(name: str, kind: TypeEngine[Any]) -> Any:
    """A value that is given, or null."""
    return sa.cast(sa.bindparam(name, type_=kind), kind)


def place(project: Any, seq: Any) -> Any:
    """The key of a record in the journal of a project."""
    return project * sa.literal_column(str(PLACES), sa.BigInteger()) + seq


def in_journal(after: Any = None) -> Any:
    """The condition of being in the journal of the given project, after a `seq`."""
    project = number("project")
    return sa.and_(
        JOURNAL.c.place > place(project, ZERO if after is None else after),
        JOURNAL.c.place < place(project + ONE, ZERO),
    )


def embedder() -> Any:
    """The number of the database's embedder, whose vectors serve."""
    value = sa.select(STORE.c.value).where(STORE.c.key == sa.literal_column("'embedder_number'")).scalar_subquery()
    return sa.cast(value, sa.Integer)


def migrations() -> Any:
    """The number of migrations that were run: more than a process saw when it opened, if a newer ALMA has opened the store since."""
    return sa.select(sa.func.count()).select_from(MIGRATION).scalar_subquery()


def given_in(name: str) -> Any:
    """The texts of a JSON array."""
    return sa.select(json_each(sa.bindparam(name, type_=sa.Text())).table_valued(sa.column("value", sa.Text())).c.value)


def rows_given(name: str = "rows") -> Any:
    """The row numbers of a JSON array."""
    values = given_in(name)
    return values.with_only_columns(sa.cast(values.selected_columns.value, sa.BigInteger()))


def total(counted: Any) -> Any:
    """The sum of a column, 0 where there is nothing."""
    return sa.func.coalesce(sa.func.sum(counted), ZERO)


def inserting(table: sa.Table, *left_out: str) -> sa.Insert:
    """A new row: a value is given for each column that is not left out."""
    return sa.insert(table).values({column.name: given(column.name) for column in table.c if column.name not in left_out})


def ignoring(table: sa.Table, *left_out: str) -> Any:
    """A new row, unless there is one of its key."""
    names = [column.name for column in table.c if column.name not in left_out]
    return postgresql.insert(table).values({name: given(name) for name in names}).on_conflict_do_nothing()


def updating(table: sa.Table, key: str, *columns: str) -> sa.Update:
    """New values of some columns, in the row whose key is given as `of_KEY`."""
    return sa.update(table).values({name: given(name) for name in columns}).where(table.c[key] == given(f"of_{key}"))


def replacing(table: sa.Table, *keys: str, follows: str | None = None) -> sa.Insert:
    """A row that takes the place of the one with its keys, if there is one; with `follows` only of one whose number in that column is one less."""
    names = [column.name for column in table.c]
    made = postgresql.insert(table).values({name: given(name) for name in names})
    return made.on_conflict_do_update(
        index_elements=keys,
        set_={name: made.excluded[name] for name in names if name not in keys},
        where=None if follows is None else table.c[follows] == made.excluded[follows] - ONE,
    )


def rows_of(table: sa.Table, **names: str) -> sa.CTE:
    """Rows that are given, of one value a name, each of the type of a column: one of them here, as many as needed in `Session.many`."""
    kinds = {name: table.c[of].type for name, of in names.items()}
    row = tuple(sa.cast(given(name), kind) for name, kind in kinds.items())
    return sa.values(*(sa.column(name, kind) for name, kind in kinds.items()), name="given").data([row]).cte("given")
