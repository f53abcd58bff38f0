"""What the weights of `alma.learning.ways` and of words in `alma.learning.sameness` come from: `python -m benchmarks.sameness_constants`.

A logistic regression of whether two strategies are one way, on what their vectors say among those they are tried beside, and on how their words
differ. It is fitted on the lists to tune on (`benchmarks.strategy_lists`), on the development vocabularies, in several ways of asking, and on the
pairs to tune on (`data/strategy_pairs.jsonl`), each pair by itself. Pairs that words alone decide do not count. Each way of asking weighs the same
but for those in `WEIGHT`: whole lists and one wording of each are what agents have most.

The weights in use are those of a fit without the lists with commands, with 2 for the same and −3 for other code instead of the 2.8 and −2.2 that a
fit gives them: fitted on all lists, they do worse on the short ones for judging and no better on those with commands (docs/decisions/learning.md).
"Own word" is set by hand: these lists have hardly any near copies.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from alma.learning.sameness import by_words, differences
from alma.learning.ways import features
from benchmarks.records import read_records
from benchmarks.screen import wide_console
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.told import vocabulary
from benchmarks.strategy_lists import (
    DEVELOPMENT,
    WITH_COMMANDS,
    Strategies,
    Wordings,
    alone,
    beside_another,
    half,
    one_of_each,
    read,
    whole,
)
from benchmarks.strategy_pairs import DATA as PAIRS

NAMES = (
    "cosine",
    "cosine / √k",
    "high",
    "ahead",
    "mean",
    "spread",
    "1 / √k",
    "shared words",
    "standing in",
    "one place",
    "contrary",
    "same code",
    "other code",
    "own word",
)


def three_alone(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """Three wordings of each strategy."""
    for number in range(len(strategies)):
        yield _chosen(strategies, {number: 3}, chance)


def two_of_two(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """Two wordings of two strategies."""
    yield _chosen(strategies, dict.fromkeys(chance.permutation(len(strategies))[:2].tolist(), 2), chance)


def three_and_one(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """Three wordings of one strategy, and one of another."""
    one, other = chance.permutation(len(strategies))[:2].tolist()
    yield _chosen(strategies, {one: 3, other: 1}, chance)


def each_once(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """One wording of each strategy."""
    yield _chosen(strategies, dict.fromkeys(range(len(strategies)), 1), chance)


def two_strategies(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """One wording of two strategies."""
    yield _chosen(strategies, dict.fromkeys(chance.permutation(len(strategies))[:2].tolist(), 1), chance)


def _chosen(strategies: Strategies, wanted: dict[int, int], chance: np.random.Generator) -> Wordings:
    """Some wordings of some strategies: their number by the number of the strategy."""
    return [
        (strategies[number][place], number)
        for number, count in wanted.items()
        for place in chance.permutation(len(strategies[number]))[:count]
    ]


ASKED = (
    whole,
    half,
    alone,
    three_alone,
    beside_another,
    two_of_two,
    three_and_one,
    one_of_each,
    each_once,
    two_strategies,
)
WEIGHT = {whole: 3.0, half: 2.0, beside_another: 2.0, one_of_each: 2.0}
SEEDS, STEPS, RIDGE = 2, 60, 2.0

Floats = NDArray[np.float64]


def main() -> None:
    """Prints the weights and the constant."""
    embedder = CachedEmbedder("minilm")
    lists = [*read("tuned on"), *read("tuned on", WITH_COMMANDS), *(vocabulary(name).strategies for name in DEVELOPMENT)]
    rows, wanted, weights = list[Floats](), list[bool](), list[float]()
    for ask in ASKED:
        contexts = [found for seed in range(SEEDS) for one in lists for found in ask(one, np.random.default_rng([100, seed]))]
        pairs = [pair for found in contexts for pair in _pairs(found, embedder)]
        _take(pairs, WEIGHT.get(ask, 1.0), rows, wanted, weights)
    records = [one for one in read_records(PAIRS) if one["of"] == "strategy" and one["split"] == "dev"]
    found = [pair for one in records for pair in _pairs([(one["a"], 0), (one["b"], 0 if one["same"] else 1)], embedder)]
    _take(found, 1.0, rows, wanted, weights)
    fitted = _fitted(np.array(rows), np.array(wanted, np.float64), np.array(weights))
    wide_console().print(", ".join(f"{name} {weight:.2f}" for name, weight in zip(("constant", *NAMES), fitted, strict=True)))


def _take(pairs: list[tuple[Floats, bool]], weight: float, rows: list[Floats], wanted: list[bool], weights: list[float]) -> None:
    rows += [row for row, _ in pairs]
    wanted += [is_one for _, is_one in pairs]
    weights += [1_000 * weight / len(pairs)] * len(pairs)


def _pairs(found: Wordings, embedder: CachedEmbedder) -> Iterator[tuple[Floats, bool]]:
    """The features of each pair that words do not decide, and whether it is one way."""
    texts = [text for text, _ in found]
    vectors = embedder.embed(texts).astype(np.float64)
    cosines = vectors @ vectors.T
    said = features(cosines)
    for one, other in zip(*np.triu_indices(len(texts), 1), strict=True):
        if np.isfinite(by_words(texts[one], texts[other], float(cosines[one, other]))):
            row = np.array([*said[:, one, other], *differences(texts[one], texts[other])])
            yield row, found[one][1] == found[other][1]


def _fitted(rows: Floats, wanted: Floats, weights: Floats) -> Floats:
    """The constant and the weights, by Newton's method with a ridge on standardised features."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    design = np.column_stack([np.ones(len(rows)), (rows - mean) / deviation])
    found = np.zeros(design.shape[1])
    ridge = RIDGE * np.diag(np.r_[0.0, np.ones(len(found) - 1)])
    for _ in range(STEPS):
        probable = 1 / (1 + np.exp(-design @ found))
        slope = design.T @ (weights * (probable - wanted)) + ridge @ found
        found -= np.linalg.solve((design * (weights * probable * (1 - probable))[:, None]).T @ design + ridge, slope)
    scaled = found[1:] / deviation
    return np.array([found[0] - (scaled * mean).sum(), *scaled])


if __name__ == "__main__":
    main()
