"""What `maintain` reports."""

from pydantic import BaseModel, ConfigDict

from alma.types.identity import UtcDatetime

MAINTENANCE = "maintenance"
"""The kind of the small record that says when it last ran. It is of this store alone, so no export has it."""

MOST_NAMED = 100
"""So many memories are named under one rule; all are counted."""


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RuleReport(_Report):
    """What one rule of one kind archived, or would archive: how many memories, by owner, and the ids of at most 100.

    `rule` is the name of the setting, `limit` its value. Users stand under `user:` and their name.
    """

    kind: str
    rule: str
    limit: float
    count: int
    by_owner: dict[str, int]
    memory_ids: tuple[str, ...]


class MaintenanceReport(_Report):
    """What `maintain` did, or with `dry_run` would do.

    `ran` is false where nothing was looked at: it was not due, or another process did it just then. `last_run_at` is when it had run before,
    `due_at` when it is due next. `seqs` are the journal records; `unknown_kinds` have rules in the settings, but no memories and no definition.
    """

    dry_run: bool
    ran: bool
    last_run_at: UtcDatetime | None
    due_at: UtcDatetime | None
    seqs: tuple[int, ...] = ()
    rules: tuple[RuleReport, ...] = ()
    unknown_kinds: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many memories were archived, or would be."""
        return sum(rule.count for rule in self.rules)
