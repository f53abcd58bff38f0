"""What must hold: a figure, its limit, and what the public reference shows on a quiet machine with two cores."""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Gate:
    """A measured figure with its limit: at least so much where more is better, else at most so much.

    `reference` is the reference's figure, of this run where `is_same_run`.
    """

    what: str
    value: float
    unit: str
    limit: float | None = None
    reference: float | None = None
    is_same_run: bool = False
    more_is_better: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the limit is kept; `None` where there is none, or nothing was measured."""
        if math.isnan(self.value) or self.limit is None:
            return None
        return self.value >= self.limit if self.more_is_better else self.value <= self.limit

    @property
    def times_better(self) -> float | None:
        """How many times better than the reference."""
        if self.reference is None or not self.value or not self.reference:
            return None
        return self.value / self.reference if self.more_is_better else self.reference / self.value


def show(console: Console, gates: Sequence[Gate], title: str) -> None:
    """Prints the figures as a table."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("what")
    for name in ("value", "gate", "holds", "reference", "times better"):
        table.add_column(name, justify="right", no_wrap=True)
    for gate in gates:
        verdict = {True: "yes", False: "NO", None: ""}[gate.holds]
        limit = "" if gate.limit is None else f"{'≥' if gate.more_is_better else '≤'} {gate.limit:g}"
        table.add_row(gate.what, f"{_short(gate.value)} {gate.unit}", limit, verdict, *_beside(gate))
    console.print(table)


def enforce(gates: Sequence[Gate]) -> None:
    """Ends the process with 1 and the figures that miss their limits; does nothing if none does."""
    missed = [f"{gate.what} ({_short(gate.value)} {gate.unit})" for gate in gates if gate.holds is False]
    if missed:
        sys.exit(f"limits missed: {'; '.join(missed)}")


def write_json(path: Path, gates: Sequence[Gate], **about: Any) -> None:
    """Writes the figures and what is to be known about the run."""
    rows = [{**asdict(gate), "holds": gate.holds, "times_better": gate.times_better} for gate in gates]
    body = json.dumps({**about, "gates": [{name: _plain(value) for name, value in row.items()} for row in rows]}, indent=2)
    path.write_text(body + "\n", encoding="utf-8")


def _beside(gate: Gate) -> tuple[str, str]:
    if gate.reference is None:
        return "", ""
    note = "" if gate.is_same_run else " (published)"
    return f"{_short(gate.reference)}{note}", f"{gate.times_better:.1f}" if gate.times_better else ""


def _short(value: float) -> str:
    return "?" if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
