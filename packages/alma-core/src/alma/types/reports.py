"""What the façade's administrative calls return."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class UsageReport(_Report):
    """What `record_usage` counted. `unknown` are ids that are no memory which the agent can see: nothing was counted for them."""

    used: tuple[str, ...]
    ignored: tuple[str, ...]
    neutral: tuple[str, ...]
    unknown: tuple[str, ...]


class Stats(_Report):
    """What a project holds. `by_agent` counts memories by agent and kind; preferences stand under their `user:` names."""

    project_id: str
    total: int
    by_kind: dict[str, int]
    by_agent: dict[str, dict[str, int]]
    journal_records: int
    database_bytes: int
    embedder: str
    oldest: datetime | None = None
    newest: datetime | None = None

    def __getitem__(self, name: str) -> Any:
        """`stats["total"]` as well as `stats.total`."""
        return getattr(self, name)


class ReindexReport(_Report):
    """What `reindex` did: from which embedder to which, how many texts there are, how many of them it embedded (the rest was done before)."""

    before: str
    after: str
    dimension: int
    texts: int
    embedded: int


class BackupReport(_Report):
    """What a backup holds: its size, and of each project the newest journal record and the content hash as `ALMA.content_hash` gives it.

    The hash is `None` where a damaged row keeps it from being computed: the copy of a damaged store is as damaged.
    """

    path: str
    bytes: int
    pages: int
    seconds: float
    heads: dict[str, int]
    content_hashes: dict[str, str | None]


class Problem(_Report):
    """One thing that is not as it should be: where, what, and how to mend it if that is known."""

    project_id: str | None
    place: str
    what: str

    def __str__(self) -> str:
        """One line for a person."""
        where = f"{self.project_id}: {self.place}" if self.project_id else self.place
        return f"{where}: {self.what}"


class VerifyReport(_Report):
    """What `verify` looked at and found. `heads` has the newest hash of each project's chain: keep it elsewhere to notice a rewritten one.

    `problems` are those that are there now, `rebuilt` those that a rebuild mended.
    """

    problems: tuple[Problem, ...]
    rebuilt: tuple[Problem, ...] = ()
    projects: int
    records: int
    memories: int
    vectors: int
    purged: int = 0
    heads: dict[str, str]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
