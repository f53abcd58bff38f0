"""The shared statements as PostgreSQL's text, with every table in the store's schema."""

import re
from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import Insert, Table, func, select
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.session import VALUES, split_at_values
from alma.storage.relational.sql import PARTITION, PROJECT, embedder, given, migrations
from alma.storage.relational.statements import STATEMENTS
from alma.storage.relational.tables import metadata, text_metadata

_NAMED = re.compile(r"%\((\w+)\)s")
_AMONG_GIVEN = re.compile(
    r"(?<!NOT )IN \((SELECT (?:(?!SELECT).)*? FROM jsonb_array_elements_text\(CAST\(%\(\w+\)s(?:::\w+)? AS JSONB\)\) AS \w+)\)"
)

_NEWEST_OF_PROJECT = select(func.max(PARTITION.c.row)).where(PARTITION.c.project == PROJECT.c.row).scalar_subquery()

ELEMENTS: dict[str, ClauseElement] = STATEMENTS | {
    "project_begin": select(
        *(PROJECT.c.row, PROJECT.c.head_seq, PROJECT.c.head_hash, PROJECT.c.learned_seq),
        *(embedder(), migrations(), _NEWEST_OF_PROJECT),
    ).where(PROJECT.c.name == given("name")),
}
"""All statements by name. One differs here: other projects are written to at the same time, and their partitions say nothing of ours."""


class Texts:
    """The text of each statement for one schema, compiled when it is first used."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._texts: dict[str, str] = {}
        self._repeated: dict[tuple[str, int], tuple[str, Sequence[str]]] = {}

    def __getitem__(self, name: str) -> str:
        text = self._texts.get(name)
        if text is None:
            text = self._texts[name] = compiled(ELEMENTS[name], self._schema)
        return text

    def inserting(self, name: str) -> str:
        """A statement that makes a row, or returns none if its key is taken: an error would end the transaction."""
        key = f"{name} unless taken"
        text = self._texts.get(key)
        if text is None:
            assert isinstance(ELEMENTS[name], Insert)
            head, returning, tail = self[name].partition(" RETURNING ")
            text = self._texts[key] = f"{head} ON CONFLICT DO NOTHING{returning}{tail}"
        return text

    def repeated(self, name: str, count: int) -> tuple[str, Sequence[str]] | None:
        """A statement with its row of values repeated, and the names of what each row takes; `None` if it has no row of values."""
        key = (name, count)
        found = self._repeated.get(key)
        if found is None:
            text = self[name]
            if VALUES not in text:
                return None
            found = self._repeated[key] = _repeated(text, count)
        return found


def compiled(element: ClauseElement, schema: str) -> str:
    """The text of one statement, with named parameters.

    Given values become an array: the planner takes a list of unknown length for a long one, and would read the whole table.
    """
    made = element.compile(dialect=_dialect(), schema_translate_map={None: schema}, render_schema_translate=True)
    return _AMONG_GIVEN.sub(r"= ANY (ARRAY(\1))", " ".join(str(made).split()))


def layout(schema: str) -> list[str]:
    """The statements that make the tables and their indexes in a schema that is there."""
    tables = _tables()
    options = {"dialect": _dialect(), "schema_translate_map": {None: schema}, "render_schema_translate": True}
    made = [CreateTable(table).compile(**options) for table in tables]  # type: ignore[arg-type] # by name
    indexes = sorted((index for table in tables for index in table.indexes), key=lambda index: str(index.name))
    made += [CreateIndex(index).compile(**options) for index in indexes]  # type: ignore[arg-type] # by name
    return [str(each).strip() for each in made]


def table_names() -> list[str]:
    """All tables of a store."""
    return [table.name for table in _tables()]


def tables_of_projects() -> list[str]:
    """The tables whose rows name the project that they belong to."""
    return [table.name for table in _tables() if "project" in table.columns]


def _tables() -> list[Table]:
    return [table for made in (metadata, text_metadata) for table in made.sorted_tables]


@lru_cache(maxsize=1)
def _dialect() -> psycopg.PGDialect_psycopg:
    return psycopg.dialect()  # type: ignore[no-untyped-call] # as SQLAlchemy has it


def _repeated(text: str, count: int) -> tuple[str, Sequence[str]]:
    head, row, tail = split_at_values(text)
    rows = ", ".join(_NAMED.sub(rf"%(\1__{number})s", row) for number in range(count))
    return f"{head}{rows}{tail}", _NAMED.findall(row)
