"""The figures of worlds told in many words, with their limits: those of the design's table on learning, line by line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import Progress

from benchmarks.gates import Gate
from benchmarks.measures import interval, mean
from benchmarks.simulation import interval_coverage, regrets
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.regrets import THOMPSON, Make, Regrets
from benchmarks.simulation.told import Vocabulary
from benchmarks.simulation.wording_worlds import Gap, Kind, world

UNTYPED_LIMIT, TYPED_LIMIT = 1.35, 0.75
COVERAGE_LIMIT = 0.91
CASES_A_WORLD = 5
ESTIMATE, TYPED_ESTIMATE = "the estimate", "the estimate, typed"
ASKED_WITHOUT_TYPES = "the estimate, recorded with types and asked without"
TABLE, PROMPT, TYPED_TABLE = "first row", "[H1], else first row", "first row, typed"
MEM0 = "mem0, without its LLM"
FOLLOWED = (ESTIMATE, TYPED_ESTIMATE, TABLE, PROMPT, TYPED_TABLE, ASKED_WITHOUT_TYPES)


@dataclass(frozen=True, slots=True)
class Run:
    """What is measured, and with what."""

    vocabularies: Sequence[Vocabulary]
    embedder: CachedEmbedder
    seed: int
    worlds: int
    progress: Progress
    gaps: Sequence[Gap] = tuple(Gap)
    paraphrased: bool = False
    difficult: bool = False
    wordings: int | None = None
    tasks: int = 500
    pure_only: bool = False
    mem0: Path | None = None


def regret_figures(run: Run) -> tuple[list[Gate], dict[str, Regrets]]:
    """Ratios to Thompson sampling that knows the classes by gap, over all vocabularies with a limit, then of each; and all regrets."""
    makers = _makers(run)
    gates, all_regrets = [], {}
    for gap in run.gaps:
        kind = Kind(gap, paraphrased=run.paraphrased, difficult=run.difficult, wordings=run.wordings, tasks=run.tasks)
        together: Regrets = {name: [] for name in makers}
        rows = []
        for words in run.vocabularies:
            places = run.progress.track(range(run.worlds), description=f"Regret: {words.name}, {gap}")
            found = regrets.measured((world(words, kind, run.seed * 1000 + place) for place in places), makers, run.seed)
            all_regrets[f"{words.name}, {gap}"] = found
            for name, values in found.items():
                together[name] += values
            rows += [_ratio_gate(f"  {words.name}: {name}", name, found, run.seed, None) for name in makers if name in FOLLOWED]
        gates.append(Gate(f"{gap}: regret of {THOMPSON}", mean(together[THOMPSON]), ""))
        gates += [
            _ratio_gate(f"{gap}: {name}", name, together, run.seed, _limit(name, gap)) for name in makers if name != THOMPSON
        ]
        gates += rows
    return gates, all_regrets


def coverage_figures(run: Run) -> list[Gate]:
    """The share of intervals that hold the truth, by sort of case."""
    numbers = run.progress.track(range(CASES_A_WORLD * run.worlds), description="Coverage")
    drawn = (case for number in numbers for case in interval_coverage.cases(run.seed, number))
    gates = []
    for what, cases in interval_coverage.coverage(drawn, run.embedder.embed).items():
        values = [case.share for case in cases]
        low, high = interval(values, seed=run.seed)
        text = f"coverage, {what} ({low:.3f} to {high:.3f})"
        gates.append(Gate(text, mean(values), "", limit=COVERAGE_LIMIT, more_is_better=True))
        gates.append(Gate("  mean width of the intervals", float(np.nanmean([case.width for case in cases])), ""))
    return gates


def _makers(run: Run) -> dict[str, Make]:
    makers = regrets.baselines(run.embedder)
    makers[ESTIMATE] = regrets.by_projection(run.embedder)
    makers[TYPED_ESTIMATE] = regrets.by_projection(run.embedder, typed=True)
    if run.mem0 is not None:
        makers[MEM0] = regrets.by_mem0(run.mem0, run.embedder)
    if not run.pure_only:
        makers[TABLE] = regrets.by_public_calls(run.embedder)
        makers[PROMPT] = regrets.by_public_calls(run.embedder, prompt=True)
        makers[TYPED_TABLE] = regrets.by_public_calls(run.embedder, typed=True)
    makers[ASKED_WITHOUT_TYPES] = regrets.by_projection(run.embedder, typed=True, asked_with_types=False)
    return makers


def _limit(name: str, gap: Gap) -> float | None:
    if name in (ESTIMATE, TABLE, PROMPT):
        return UNTYPED_LIMIT
    return TYPED_LIMIT if name in (TYPED_ESTIMATE, TYPED_TABLE) and gap is Gap.WIDE else None


def _ratio_gate(what: str, name: str, found: Regrets, seed: int, limit: float | None) -> Gate:
    value, low, high = regrets.ratio(found[name], found[THOMPSON], seed)
    return Gate(f"{what} ({low:.2f} to {high:.2f})", value, "×", limit=limit)


PARTS: dict[str, Callable[[Run], list[Gate]]] = {"coverage": coverage_figures}
