"""The figures of worlds told in many words, with their limits: those of the design's table on learning, line by line."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import nan
from pathlib import Path

import numpy as np
from rich.progress import Progress

from benchmarks.gates import Gate
from benchmarks.measures import interval, mean
from benchmarks.simulation import interval_coverage, one_strategy, regrets, relevance
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.estimate_policy import current_estimate, has_estimate
from benchmarks.simulation.public_policies import opened
from benchmarks.simulation.regrets import THOMPSON, Make, Regrets
from benchmarks.simulation.told import Vocabulary
from benchmarks.simulation.wording_worlds import Gap, Kind, world

UNTYPED_LIMIT = 1.15
TYPED_LIMIT = 75 / 87
"""The design's 75, beside the 87 of Thompson sampling in the worlds that it was set for."""
ESTIMATE, TYPED_ESTIMATE = "the estimate", "the estimate, typed"
ASKED_WITHOUT_TYPES = "the estimate, recorded with types and asked without"
TABLE, PROMPT, TYPED_TABLE = "first row", "[H1], else first row", "first row, typed"
MEM0 = "mem0, without its LLM"
FOLLOWED = (ESTIMATE, TYPED_ESTIMATE, TABLE, PROMPT, TYPED_TABLE, ASKED_WITHOUT_TYPES)
SAME_LIMIT, FOREIGN_LIMIT = 0.85, 0.95
COVERAGE_LIMITS = {"retries": 0.91, "told twice": 0.91, "drift": 0.85, "told difficulty": 0.90}
NULL_LIMIT = 0.05
WORLDS_A_STORE = 10
"""One store for relevance is filled for each 10 worlds of regret."""
WARNED_LIMIT, ALARM_LIMIT = 0.80, 0.03


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


