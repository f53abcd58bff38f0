"""Results of `maintain`."""

from alma.types.identity import UtcDatetime
from alma.types.value import Value

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
    definition.
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
        """Number of memories that were archived, or would be."""
        return sum(rule.count for rule in self.rules)
