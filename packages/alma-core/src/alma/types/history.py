"""Results of history, undo and forgetting."""

from datetime import datetime
from typing import Any

from alma.types.value import Value


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
