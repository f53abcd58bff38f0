"""The statements of `text_rows.py`, and its table, which databases with a full text of their own do not have."""

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text, delete, select
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements.pieces import given_in, inserting, number

_ROW = BigInteger().with_variant(Integer(), "sqlite")

text_metadata = MetaData()

WORD = Table(
    "word",
    text_metadata,
    Column("project", _ROW, primary_key=True),
    Column("stem", Text().with_variant(Text(collation="C"), "postgresql"), primary_key=True),
    Column("memory", _ROW, primary_key=True, index=True),
    Column("own", Integer, nullable=False),
    Column("other", Integer, nullable=False),
)


def text_statements() -> dict[str, ClauseElement]:
    """All of them, by name."""
    return {
        "word_insert": inserting(WORD),
        "words_clear": delete(WORD).where(WORD.c.project == number("of_project")),
        "words_delete": delete(WORD).where(WORD.c.project == number("of_project"), WORD.c.memory == number("of_memory")),
        "word_lists": select(WORD.c.stem, WORD.c.memory, WORD.c.own, WORD.c.other)
        .where(WORD.c.project == number("project"), WORD.c.stem.in_(given_in("stems")))
        .order_by(WORD.c.stem, WORD.c.memory),
    }
