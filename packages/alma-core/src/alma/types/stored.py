"""What a store tells of what it holds, as plain values. Row numbers are handles of one database, as in `alma.protocols`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from alma.types.changes import Change
from alma.types.partition import Partition


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory is kept, the id of the evidence that it belongs to, and what was counted of its use: `None` if nothing was yet."""

    memory: int
    partition: Partition
    is_archived: bool
    evidence: str | None
    usage: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A journal record as history reads it. `at` is in microseconds since 1970; `changes` has no rows that were purged since."""

    seq: int
    at: int
    actor: str
    operation: str
    changes: Sequence[Change]
    is_purged: bool


@dataclass(frozen=True, slots=True)
class Erased:
    """What a purge found and erased, counted by surface, and the rows that it left although they name what was purged, or hold its text."""

    seq: int
    known: Sequence[str]
    counts: Mapping[str, int]
    left: Sequence[str]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A logical row as it lies in the store: plain JSON values under a text key, as the journal has them.

    `row` is `None` where it cannot be read; then `fault` says why. `seq` is the record that it names as the last to change it, for the tables
    that have one.
    """

    table: str
    key: str
    row: dict[str, Any] | None
    seq: int | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """How many memories a partition holds, and when its oldest and newest were made."""

    partition: Partition
    count: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True)
class PartitionDay:
    """How many memories of a partition were made on a day (UTC)."""

    partition: Partition
    day: date
    count: int


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many journal records of an operation there are on a day (UTC)."""

    operation: str
    day: date
    count: int


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call, without what it changed."""

    seq: int
    at: datetime
    actor: str
    operation: str
    is_purged: bool


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """Sums over the memories that anything was counted for; `ever_used` of them were used at least once."""

    memories: int
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    ever_used: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much each sort of content takes, in bytes; texts, vectors and payloads as they are stored."""

    archived: int
    passages: int
    text_bytes: float
    vectors: int
    vector_bytes: float
    records: int
    payload_bytes: float
    purged: int


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A passage whose text has no vector of some embedder yet. `project` is a row number as `row` is."""

    row: int
    project: int
    text: str


@dataclass(frozen=True, slots=True)
class CopiedProject:
    """A project in a copy of the store. Without a `content_hash` a row of it cannot be read."""

    name: str
    seq: int
    content_hash: str | None


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy of the store holds."""

    pages: int
    projects: Sequence[CopiedProject]
