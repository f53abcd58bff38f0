"""Content of a store, changes of its rows, and the arrays that searches exchange.

Row numbers (`row`, `memory`, `passage`, `partition`) are handles of one database, as in `alma.protocols`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from alma.types.episodes import LEASE
from alma.types.identity import Fingerprint, Partition
from alma.types.reports import MAINTENANCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Matrix = NDArray[np.float32]
    Vector = NDArray[np.float32]

RowValues = Mapping[str, Any]
"""Columns of a row of the journal: plain JSON values."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that a call changed. `before` and `after` hold the changed columns; a new row has no `before`, a deleted one no `after`."""

    table: str
    key: str
    before: RowValues | None
    after: RowValues | None


class RecordedOutcome(NamedTuple):
    """A stored outcome, archived ones included. `row` rises with each outcome recorded; times are in microseconds."""

    row: int
    partition: Partition
    id: str
    body: Mapping[str, Any]
    successes: float | None
    seen_at: int
    created_at: int
    is_archived: bool


WEBHOOK_POSITION = "webhook.position"
"""Kind of the small records of alma-events that say how far receivers have got in this journal."""

OF_THIS_STORE = (LEASE, MAINTENANCE, WEBHOOK_POSITION)
"""Kinds of small records that concern this store only, so that they are not exported: who holds which episode, when maintenance ran, how far
receivers have got."""

QUARANTINE = "quarantine"
"""Kind of the small records that say which memories are in quarantine, and why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory is stored, and its usage counts: `None` if it has none yet."""

    memory: int
    partition: Partition
    is_archived: bool
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
    """Result of a purge: the erased content, counted by surface, and the remaining rows that name a purged memory or contain its text."""

    seq: int
    known: Sequence[str]
    counts: Mapping[str, int]
    left: Sequence[str]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A logical row as stored: plain JSON values under a text key, as the journal has them.

    `row` is `None` where it cannot be read; `fault` then says why. `seq` is the record that the row names as the last to change it, for
    the tables that have one.
    """

    table: str
    key: str
    row: dict[str, Any] | None
    seq: int | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """Number of memories in a partition, and the times when its oldest and newest were made."""

    partition: Partition
    count: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True)
class PartitionDay:
    """Number of memories of a partition that were made on a day (UTC), and the sums of their trials and successes; a partial one counts half."""

    partition: Partition
    day: date
    count: int
    trials: float = 0.0
    successes: float = 0.0


@dataclass(frozen=True, slots=True)
class DayCount:
    """Number of journal records of an operation on a day (UTC)."""

    operation: str
    day: date
    count: int


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One call, without its changes."""

    seq: int
    at: datetime
    actor: str
    operation: str
    is_purged: bool


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """Sums over the memories that have usage counts; `ever_used` of them were used at least once."""

    memories: int
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    ever_used: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of each sort of content, in bytes; texts, vectors and payloads as they are stored."""

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
    """A passage whose text has no vector of some embedder yet. `project` is a row number, as `row` is."""

    row: int
    project: int
    text: str


@dataclass(frozen=True, slots=True)
class CopiedProject:
    """A project in a copy of the store. `content_hash` is `None` where a row of the project cannot be read."""

    name: str
    seq: int
    content_hash: str | None


@dataclass(frozen=True, slots=True)
class Copied:
    """Content of a copy of the store."""

    pages: int
    projects: Sequence[CopiedProject]


@dataclass(frozen=True, slots=True)
class MovedProject:
    """A project that was copied to another store, with the end of its journal and the hash of its content, equal in both."""

    name: str
    seq: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Counts of a copy to another store: all rows, of which an interrupted copy had left `kept` there."""

    rows: int
    kept: int
    projects: Sequence[MovedProject]


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """The arguments by which a store is opened.

    `folder` is absolute, and for files of this machine: a database file, or caches beside a database elsewhere. `options` is the block of the
    configuration that bears the store's name. `fingerprint` is called only where a store is made, before anything of it is there: it may load a
    model, and it raises where no store may be made. A draft stands beside the place of a store that is not there yet, until it is given that
    place; see `alma.protocols.Movable`. With an `encryption_key` nothing readable may be stored.
    """

    folder: str
    db_name: str
    at: datetime
    lock_timeout: float | None
    options: Mapping[str, object]
    fingerprint: Callable[[], Fingerprint]
    encryption_key: bytes | None = field(default=None, repr=False)
    is_draft: bool = False


