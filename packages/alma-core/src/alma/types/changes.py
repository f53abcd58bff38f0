"""Row changes of a call, as the journal lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RowValues = Mapping[str, Any]
"""Columns of a row of the journal: plain JSON values."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that a call changed. `before` and `after` hold the changed columns; a new row has no `before`, a deleted one no `after`."""

    table: str
    key: str
    before: RowValues | None
    after: RowValues | None
