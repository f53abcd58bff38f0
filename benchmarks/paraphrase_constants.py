"""What the weights of `alma.learning.paraphrases` come from: `python -m benchmarks.paraphrase_constants`.

A logistic regression of whether a sentence says what another does, on the cosine of their vectors and on how their words differ. It is fitted on the
labelled pairs that `check` may be tuned on (`check_tuning.jsonl`, `check_held_out.jsonl`, which is spent, and the strategies to tune on), and on each
pattern beside the actions of other domains that are near to it, none of which it names. Only pairs count that this judges: the second text has not
all words of the first, no word speaks against them, and neither is code. Weights are printed relative to that of the cosine; then, for each limit,
what is recognised and what is not so. The held-out strategies are only reported.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

from alma.learning.action_matching import read_action, read_pattern
from alma.learning.paraphrases import Saying, differences, is_contained, is_contrary
from benchmarks.checks import FOLDER, HELD_OUT, SETS, TUNING, Pair, read_pairs, read_strategies
from benchmarks.screen import wide_console
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.strategy_pairs import DATA

NAMES = ("cosine", "lacking", "standing in", "more", "place", "shortened", "first")
LEAST_COSINE = 0.45
"""Pairs of different domains count from this cosine on."""
FLOOR = 0.65
LIMITS = (1.15, 1.18, 1.21, 1.24, 1.27)
FITTED_ON = SETS[:3]
CROSSED = "other domains"
STEPS, RIDGE = 30, 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair of sentences: where it is from, whether they are the same, and its features."""

    of: str
    is_same: bool
    features: tuple[float, ...]


def main() -> None:
    """Prints the weights, and what comes of each limit."""
    pairs = [*read_pairs(TUNING, SETS[0]), *read_pairs(HELD_OUT, SETS[1]), *read_strategies(DATA)]
    embedder = CachedEmbedder("minilm")
    judged = [*_judged(pairs, embedder), *_crossed(pairs, embedder)]
    weights = _weights([one for one in judged if one.of in (*FITTED_ON, CROSSED)])
    console = wide_console()
    console.print(", ".join(f"{name} {weight:.2f}" for name, weight in zip(NAMES, weights, strict=True)))
    table = Table("set", *(f"from {limit}" for limit in LIMITS), box=SIMPLE_HEAD)
    for of in (*SETS, CROSSED):
        for is_same in (True, False):
            features = np.array([one.features for one in judged if one.of == of and one.is_same is is_same]).reshape(
                -1, len(NAMES)
            )
            if len(features):
                scores = np.where(features[:, 0] >= FLOOR, features @ weights, 0.0)
                counts = (f"{(scores >= limit).sum()} of {len(scores)}" for limit in LIMITS)
                table.add_row(f"{of}, {'the same' if is_same else 'not'}", *counts)
    console.print(table)


def _judged(pairs: Sequence[Pair], embedder: CachedEmbedder) -> Iterator[Judged]:
    """The pairs that the weights decide on."""
    for pair in pairs:
        one, other = _sayings(pair.pattern, pair.action)
        if one and other and _is_open(one, other):
            vectors = embedder.embed([pair.pattern, pair.action])
            yield Judged(pair.of, pair.should_warn, (float(vectors[0] @ vectors[1]), *differences(one, other)))


def _crossed(pairs: Sequence[Pair], embedder: CachedEmbedder) -> Iterator[Judged]:
    """Patterns beside near actions of other domains."""
    domains = _domains()
    known = [pair for pair in pairs if (pair.pattern, pair.action) in domains]
    patterns = {pair.pattern: domains[pair.pattern, pair.action] for pair in known}
    actions = {pair.action: domains[pair.pattern, pair.action] for pair in known}
    cosines = embedder.embed(list(patterns)) @ embedder.embed(list(actions)).T
    texts = list(patterns.items()), list(actions.items())
    for row, column in np.argwhere(cosines >= LEAST_COSINE).tolist():
        (pattern, mine), (action, theirs) = texts[0][row], texts[1][column]
        one, other = _sayings(pattern, action) if mine != theirs else (None, None)
        if one and other and _is_open(one, other):
            yield Judged(CROSSED, False, (float(cosines[row, column]), *differences(one, other)))


def _domains() -> dict[tuple[str, str], str]:
    lines = (line for path in (TUNING, HELD_OUT) for line in (FOLDER / path).read_text(encoding="utf-8").splitlines())
    return {(one["pattern"], one["action"]): one["domain"] for one in map(json.loads, lines)}


def _sayings(pattern: str, action: str) -> tuple[Saying, Saying] | tuple[None, None]:
    """Both as they are compared; none where the action is code."""
    read = read_action(action)
    return (None, None) if read.is_code else (read_pattern(pattern).whole, read.whole)


def _is_open(one: Saying, other: Saying) -> bool:
    return not is_contained(one, other) and not is_contrary(one, other)


def _weights(judged: Sequence[Judged]) -> Floats:
    """The weights relative to the first, by Newton's method with a ridge on standardised features."""
    features = np.array([one.features for one in judged])
    spread = features.std(axis=0)
    rows = np.column_stack([features / spread, np.ones(len(judged))])
    wanted = np.array([one.is_same for one in judged], np.float64)
    ridge = np.diag([*[RIDGE] * len(NAMES), 0.0])
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows * (expected * (1 - expected))[:, None]).T @ rows + ridge
        weights -= np.linalg.solve(curvature, rows.T @ (expected - wanted) + ridge @ weights)
    raw = weights[:-1] / spread
    relative: Floats = raw / raw[0]
    return relative


if __name__ == "__main__":
    main()
