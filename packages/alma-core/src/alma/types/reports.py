"""Results of the façade's administrative calls: counts, history, undo and forgetting, upkeep, foreign imports and reviews."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from alma.types.episodes import EpisodeRecord, Forecast
from alma.types.identity import UtcDatetime, Value
from alma.types.kinds import KINDS


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


class NamesReport(Value):
    """Result of `compose_names`: the memories and the number of records whose names it changed, or would change. `held` are the agents whose
    memories stay under a former form of their name, each with the reason."""

    dry_run: bool
    seq: int | None
    memory_ids: tuple[str, ...]
    records: int
    held: dict[str, str]


_COUNTS = {f"{spec.listed_as}_count": kind.value for kind, spec in KINDS.items()}
"""Names that alma-memory uses for the counts, each with its kind."""


class Stats(Value):
    """Content of a project. `by_agent` counts memories by agent and kind; preferences are under their `user:` names.

    `learned_rules` of the `total` are not stored: they follow from outcomes. The others are those that `verify` and `export` count.
    """

    project_id: str
    total: int
    learned_rules: int
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


class StoreProblem(Value):
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

    problems: tuple[StoreProblem, ...]
    rebuilt: tuple[StoreProblem, ...] = ()
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


class ReviewItem(Value):
    """An episode to judge, and the forecast, made without its own verdict; `None` where too few episodes of the agent were judged.

    `priority` orders a list, highest first. For an unjudged episode it is the highest probability, within the interval, that its verdict
    differs from the forecast; for a surprising one it is the distance of the verdict from the forecast.
    """

    episode: EpisodeRecord
    forecast: Forecast | None
    priority: Annotated[float, Field(ge=0, le=1)]


class ReviewReport(Value):
    """Episodes that a person should judge first: unjudged ones, and those whose verdict differs from the forecast.

    The counts are of all that were found; the lists have at most `limit` each.
    """

    unjudged: tuple[ReviewItem, ...]
    surprising: tuple[ReviewItem, ...]
    unjudged_count: int
    surprising_count: int


class Remark(Value):
    """A reason why rows were left out or changed: the number of rows, and the id of the first of them there."""

    reason: str
    rows: int
    first: str


class MigratedKind(Value):
    """One kind of memory: `read` rows are those `stored`, those `present` already from an earlier run, and the `skipped` ones.

    `changed` lists what was left out of rows that are stored all the same. A row may appear under several remarks.
    """

    kind: str
    read: int = 0
    stored: int = 0
    present: int = 0
    skipped: tuple[Remark, ...] = ()
    changed: tuple[Remark, ...] = ()


class MigrationReport(Value):
    """Result of an import from a database of alma-memory, or of an export whose word is not taken for more.

    `source_project` was read into `project`. `rules` counts the rules that were formed again, by kind. `not_read` counts the rows of
    tables that have no counterpart here, or the lines of an export that are no memories. With `dry_run` nothing was stored, and `stored` is
    what would be.
    """

    source: str
    source_project: str
    project: str
    dry_run: bool
    kinds: tuple[MigratedKind, ...]
    rules: dict[str, int]
    not_read: dict[str, int]

    @property
    def stored(self) -> int:
        """Number of memories stored, of all kinds, without the rules that were formed again."""
        return sum(kind.stored for kind in self.kinds)


MAINTENANCE = "maintenance"
"""Kind of the small record that says when it last ran. It belongs to this store only and is never exported."""

UPGRADE = "upgrade"
"""Key of the small record of that kind that reports how the stored counts and rules of a former version were turned into outcomes' rules."""

MOST_NAMED = 100
"""Limit on the memories named under one rule; all are counted."""


class RuleReport(Value):
    """Memories that one rule of one kind archived, or would archive: their number, their number by owner, and the ids of at most 100.

    `rule` is the name of the setting, `limit` its value. Users are listed as `user:` and their name.
    """

    kind: str
    rule: str
    limit: float
    count: int
    by_owner: dict[str, int]
    memory_ids: tuple[str, ...]


class MaintenanceReport(Value):
    """Result of `maintain`, or of its `dry_run`.

    `ran` is false where nothing was examined: it was not due, or another process was doing it. `last_run_at` is when it ran before,
    `due_at` when it is due next. `seqs` are the journal records; `unknown_kinds` have rules in the settings, but no memories and no
    definition. `merged` counts the memories that others took in (`maintenance: consolidate`).
    """

    dry_run: bool
    ran: bool
    last_run_at: UtcDatetime | None
    due_at: UtcDatetime | None
    seqs: tuple[int, ...] = ()
    rules: tuple[RuleReport, ...] = ()
    unknown_kinds: tuple[str, ...] = ()
    merged: int = 0

    @property
    def total(self) -> int:
        """Number of memories that were archived, or would be."""
        return sum(rule.count for rule in self.rules)


class Revision(Value):
    """Values of a column before and after a call; `None` where it held nothing."""

    old: Any = None
    new: Any = None


class HistoryEntry(Value):
    """The effect of one call on a memory.

    `what` is "made", "changed", "used", "archived", "brought back" or "removed". `changed` has the fields by name; those of its usage and
    passages as "usage.used" or "passage 0.text". `episode_id` is set on the entry that made the memory: the attempt that it was
    learned in.
    """

    seq: int
    at: datetime
    actor: str
    operation: str
    what: str
    changed: dict[str, Revision]
    episode_id: str | None = None


class UndoReport(Value):
    """Result of an undo, or of its `dry_run`. `seq` is its own journal record; `None` if there was nothing to undo.

    `head` is the newest journal record that was considered. `records` counts the calls that are undone. `brought_back`, `removed` and
    `changed` list memories by id; `others` names changed rows that belong to no memory. `purged` counts calls of which some content was
    purged since and cannot be restored.
    """

    to: int
    head: int
    actor: str | None
    dry_run: bool
    seq: int | None
    records: int
    brought_back: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    others: tuple[str, ...]
    purged: int


class Surface(Value):
    """A place that may hold content of a memory: how much was found there (`None`: it cannot be counted), and what was done about it."""

    name: str
    found: int | None
    done: str


class PurgeReceipt(Value):
    """Result of a purge. `left` names rows of other agents or memories that name a purged memory, contain a text of it or count it. Purge
    or change them where needed."""

    seq: int
    surfaces: tuple[Surface, ...]
    left: tuple[str, ...]


class ForgetReport(Value):
    """Result of `forget`, or of its `dry_run`. `unknown` are ids that name no memory that may be forgotten; nothing was done for them."""

    dry_run: bool
    seq: int | None
    memory_ids: tuple[str, ...]
    by_kind: dict[str, int]
    unknown: tuple[str, ...] = ()
    receipt: PurgeReceipt | None = None

    @property
    def total(self) -> int:
        """Number of memories."""
        return len(self.memory_ids)

    def __int__(self) -> int:
        """Returns `total`, which is what `forget` returns in alma-memory."""
        return self.total


class CompactReport(Value):
    """Result of compacting. `is_whole` is false where another process was reading at the time, so that the log still has former pages."""

    bytes_before: int
    bytes_after: int
    snapshots_deleted: int
    is_whole: bool
