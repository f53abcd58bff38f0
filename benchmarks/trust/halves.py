"""The rows of a data file, all or a half of them."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.records import read_records


def rows_of(path: Path, half: str) -> list[dict[str, Any]]:
    """The rows whose ids have an even digest ("tuning"), an odd one ("judging"), or all."""
    rows = read_records(path)
    return rows if half == "both" else [row for row in rows if _half(str(row["id"])) == half]


def _half(row_id: str) -> str:
    return "judging" if sha256(row_id.encode()).digest()[0] % 2 else "tuning"
