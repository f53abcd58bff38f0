"""Whether a store keeps secrets, injections and poison out: `python -m benchmarks.trust --data FOLDER [--part secrets] [--half tuning | judging]`.

The folder has `secrets_dev.jsonl.gz`, `injection_dev.jsonl.gz` and `poison_dev.jsonl.gz`: labelled public data, described beside it. Of secrets only
shapes are in it; each is forged anew. Patterns were tuned on the half whose ids have an even digest, and judged on the other one.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.trust import cost, injections, poison, secret_texts

HALVES = ("tuning", "judging", "both")
PARTS: Mapping[str, Callable[[Path, str, str, Path], list[Gate]]] = {
    "secrets": secret_texts.figures,
    "injections": injections.figures,
    "poison": poison.figures,
    "cost": cost.figures,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 and a message if it cannot, or if a limit is missed."""
    options = _parser().parse_args(arguments)
    console, found = wide_console(), []
    for part in options.part or PARTS:
        try:
            with tempfile.TemporaryDirectory(prefix="trust-") as folder:
                figures = PARTS[part](options.data, options.half, options.embedder, Path(folder))
        except DataError as error:
            sys.exit(str(error))
        gates.show(console, figures, f"{part}, {options.half}, embedder {options.embedder}")
        found += figures
    if options.json:
        gates.write_json(options.json, found, embedder=options.embedder, half=options.half)
    gates.enforce(found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the labelled data")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this; may be given several times")
    parser.add_argument("--half", choices=HALVES, default="both", help="of secrets and injections, by the digest of their ids")
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--json", type=Path, help="also writes the figures there")
    return parser


if __name__ == "__main__":
    main()
