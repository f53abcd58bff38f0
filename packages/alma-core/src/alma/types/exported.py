"""The lines of an export file, validated as they are read, and reports of exports and imports. Times are ISO 8601 in UTC, to the microsecond."""

from typing import Annotated, Any, Literal

from pydantic import Field

from alma.types.identity import Fingerprint, UtcDatetime, Value
from alma.types.memories import Count, Share

FORMAT = "alma-export"
VERSION, FORMER_VERSION = 3, 2
"""Version of what is written, and a former one that is read, too: it has counts and learned rules, which follow from outcomes."""

Micros = Annotated[int, Field(ge=-(10**17), le=10**18)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Credit = Annotated[float, Field(ge=0, le=2**53, allow_inf_nan=False)]
Key = Annotated[str, Field(min_length=1, max_length=1000)]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{2}){1,64}$")]


class ExportedCounts(Value):
    """Counts of the content of a file. `archived` are among the memories; only files of the former version have `evidence`."""

    memories: Count = 0
    archived: Count = 0
    records: Count = 0
    evidence: Count = 0


class ExportHeader(Value):
    """First line: the format and the source of the file, with the agent or the user whose content it holds, if not all.

    `seq` and `head` are the journal's at the time of export.
    """

    format: Literal["alma-export"] = "alma-export"
    version: int = VERSION
    alma: str
    project: str
    agent: str | None = None
    user_id: str | None = None
    exported_at: UtcDatetime
    embedder: Fingerprint
    has_vectors: bool = False
    seq: Count
    head: str
    counts: ExportedCounts


class ExportedPassage(Value):
    """A passage. `is_embedded` says that it has a vector; `vector` is that vector, float16 little-endian in base64, where vectors are
    exported."""

    position: Count
    text: Annotated[str, Field(min_length=1)]
    keywords: str = ""
    speaker: str = ""
    time: UtcDatetime | None = None
    is_own: bool = True
    is_embedded: bool
    vector: str | None = None


class ExportedUsage(Value):
    """Usage counts of a memory."""

    used: Count
    ignored: Count
    thumbs_up: Count
    thumbs_down: Count
    credited_successes: Credit
    credited_trials: Credit


class ExportedMemory(Value):
    """A memory with its passages and usage. `body` has the fields of its kind."""

    type: Literal["memory"] = "memory"
    id: Key
    kind: Key
    agent: str
    body: dict[str, Any]
    confidence: Share
    successes: Number | None
    trials: Number | None
    seen_at: UtcDatetime
    created_at: UtcDatetime
    updated_at: UtcDatetime
    archived_at: UtcDatetime | None
    evidence: str | None = Field(default=None, exclude=True)
    """The outcomes that it rests on, as a former version names them."""
    passages: tuple[ExportedPassage, ...]
    usage: ExportedUsage | None


class ExportedRecord(Value):
    """A small record: the definition of a kind, an episode and the like."""

    type: Literal["record"] = "record"
    kind: Key
    key: Key
    version: Annotated[int, Field(ge=1, le=2**53)]
    updated_at: UtcDatetime
    body: dict[str, Any]


class ExportedEvidence(Value):
    """Counts behind a rule, in a file of the former version."""

    type: Literal["evidence"] = "evidence"
    id: Key
    agent: str
    task_class: str
    strategy_hash: Annotated[str, Field(pattern=r"^([0-9a-f]{2})*$")]
    strategy: str
    successes: Number
    trials: Number
    operative_successes: Number
    operative_trials: Number
    unverified: Count
    observed_at: UtcDatetime
    recent: tuple[tuple[str, Count, Micros], ...]
    reasons: tuple[tuple[str, Count, Micros], ...]
    heuristic: str | None
    heuristic_status: str | None
    anti_pattern: str | None
    anti_pattern_status: str | None
    task: str | None


class ExportedPurge(Value):
    """Digests of what was purged. It can be checked whether a given key was purged, but the keys cannot be listed."""

    type: Literal["purge"] = "purge"
    salt: Digest
    digests: tuple[Digest, ...]


class ExportEnd(Value):
    """Last line: the number of lines before it, and the SHA-256 of their bytes, line ends included."""

    type: Literal["end"] = "end"
    lines: Count
    sha256: str


ExportedLine = Annotated[
    ExportedMemory | ExportedRecord | ExportedEvidence | ExportedPurge | ExportEnd, Field(discriminator="type")
]
"""Any line but the first."""


class ExportReport(Value):
    """Result of an export, with the SHA-256 of the last line."""

    counts: ExportedCounts
    size: int
    sha256: str


class ImportReport(Value):
    """Result of an import: what was stored, and what was skipped because it was there already.

    A merge also lists the memories that it changed, and those that it deleted because they were purged where the file comes from.
    The journal still has these until they are purged here, too. `claimed` are rules and counts of a file of the former version that no
    outcome in it bears out: they are stored as stated rules.
    """

    project: str
    stored: ExportedCounts
    skipped: ExportedCounts
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()
