"""Learning judged end to end, in worlds told in many words: `python -m benchmarks.simulation.wordings [--quick]`.

A world draws 500 tasks from a vocabulary: an intent, a wording of it, a name. Each intent has its own best strategy of six. Gaps are wide (.8 beside
.2 to .5), narrow (.7 beside .35 to .55) or at high base rates (.95 beside .6 to .85). Figures are those of the design's table on learning: regret
beside Thompson sampling that knows the classes, with a bootstrap interval over worlds, and the coverage of intervals.

The vocabularies `banking`, `debugging`, `helpdesk`, `repositories` and `orders` are for judging alone: no rule, constant or list of words may be
chosen by how it does on them.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.progress import Progress

from benchmarks import gates
from benchmarks.arguments import positive, several
from benchmarks.screen import wide_console
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.regrets import Regrets
from benchmarks.simulation.told import DEVELOPMENT, JUDGING, vocabulary
from benchmarks.simulation.wording_figures import PARTS, Run, regret_figures
from benchmarks.simulation.wording_worlds import Gap

WORLDS, TASKS = 20, 500
QUICK_WORLDS, QUICK_TASKS = 2, 60
REGRET = "regret"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the simulation as the command line says. Ends the process with 1 if a limit is missed."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    result: list[gates.Gate] = []
    regrets: dict[str, Regrets] = {}
    with Progress(console=console) as progress:
        run = Run(
            vocabularies=[vocabulary(name) for name in options.vocabulary or DEVELOPMENT],
            embedder=CachedEmbedder(options.embedder),
            seed=options.seed,
            worlds=QUICK_WORLDS if options.quick else options.worlds,
            progress=progress,
            paraphrased=options.paraphrased,
            gaps=[Gap(name) for name in options.gap or Gap],
            difficult=options.difficult,
            wordings=options.wordings,
            tasks=QUICK_TASKS if options.quick else options.tasks,
            pure_only=options.pure,
            mem0=options.mem0,
        )
        parts = options.part or [REGRET, *PARTS]
        if REGRET in parts:
            result, regrets = regret_figures(run)
        for part in parts:
            result += PARTS[part](run) if part != REGRET else []
    gates.show(
        console, result, f"Worlds in many words, seed {run.seed}, {run.worlds} worlds each{', quick' if options.quick else ''}"
    )
    if options.json:
        names = [words.name for words in run.vocabularies]
        gates.write_json(options.json, result, seed=run.seed, worlds=run.worlds, vocabularies=names, regrets=regrets)
    gates.enforce(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation.wordings", description=__doc__)
    names, parts = (*DEVELOPMENT, *JUDGING), (REGRET, *PARTS)
    parser.add_argument("--vocabulary", action="append", choices=names, help="repeatable (default: those of development)")
    parser.add_argument("--gap", action="append", choices=[*Gap], help="for regret, repeatable (default: all)")
    parser.add_argument("--part", action="append", choices=parts, help="what to measure, repeatable (default: all)")
    parser.add_argument("--worlds", type=several, default=WORLDS, help=f"of each vocabulary and gap (default: {WORLDS})")
    parser.add_argument("--tasks", type=positive, default=TASKS, help=f"of a world (default: {TASKS})")
    parser.add_argument("--quick", action="store_true", help="few and short worlds: figures that say little")
    parser.add_argument("--pure", action="store_true", help="without the public calls: the baselines and the estimate alone")
    parser.add_argument("--paraphrased", action="store_true", help="offer each strategy in any of its five wordings")
    parser.add_argument("--difficult", action="store_true", help="half of the tasks are hard, of which only the type says so")
    parser.add_argument("--wordings", type=positive, help="of each intent in a world (default: all; fewer is easier)")
    parser.add_argument(
        "--embedder", default="minilm", help="name of an embedder, or sentence-transformers=MODEL (default: minilm)"
    )
    parser.add_argument("--seed", type=positive, default=1, help="of all that is drawn (default: 1)")
    parser.add_argument(
        "--mem0", type=Path, metavar="PYTHON", help="beside mem0 without its LLM: a Python with mem0ai and qdrant-client"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
