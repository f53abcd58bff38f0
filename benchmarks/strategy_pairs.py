"""Whether strategies told in other words are recognised, and others kept apart: `python -m benchmarks.strategy_pairs`.

The pairs were labelled by hand, in two splits: one was tuned on, of the other only the totals were looked at. A pair is called the same where both,
tried on tasks of one type with nothing beside them, are one row of the table. A *conflict* is something in the words that speaks against
it (`alma_learning.differ`). The sweep shows what the cosine alone would do, and what it would do with the conflicts.
Those who wrote the pairs also wrote the lists of words: strategies of others may be recognised less often.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from alma_learning import Question, differ
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.measures import mean
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.trials import fold_wordings

DATA = Path(__file__).with_name("data") / "strategy_pairs.jsonl"
VETOED = ("exchanged", "negation", "number", "opposite", "version")
"""Kinds of pairs that differ in what `differ` looks for."""
LEAST_VETOED = 0.95
LIMITS = tuple(step / 100 for step in range(60, 100, 5))
STRATEGY = "strategy"
SPLITS = {"dev": "tuned on", "held_out": "held out"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two strategies, whether they are the same, and whether ALMA says so; `has_conflict` where words speak against it."""

    split: str
    kind: str
    is_same: bool
    cosine: float
    is_called_same: bool
    has_conflict: bool


@dataclass(frozen=True, slots=True)
class Quality:
    """How far what is called the same is the same, and the other way round. Precision is not a number where nothing is called the same."""

    right: int
    called: int
    same: int

    @classmethod
    def of(cls, pairs: Sequence[Pair], is_called_same: Callable[[Pair], bool] = lambda pair: pair.is_called_same) -> "Quality":
        called = [pair for pair in pairs if is_called_same(pair)]
        return cls(sum(pair.is_same for pair in called), len(called), sum(pair.is_same for pair in pairs))

    @property
    def precision(self) -> float:
        return self.right / self.called if self.called else float("nan")

    @property
    def recall(self) -> float:
        return self.right / self.same if self.same else float("nan")

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.called + self.same) if self.called + self.same else float("nan")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    try:
        pairs = judged(options.data, options.embedder)
    except DataError as error:
        sys.exit(str(error))
    show_kinds(console, pairs)
    show_sweep(console, pairs)
    result = [gate for split in SPLITS for gate in figures(pairs, split)]
    gates.show(console, result, f"Pairs of {options.data.name}, embedder {options.embedder}")
    if options.json:
        gates.write_json(options.json, result, data=options.data.name, embedder=options.embedder, kinds=kinds(pairs))
    gates.enforce(result)


def judged(path: Path, embedder: str) -> list[Pair]:
    """The pairs of a file as ALMA judges them. `DataError` if they are no labelled pairs."""
    records = [record for record in read_records(path) if record.get("of", STRATEGY) == STRATEGY]
    model = CachedEmbedder(embedder)
    pairs = []
    try:
        for record in records:
            a, b = record["a"], record["b"]
            one, other = model.embed([a, b])
            is_one = len(fold_wordings(model.embed, [a, b]).table(Question()).rows) == 1
            pairs.append(Pair(record["split"], record["kind"], record["same"], float(one @ other), is_one, differ(a, b)))
    except KeyError as error:
        raise DataError(f"{path}: a pair has no {error}") from error
    return pairs


def figures(pairs: Sequence[Pair], split: str) -> list[Gate]:
    """What is kept apart by its words, which has a limit; precision, recall and F of one split."""
    of_split = [pair for pair in pairs if pair.split == split]
    vetoed = [float(not pair.is_called_same) for pair in of_split if pair.kind in VETOED]
    quality, where = Quality.of(of_split), SPLITS[split]
    return [
        Gate(f"kept apart by their words, {where}", mean(vetoed), "", limit=LEAST_VETOED, more_is_better=True),
        Gate(f"precision of same, {where}", quality.precision, "", more_is_better=True),
        Gate(f"recall, {where}", quality.recall, "", more_is_better=True),
        Gate(f"F1, {where}", quality.f1, "", more_is_better=True),
    ]


def kinds(pairs: Sequence[Pair]) -> list[dict[str, str | bool | int | float]]:
    """Of each kind of pair and split: how many there are, how many are judged right, and their mean cosine."""
    rows: list[dict[str, str | bool | int | float]] = []
    for (is_same, kind, split), group in groupby(sorted(pairs, key=_kind), key=_kind):
        members = list(group)
        right = sum(pair.is_called_same == is_same for pair in members)
        cosine = round(mean([pair.cosine for pair in members]), 3)
        rows.append({"same": is_same, "kind": kind, "split": split, "pairs": len(members), "right": right, "cosine": cosine})
    return rows


def show_kinds(console: Console, pairs: Sequence[Pair]) -> None:
    """Prints a row for each kind of pair and split."""
    table = Table(title="By kind", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("is", "kind", "split"):
        table.add_column(name)
    for name in ("pairs", "judged right", "mean cosine"):
        table.add_column(name, justify="right")
    for row in kinds(pairs):
        verdict = "same" if row["same"] else "different"
        told = (verdict, row["kind"], SPLITS[str(row["split"])], row["pairs"], row["right"], row["cosine"])
        table.add_row(*map(str, told))
    console.print(table)


def show_sweep(console: Console, pairs: Sequence[Pair]) -> None:
    """Prints what other limits of the cosine would give, without the words and with their conflicts."""
    table = Table(title="Strategies by a limit of the cosine", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("cosine at least", "alone: precision", "recall", "F1", "without conflict: precision", "recall", "F1"):
        table.add_column(name, justify="right")
    for limit in LIMITS:
        alone = Quality.of(pairs, lambda pair, limit=limit: pair.cosine >= limit)
        without = Quality.of(pairs, lambda pair, limit=limit: pair.cosine >= limit and not pair.has_conflict)
        row = (limit, alone.precision, alone.recall, alone.f1, without.precision, without.recall, without.f1)
        table.add_row(*(f"{figure:.2f}" if place == 0 else f"{figure:.3f}" for place, figure in enumerate(row)))
    console.print(table)


def _kind(pair: Pair) -> tuple[bool, str, str]:
    return pair.is_same, pair.kind, pair.split


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strategy_pairs", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=DATA, help="labelled pairs as JSON lines (default: those beside this benchmark)"
    )
    parser.add_argument("--embedder", default="minilm", help="name of an embedder (default: minilm)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
