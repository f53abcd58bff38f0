"""Days, and what tests of the graph look at."""

from collections.abc import Iterable
from datetime import UTC, datetime

from alma.graph import Relationship

Interval = tuple[str, datetime | None, datetime | None]


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    """Returns a day in UTC."""
    return datetime(year, month, number, tzinfo=UTC)


def targets(relations: Iterable[Relationship]) -> list[str]:
    """Returns the names of the targets."""
    return [one.properties["target"] for one in relations]


def intervals(relations: Iterable[Relationship]) -> list[Interval]:
    """Returns the targets with their intervals."""
    return [(one.properties["target"], one.valid_from, one.valid_to) for one in relations]
