"""The tables, declared once. Private to this room: rows never leave it.

`row` columns are handles of one database file. Everything a user or the journal sees is keyed by text ids. Columns of type BLOB with text in
them have passed the seal.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text, UniqueConstraint
from sqlmodel import AutoString, Field, SQLModel

_NEVER_REUSED = {"sqlite_autoincrement": True}
"""Row numbers are given out once: caches, also those of other processes, know rows by number."""


class Store(SQLModel, table=True):
    """Values of the whole database: its id, its embedder."""

    key: str = Field(primary_key=True)
    value: str


class Migration(SQLModel, table=True):
    """The migrations that were run, by name."""

    name: str = Field(primary_key=True)
    applied_at: int


class Project(SQLModel, table=True):
    """A project, the head of its journal, and the newest record that may change what is learned."""

    row: int = Field(primary_key=True)
    name: str = Field(unique=True)
    head_seq: int
    head_hash: bytes
    learned_seq: int


class Partition(SQLModel, table=True):
    """An owner and a kind inside a project. `is_user` separates a user from an agent of the same name."""

    __table_args__ = (UniqueConstraint("project", "is_user", "owner", "kind"), _NEVER_REUSED)
    row: int = Field(primary_key=True)
    project: int
    is_user: int
    owner: str
    kind: str


class Memory(SQLModel, table=True):
    """A memory: what ranking needs in columns of its own, the rest as JSON in `body`. Times in microseconds.

    By the index of partitions the outcomes that a reader may read are found without reading those of others.
    """

    __table_args__ = (
        UniqueConstraint("project", "id"),
        Index("memory_partition", "partition"),
        _NEVER_REUSED,
    )
    row: int = Field(primary_key=True)
    project: int
    id: str
    partition: int
    agent: str
    body: bytes
    confidence: float
    successes: float | None
    trials: float | None
    seen_at: int
    created_at: int
    updated_at: int
    archived_at: int | None
    content_hash: bytes
    seq: int


class Passage(SQLModel, table=True):
    """A piece of a memory. Without a `text_hash` it has no vector. `seq` is the record that last added it to the indexes or removed it."""

    __table_args__ = (UniqueConstraint("memory", "position"), Index("passage_seq", "project", "seq"), _NEVER_REUSED)
    row: int = Field(primary_key=True)
    project: int
    memory: int
    position: int
    speaker: bytes
    time: int | None
    is_own: int
    text: bytes
    keywords: bytes
    text_hash: bytes | None
    is_live: int
    seq: int


class Vector(SQLModel, table=True):
    """The vector of a text under one embedder: float16, little-endian. By `checksum` damage shows, and a vector of another text.

    `embedder` is a number of the `store` table: that of the database's embedder, or of the one that it is being re-embedded with. Rows of
    other numbers are left over.
    """

    __table_args__ = (UniqueConstraint("project", "text_hash", "embedder"),)
    row: int = Field(primary_key=True)
    project: int
    text_hash: bytes
    embedder: int
    vector: bytes
    checksum: bytes


class Usage(SQLModel, table=True):
    """Counts of a memory's uses, of the times it was passed over, praised or blamed by a person, and of the attempts that used it.

    Of each attempt it is credited a share: `credited_trials` sums the shares, `credited_successes` the shares of attempts that went well.
    """

    memory: int = Field(primary_key=True)
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    credited_successes: float
    credited_trials: float


class Record(SQLModel, table=True):
    """A small versioned record of some module: sessions, checkpoints, work items, episodes."""

    project: int = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    version: int
    body: bytes
    updated_at: int


class Journal(SQLModel, table=True):
    """The log of a project. `payload` and `salt` are erased when a memory they name is purged.

    `place` is project times 2^32 plus `seq`: one key instead of two and an index, so that a record is one page to write.
    """

    place: int = Field(primary_key=True)
    project: int
    seq: int
    at: int
    actor: str
    operation: str
    payload: bytes | None
    salt: bytes | None
    digest: bytes
    hash: bytes


class Touched(SQLModel, table=True):
    """The journal records that changed the content of a key (see `journal.entity`): the way from a memory to its history.

    The record that a memory's row names as its last one need not be here.
    """

    project: int = Field(primary_key=True)
    key: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)


class Removed(SQLModel, table=True):
    """Passages whose rows are gone, and since which record: what vector indexes of other processes have to let go."""

    project: int = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    passage: int = Field(primary_key=True)


metadata = SQLModel.metadata
_NUMBER, _TEXT = BigInteger().with_variant(Integer(), "sqlite"), Text().with_variant(Text(collation="C"), "postgresql")

for _table in metadata.tables.values():
    for _column in _table.columns:
        if isinstance(_column.type, Integer):  # microseconds and places need 64 bits, which SQLite's integers have
            _column.type = _NUMBER
        elif isinstance(_column.type, AutoString):  # SQLite compares texts by their bytes, and so do ranges of keys
            _column.type = _TEXT
        _column.autoincrement = _column.name == "row" and _column.primary_key

text_metadata = MetaData()

WORD = Table(
    "word",
    text_metadata,
    Column("project", _NUMBER, primary_key=True),
    Column("stem", _TEXT, primary_key=True),
    Column("memory", _NUMBER, primary_key=True, index=True),
    Column("own", Integer, nullable=False),
    Column("other", Integer, nullable=False),
)
"""The full text of stores that have no other, in a schema of its own: a row for each memory and stem."""
