"""The table that only this store has."""

from sqlalchemy import BigInteger, Column, MetaData, Table, Text

holder_metadata = MetaData()

HOLDER = Table(
    "holder",
    holder_metadata,
    Column("id", Text().with_variant(Text(collation="C"), "postgresql"), primary_key=True),
    Column("seen_at", BigInteger, nullable=False),
)