def relevance_figures(run: Run) -> list[Gate]:
    """Shares of rules of the same intent, and of unrelated tasks without one: of all vocabularies together, and of each."""
    gates = []
    stores = [(gap, number) for gap in run.gaps for number in range(max(run.worlds // WORLDS_A_STORE, 1))]
    for follows in (False, True):
        how = "chosen by Thompson sampling" if follows else "chosen at random"
        together, rows = [], []
        for words in run.vocabularies:
            found = [
                relevance.measured(words, gap, run.seed + number, run.embedder, follows_advice=follows, tasks=run.tasks * 4 // 5)
                for gap, number in run.progress.track(stores, description=f"Relevance: {words.name}, {how}")
            ]
            together += found
            rows += _relevance_gates(f"  {words.name}: ", found, is_limited=False)
        gates += [*_relevance_gates(f"{how}: ", together, is_limited=True), *rows]
    return gates


def coverage_figures(run: Run) -> list[Gate]:
    """Coverage by the estimate, if ALMA has it, and by the public calls in a tenth as many worlds."""
    gates = []
    words = run.vocabularies[0]
    if has_estimate():
        advise, same = current_estimate(run.embedder)
        pure = interval_coverage.coverage(
            _cases(run, words, 10 * run.worlds, "Coverage by the estimate"),
            lambda case: interval_coverage.by_estimate(case, advise(), run.embedder.embed, same),
        )
        gates += _coverage_gates(ESTIMATE, pure, run.seed)
    if not run.pure_only:
        with opened(run.embedder) as memory:
            agents = (f"agent {number}" for number in count())
            public = interval_coverage.coverage(
                _cases(run, words, run.worlds, "Coverage by the public calls"),
                lambda case: interval_coverage.by_public_calls(case, memory, next(agents)),
            )
        gates += _coverage_gates("public calls", public, run.seed)
    return gates


def strategy_figures(run: Run) -> list[Gate]:
    """One strategy in many wordings, `check` on paraphrases, and rules that are proven where nothing differs."""
    ten: list[bool] = []
    five: list[bool] = []
    warned: list[bool] = []
    alarms: list[bool] = []
    with opened(run.embedder) as memory:
        agents = (f"agent {number}" for number in count())
        for words in run.vocabularies:
            tasks = one_strategy.tasks_of(words)
            ten.append(one_strategy.merged(memory, next(agents), one_strategy.TEN_WORDINGS, tasks).is_one)
            for place in run.progress.track(range(len(words.strategies)), description=f"Strategies: {words.name}"):
                five.append(one_strategy.merged(memory, next(agents), words.strategies[place], tasks).is_one)
                own, foreign = one_strategy.warned(memory, next(agents), words, place, tasks)
                warned += own
                alarms += foreign
        chance = np.random.default_rng([run.seed, 8])
        null = [
            one_strategy.any_false(memory, next(agents), rate, chance)
            for rate in one_strategy.NULL_RATES
            for _ in run.progress.track(range(run.worlds), description=f"Nothing differs, rate {rate:g}")
        ]
    return [
        Gate("null worlds, 2 × 12, with any false proven rule at any look", float(np.mean(null)), "", limit=NULL_LIMIT),
        Gate("one strategy in 10 wordings: one row, 20 of 20, a heuristic", float(np.mean(ten)), "", 1.0, more_is_better=True),
        Gate("  each strategy in its 5 wordings", float(np.mean(five)), ""),
        Gate("check: paraphrases warned", float(np.mean(warned)), "", WARNED_LIMIT, more_is_better=True),
        Gate("check: false alarms", float(np.mean(alarms)), "", limit=ALARM_LIMIT),
    ]


def _makers(run: Run) -> dict[str, Make]:
    new_advise, same = current_estimate(run.embedder)
    makers = regrets.baselines(run.embedder)
    makers[ESTIMATE] = regrets.by_estimate(new_advise, run.embedder, same)
    makers[TYPED_ESTIMATE] = regrets.by_estimate(new_advise, run.embedder, same, typed=True)
    if run.mem0 is not None:
        makers[MEM0] = regrets.by_mem0(run.mem0, run.embedder)
    if not run.pure_only:
        makers[TABLE] = regrets.by_public_calls(run.embedder)
        makers[PROMPT] = regrets.by_public_calls(run.embedder, prompt=True)
        makers[TYPED_TABLE] = regrets.by_public_calls(run.embedder, typed=True)
    makers[ASKED_WITHOUT_TYPES] = regrets.by_estimate(new_advise, run.embedder, same, typed=True, asked_with_types=False)
    return makers


def _limit(name: str, gap: Gap) -> float | None:
    if name in (ESTIMATE, TABLE, PROMPT):
        return UNTYPED_LIMIT
    return TYPED_LIMIT if name in (TYPED_ESTIMATE, TYPED_TABLE) and gap is Gap.WIDE else None


def _ratio_gate(what: str, name: str, found: Regrets, seed: int, limit: float | None) -> Gate:
    value, low, high = regrets.ratio(found[name], found[THOMPSON], seed)
    return Gate(f"{what} ({low:.2f} to {high:.2f})", value, "×", limit=limit)


def _relevance_gates(where: str, found: Sequence[relevance.Relevance], *, is_limited: bool) -> list[Gate]:
    shown, known = sum(one.shown for one in found), sum(one.known_shown for one in found)
    foreign = [number for one in found for number in one.foreign]
    same = sum(one.same for one in found) / shown if shown else nan
    silent = mean([float(number == 0) for number in foreign])
    limits = (SAME_LIMIT, FOREIGN_LIMIT) if is_limited else (None, None)
    return [
        Gate(f"{where}rules of the same intent, unseen wordings", same, "", limits[0], more_is_better=True),
        Gate(f"{where}the same, known wordings", sum(one.known_same for one in found) / known if known else nan, ""),
        Gate(f"{where}unseen wordings with a rule", sum(one.answered for one in found) / sum(one.queries for one in found), ""),
        Gate(f"{where}unrelated tasks without a rule", silent, "", limits[1], more_is_better=True),
        Gate(f"{where}rules for an unrelated task", mean(foreign), ""),
    ]


def _coverage_gates(by: str, found: dict[str, list[interval_coverage.Covered]], seed: int) -> list[Gate]:
    gates = []
    for what, cases in found.items():
        values = [case.share for case in cases]
        low, high = interval(values, seed=seed)
        text = f"coverage by {by}, {what} ({low:.3f} to {high:.3f})"
        gates.append(Gate(text, mean(values), "", limit=COVERAGE_LIMITS[what], more_is_better=True))
        gates.append(Gate("  mean width of the intervals", float(np.nanmean([case.width for case in cases])), ""))
    return gates


def _cases(run: Run, words: Vocabulary, worlds: int, what: str) -> Iterator[interval_coverage.Case]:
    for number in run.progress.track(range(worlds), description=what):
        yield from interval_coverage.cases(words, run.seed, number)


PARTS: dict[str, Callable[[Run], list[Gate]]] = {
    "relevance": relevance_figures,
    "coverage": coverage_figures,
    "strategies": strategy_figures,
}
