"""An outcome as it is stored, as far as learning reads it. Row numbers are handles of one database."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from alma.types.partition import Partition


class RecordedOutcome(NamedTuple):
    """A stored outcome, archived ones included. `row` rises with each outcome recorded; times are in microseconds."""

    row: int
    partition: Partition
    id: str
    body: Mapping[str, Any]
    successes: float | None
    seen_at: int
    created_at: int
    is_archived: bool
