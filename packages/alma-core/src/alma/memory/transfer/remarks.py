"""Reasons why rows were left out or changed, counted, with the first row of each. The list stays short, however many rows there are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from alma.text import quoted, shortened
from alma.types.reports import Remark

MOST_REASONS = 40
OTHER = "another reason"
LONGEST = 200


@dataclass(slots=True)
class Remarks:
    """Counts by reason, and the id of the first row of each."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, row: Mapping[str, object]) -> None:
        """Counts a row for a reason."""
        kept = shortened(reason, LONGEST)
        if kept not in self.counts and len(self.counts) >= MOST_REASONS:
            kept = OTHER
        self.counts[kept] = self.counts.get(kept, 0) + 1
        self.first.setdefault(kept, _id_of(row))

    def listed(self) -> tuple[Remark, ...]:
        """Returns the reasons, ordered by most rows."""
        by_rows = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(Remark(reason=reason, rows=count, first=self.first[reason]) for reason, count in by_rows)


def _id_of(row: Mapping[str, object]) -> str:
    found = row.get("id")
    is_plain = isinstance(found, str) and found.isprintable() and 0 < len(found) <= LONGEST
    return str(found) if is_plain else quoted(found)
