"""A project at a glance: what `overview` gives and `alma report` shows."""

from datetime import date

from pydantic import BaseModel, ConfigDict

from alma.types.embedding import Fingerprint
from alma.types.episodes import EpisodeRecord
from alma.types.identity import UtcDatetime
from alma.types.memories import AnyMemory
from alma.types.reports import Stats, VerifyReport
from alma.types.scope import Access, MemoryScope


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DayCount(_Value):
    """How many of something there were on a day (UTC): memories of a kind, or journal records of an operation."""

    day: date
    name: str
    count: int


class KnownMemory(_Value):
    """A memory with what was counted for it. `shown` counts the recent episodes that it was shown in."""

    memory: AnyMemory
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    shown: int


class OwnerView(_Value):
    """An agent, or a user (whose memories are preferences): what it holds, its rules, and whose memories it reads by which rule."""

    name: str
    is_user: bool
    by_kind: dict[str, int]
    rules: MemoryScope | None = None
    reads: dict[str, Access] = {}

    @property
    def total(self) -> int:
        """How many memories it holds."""
        return sum(self.by_kind.values())


class JournalLine(_Value):
    """One journal record, without what it changed."""

    seq: int
    at: UtcDatetime
    actor: str
    operation: str
    is_purged: bool


class UsageView(_Value):
    """What was used of what was shown, over all memories; `ever_used` of them were used at least once."""

    memories: int
    used: int
    ignored: int
    thumbs_up: int
    thumbs_down: int
    ever_used: int


class StoreView(_Value):
    """How the store is: its embedder, its sizes in bytes, and what `verify` found, if it was asked.

    `database_bytes` is of all projects, the rest of this one.
    """

    embedder: Fingerprint
    database_bytes: int
    archived: int
    passages: int
    text_bytes: int
    vectors: int
    vector_bytes: int
    records: int
    payload_bytes: int
    purged: int
    verified: VerifyReport | None


class Overview(_Value):
    """A project at a glance. Memories come with the most evidence first, journal records and episodes newest first."""

    project_id: str
    made_at: UtcDatetime
    stats: Stats
    growth: tuple[DayCount, ...]
    activity: tuple[DayCount, ...]
    memories: tuple[KnownMemory, ...]
    owners: tuple[OwnerView, ...]
    journal: tuple[JournalLine, ...]
    episodes: tuple[EpisodeRecord, ...]
    usage: UsageView
    store: StoreView
