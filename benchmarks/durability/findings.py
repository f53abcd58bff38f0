"""What a check found: each fault with its sort."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

SORTS = {
    "lost": "acknowledged calls lost",
    "half": "calls that landed in part",
    "phantom": "changes of no call, or of one that raised",
    "error": "errors that no call may raise",
    "wrong": "answers that were wrong meanwhile",
    "verify": "problems that verify named",
    "chain": "gaps in a journal",
    "retrieval": "searches that disagree with the rows",
    "counts": "counts that are not those of the calls",
    "bytes": "erased words still in a file",
    "files": "temporary files left over",
    "hash": "processes that see other content",
    "hang": "processes that did not end",
}
"""The sorts of faults, in words."""

TOLD = 40
"""So many faults of a sort are told in full."""


@dataclass(slots=True)
class Findings:
    """Faults by sort, with what was looked at."""

    faults: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    lost_calls: Counter[str] = field(default_factory=Counter)
    half_calls: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)

    def add(self, sort: str, what: str) -> None:
        """Notes a fault."""
        self.counts[sort] += 1
        told = self.faults.setdefault(sort, [])
        if len(told) < TOLD:
            told.append(what)

    def merge(self, other: "Findings") -> None:
        """Takes in what another check found."""
        for sort, told in other.faults.items():
            self.faults.setdefault(sort, []).extend(told)
        self.counts += other.counts
        self.lost_calls += other.lost_calls
        self.half_calls += other.half_calls
        self.checked += other.checked

    @property
    def is_clean(self) -> bool:
        """Whether there is no fault."""
        return not self.counts

    def as_json(self) -> dict[str, Any]:
        """What there is, as plain values."""
        return {"counts": dict(self.counts), "faults": self.faults, "checked": dict(self.checked)}
