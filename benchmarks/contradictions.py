"""Whether facts and preferences that contradict each other are found, and no others: `python -m benchmarks.contradictions`.

The pairs were labelled by hand: they contradict each other, agree, are unrelated, or one is more special than the other. The files of judging pairs
were written before the code, and only their totals were looked at while the code was made; those of the domains after all rules that were tuned on
the other two files had been written, and before these were thinned out. In the last rows every text of a file is compared with every other one of its
sort as if all were of one domain; what is found there beside the labelled pairs is counted, not judged.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.records import DataError, read_records
from benchmarks.screen import wide_console

FOLDER = Path(__file__).with_name("data")
DATA = {
    "tuned on": FOLDER / "contradictions.jsonl",
    "judging": FOLDER / "contradictions_judging.jsonl",
    "domains": FOLDER / "contradictions_domains.jsonl",
    "domains, judging": FOLDER / "contradictions_domains_judging.jsonl",
}
LABELS = ("contradict", "agree", "refinement", "unrelated")
LEAST_PRECISION = 0.99


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, how they were labelled, and how ALMA says that they contradict each other, if it does."""

    label: str
    is_wish: bool
    sort: str | None

    @property
    def contradicts(self) -> bool:
        """Whether they do."""
        return self.label == "contradict"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    files = {"given": options.data} if options.data else DATA
    console = wide_console()
    try:
        records = {name: read_records(path) for name, path in files.items()}
        pairs = {name: judged(found) for name, found in records.items()}
    except (KeyError, DataError) as error:
        sys.exit(f"a pair has no {error}" if isinstance(error, KeyError) else str(error))
    show_labels(console, pairs)
    result = [gate for name, found in pairs.items() for gate in figures(found, name)]
    result += [across(found, name) for name, found in records.items()]
    gates.show(console, result, "Contradictions")
    if options.json:
        gates.write_json(options.json, result)
    gates.enforce(result)


def judged(records: Sequence[dict[str, str]]) -> list[Pair]:
    """The pairs as ALMA judges them."""
    from alma_knowledge import conflict

    pairs = []
    for record in records:
        is_wish = record["of"] == "preference"
        found = conflict(record["a"], record["b"], labels=(record["about"], record["about"]), is_wish=is_wish)
        pairs.append(Pair(record["label"], is_wish, found.sort if found else None))
    return pairs


def figures(pairs: Sequence[Pair], name: str) -> list[Gate]:
    """Precision, which is a limit, and recall."""
    called = [pair for pair in pairs if pair.sort]
    right = sum(pair.contradicts for pair in called)
    total = sum(pair.contradicts for pair in pairs)
    nothing = float("nan")
    return [
        Gate(f"precision, {name}", right / len(called) if called else nothing, "", limit=LEAST_PRECISION, more_is_better=True),
        Gate(f"recall, {name}", right / total if total else nothing, "", more_is_better=True),
    ]


def across(records: Sequence[dict[str, str]], name: str) -> Gate:
    """How many of all other pairs of texts of a file are called contradictions, in a thousand."""
    from alma_knowledge import conflict

    known = {frozenset((record["a"], record["b"])) for record in records}
    texts = sorted({(record["of"], record[side]) for record in records for side in "ab"})
    others = [(of, a, b) for (of, a), (kind, b) in combinations(texts, 2) if of == kind and frozenset((a, b)) not in known]
    found = sum(conflict(a, b, labels=("", ""), is_wish=of == "preference") is not None for of, a, b in others)
    share = 1_000 * found / len(others) if others else float("nan")
    return Gate(f"called so among {len(others):,} other pairs, {name}", share, "in 1,000")


def show_labels(console: Console, pairs: dict[str, list[Pair]]) -> None:
    """Prints how many pairs of each label are called contradictions, and of which sort."""
    table = Table(title="By label", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("file", "label"):
        table.add_column(name)
    for name in ("pairs", "called a contradiction", "denial", "opposite", "value"):
        table.add_column(name, justify="right")
    for name, found in pairs.items():
        for label in LABELS:
            sorts = [pair.sort for pair in found if pair.label == label]
            counts = [sum(sort == one for sort in sorts) for one in ("denial", "opposite", "value")]
            table.add_row(name, label, *map(str, (len(sorts), sum(counts), *counts)))
    console.print(table)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contradictions", description=__doc__)
    parser.add_argument("--data", type=Path, help="labelled pairs as JSON lines (default: those beside this benchmark)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
