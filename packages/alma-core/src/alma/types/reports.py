"""Results of the façade's administrative calls."""

from datetime import datetime
from typing import Any

from alma.types.kinds import KINDS
from alma.types.value import Value


class UsageReport(Value):
    """Result of `record_usage`. `unknown` are ids of no memory that the agent can see: nothing was counted for them."""

    used: tuple[str, ...]
    ignored: tuple[str, ...]
    neutral: tuple[str, ...]
    unknown: tuple[str, ...]


class FeedbackReport(Value):
    """Result of `record_feedback`. `unknown` are ids of no memory that the agent can see: nothing was counted for them."""

    counted: tuple[str, ...]
    unknown: tuple[str, ...]


_COUNTS = {f"{spec.listed_as}_count": kind.value for kind, spec in KINDS.items()}
"""Names that alma-memory uses for the counts, each with its kind."""


class Stats(Value):
    """Content of a project. `by_agent` counts memories by agent and kind; preferences are under their `user:` names."""

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
        """Returns `stats["total"]`, or a count by the name that alma-memory gives it: "total_count", "outcomes_count" … `KeyError`
        otherwise."""
        if name == "total_count":
            return self.total
        if name in _COUNTS:
            return self.by_kind.get(_COUNTS[name], 0)
        if name not in type(self).model_fields:
            raise KeyError(name)
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        """Returns `stats[name]`, or `default` for an unknown name."""
        try:
            return self[name]
        except KeyError:
            return default


class ReindexReport(Value):
    """Result of `reindex`: from which embedder to which, the number of texts, and how many of them it embedded (the rest was done
    before)."""

    before: str
    after: str
    dimension: int
    texts: int
    embedded: int


class RedactReport(Value):
    """Secrets that a project held: in how many rows and records of its journal, and how many distinct ones by kind in the rows. `seq` is that of
    the record that erased them; `None` if nothing was changed."""

    project: str
    rows: int
    history: int
    kinds: dict[str, int]
    seq: int | None = None


class BackupReport(Value):
    """Content of a backup: its size, and for each project the newest journal record and the content hash as `ALMA.content_hash` returns
    it.

    The hash is `None` where a damaged row prevents it from being computed: the copy of a damaged store is damaged too.
    """

    path: str
    bytes: int
    pages: int
    seconds: float
    heads: dict[str, int]
    content_hashes: dict[str, str | None]


class MoveReport(Value):
    """Result of `ALMA.migrate`: for each project the newest journal record and the content hash, equal in both stores.

    `rows` were copied in all; `kept` of them had been copied by an earlier call.
    """

    rows: int
    kept: int
    heads: dict[str, int]
    content_hashes: dict[str, str]


class Problem(Value):
    """One fault: where it is, what it is, and how to fix it if that is known."""

    project_id: str | None
    place: str
    what: str

    def __str__(self) -> str:
        """Returns one line for a person."""
        where = f"{self.project_id}: {self.place}" if self.project_id else self.place
        return f"{where}: {self.what}"


class VerifyReport(Value):
    """Result of `verify`. `heads` has the newest hash of each project's chain: keep it elsewhere to notice a rewritten chain.

    `problems` remain; `rebuilt` are those that a rebuild fixed.
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
        """True when no problem was found."""
        return not self.problems
