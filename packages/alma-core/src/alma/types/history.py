"""What history, undo and forgetting report."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Revision(_Report):
    """What a column held before a call, and after it; `None` where it held nothing."""

    old: Any = None
    new: Any = None


class HistoryEntry(_Report):
    """What one call did to a memory.

    `what` is "made", "changed", "used", "archived", "brought back" or "removed". `changed` has the fields by name; those of what hangs on the
    memory as "usage.used" or "passage 0.text". `episode_id` and `evidence` say, on the entry that made it, which attempt it was learned in and
    which evidence it rests on.
    """

    seq: int
    at: datetime
    actor: str
    operation: str
    what: str
    changed: dict[str, Revision]
    episode_id: str | None = None
    evidence: str | None = None


class UndoReport(_Report):
    """What an undo did, or with `dry_run` would do. `seq` is its own journal record; `None` if nothing had to be done.

    `head` is the newest journal record that was looked at. `records` counts the calls that are undone. The memories are told by id: those that
    come back, those that go, those that change; `others` names changed rows that belong to no memory. `purged` counts the calls of which
    something was purged since: that does not come back.
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


class Surface(_Report):
    """A place where something of a memory may be: how much was found there (`None`: it cannot be counted), and what was done about it."""

    name: str
    found: int | None
    done: str


class PurgeReceipt(_Report):
    """What a purge erased. `left` names rows of others that name a purged memory, hold a text of it or count it: purge or change them if need be."""

    seq: int
    surfaces: tuple[Surface, ...]
    left: tuple[str, ...]


class ForgetReport(_Report):
    """What was forgotten, or with `dry_run` would be. `unknown` are ids of no memory that may be forgotten; nothing was done for them."""

    dry_run: bool
    seq: int | None
    memory_ids: tuple[str, ...]
    by_kind: dict[str, int]
    unknown: tuple[str, ...] = ()
    receipt: PurgeReceipt | None = None

    @property
    def total(self) -> int:
        """How many memories."""
        return len(self.memory_ids)


class CompactReport(_Report):
    """What compacting did. `is_whole` is false where another process was in the middle of reading, so that the log still has former pages."""

    bytes_before: int
    bytes_after: int
    snapshots_deleted: int
    is_whole: bool
