"""Records of strategies as a table."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from alma.text import one_line
from alma_cli.intervals import marks, picture
from alma_cli.output import table

if TYPE_CHECKING:
    from rich.table import Table

    from alma.types.strategies import StrategyRecord

_COLUMNS = ("strategy", "verdict", "worked", "rate", "95 %", "0      ½      1")
_BRIEF = ("strategy", "worked", "tasks", "expected", "95 %", "0      ½      1")
_BRIEF_FIGURES_WIDTH = 55
"""Columns that a brief table needs beside the strategy."""
_LEAST_STRATEGY_CHARS, _MOST_STRATEGY_CHARS = 16, 46
_FIGURES = ("worked", "rate", "95 %")


def records_table(rows: "Iterable[StrategyRecord]", *, title: str | None = None) -> "Table":
    """Returns one row per strategy, in the order given; under its name its task, its owner, its record in the words of a prompt, and when it
    was last used."""
    return table(_COLUMNS, map(_row, rows), title=title, right=_FIGURES, whole=_COLUMNS[1:])


def brief_table(rows: "Iterable[StrategyRecord]", *, width: int) -> "Table":
    """Returns one line per row for a terminal of `width` columns, in the order given; of a long strategy the middle is left out."""
    chars = min(max(width - _BRIEF_FIGURES_WIDTH, _LEAST_STRATEGY_CHARS), _MOST_STRATEGY_CHARS)
    return table(_BRIEF, (_brief(row, chars) for row in rows), right=_BRIEF[1:-1], whole=_BRIEF[1:])


def _brief(row: "StrategyRecord", chars: int) -> tuple[str, ...]:
    return (
        _ends(one_line(row.strategy), chars),
        f"{row.successes} of {row.trials}",
        str(row.tasks),
        f"{row.expected:.0%}",
        f"{row.interval.lower:.0%}–{row.interval.upper:.0%}",
        picture(row.rate, row.interval, marks()),
    )


def _ends(strategy: str, chars: int) -> str:
    """Returns the strategy, or its beginning and its end: like ones often begin alike."""
    kept = (chars - 1) // 2
    return strategy if len(strategy) <= chars else f"{strategy[:kept].rstrip()}…{strategy[-kept:].lstrip()}"


def _row(row: "StrategyRecord") -> tuple[str, ...]:
    if not row.trials:
        return (_description(row), "not judged", *[""] * (len(_COLUMNS) - 2))
    return (
        _description(row),
        row.verdict.value,
        f"{row.successes} of {row.trials}",
        f"{row.rate:.0%}",
        f"{row.interval.lower:.0%}–{row.interval.upper:.0%}",
        picture(row.rate, row.interval, marks()),
    )


def _description(row: "StrategyRecord") -> str:
    origin = f" (of {row.shared_from})" if row.shared_from else ""
    of_steps = "as a step " if row.is_of_steps else ""
    details = [
        f"{of_steps}for {row.task_type or row.task}{origin}",
        row.record(None),
        f"and {row.unverified} not judged" if row.unverified and row.trials else "",
        f"last {row.last_used:%Y-%m-%d}",
    ]
    return "\n  ".join(" ".join(line.split()) for line in (row.strategy, *details) if line)