@dataclass(frozen=True, slots=True)
class VectorsRequest:
    """The arguments by which a search of one project's vectors outside of the process is opened.

    `options` is the block of the configuration that bears its name. `name` belongs to this project of this database and to no other: 32 characters
    of 0-9 and a-f. What is stored under it may be of another embedder, which the watermark shows. `head_at` gives the hash of the journal at a `seq`.
    """

    folder: str
    database: str
    project: str
    fingerprint: Fingerprint
    options: Mapping[str, object]
    head_at: Callable[[int], str]

    @property
    def name(self) -> str:
        """Returns the name of a collection for the vectors of this project alone."""
        key = json.dumps([self.database, self.project])
        return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()

    def watermark(self, upto: int) -> str:
        """Returns what is stored beside the vectors: whose they are, and the newest `seq` that they hold."""
        return json.dumps({**self._identity(), "upto": upto, "head": self.head_at(upto)}, sort_keys=True)

    def upto_of(self, watermark: object) -> int | None:
        """Returns the `seq` of a stored watermark; `None` for one that is torn, of another database or embedder, or of another history."""
        try:
            facts = json.loads(watermark) if isinstance(watermark, str) else None
        except ValueError:
            return None
        if not isinstance(facts, dict) or type(upto := facts.get("upto")) is not int or upto < 0:
            return None
        expected = {**self._identity(), "upto": upto, "head": self.head_at(upto)}
        return upto if facts == expected else None

    def _identity(self) -> dict[str, object]:
        return {"database": self.database, "project": self.project, "fingerprint": self.fingerprint.model_dump(mode="json")}


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """Changes of the passages of one project since some `seq`, up to and including `upto`. All arrays have one entry per passage.

    `removed` are passage rows that are tombstones from now on; a passage both added and removed is removed. `ties` are 64-bit content
    hashes of the passages' memories: they order equal scores and choose the background sample.
    """

    upto: int
    passages: "Integers"
    memories: "Integers"
    partitions: "Integers"
    is_own: "NDArray[np.bool_]"
    ties: "Integers"
    vectors: "NDArray[np.float16]"
    removed: "Integers"


@dataclass(frozen=True, slots=True)
class PassageScores:
    """Scored passages, as parallel arrays. `ties` as in `VectorChanges`."""

    passages: "Integers"
    memories: "Integers"
    partitions: "Integers"
    ties: "Integers"
    is_own: "NDArray[np.bool_]"
    scores: "Vector"


@dataclass(frozen=True, slots=True)
class TextLengths:
    """Memories, ascending, with their partitions and the lengths of their texts in full text, as parallel arrays, as of the journal `seq` `upto`."""

    upto: int
    memories: "Integers"
    partitions: "Integers"
    lengths: "NDArray[np.float32]"


class Candidate(NamedTuple):
    """The columns of a memory that ranking needs, without its text. `seen_at` is in microseconds since 1970.

    A tuple as the store reads it: a question takes dozens, and creating a dataclass of this many fields takes longer than reading them.
    """

    memory: int
    partition: int
    confidence: float
    successes: float | None
    trials: float | None
    seen_at: int
    content_hash: bytes
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    credited_successes: float
    credited_trials: float

    @property
    def usage(self) -> tuple[int, int, int, int, float, float]:
        """Usage counts in the order in which `alma.scoring` takes them."""
        return (self.used, self.ignored, self.thumbs_up, self.thumbs_down, self.credited_successes, self.credited_trials)

    def without_use(self) -> "Candidate":
        """Returns the candidate as if it had never been shown."""
        return self._replace(used=0, ignored=0, thumbs_up=0, thumbs_down=0, credited_successes=0.0, credited_trials=0.0)


@dataclass(frozen=True, slots=True)
class TextLists:
    """Posting lists of the words of a question in the memories of a scope: all that BM25 needs.

    `memories` ascend, and `lengths` are those of their texts; memories outside the scope may be among them. The lists of the words are
    concatenated in `places` and `frequencies`: which of the `memories` contain the word, ascending, and how often, where words of others
    count less. `sizes` has the length of each list, `held_by` the number of memories of the scope that contain the word: more than are
    listed, if it is common. `count` is the number of memories in the scope, `total_length` the sum of their lengths.
    """

    memories: "Integers"
    lengths: "NDArray[np.float32]"
    count: int
    total_length: float
    places: "NDArray[np.int32]"
    frequencies: "NDArray[np.float32]"
    sizes: Sequence[int]
    held_by: Sequence[int]


@dataclass(frozen=True, slots=True)
class TextScores:
    """Memories by full text, as parallel arrays. Scores are shares in [0, 1) of a perfect match's; a memory that is not listed has 0."""

    memories: "Integers"
    scores: "NDArray[np.float64]"
