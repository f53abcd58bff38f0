"""What deciding by a memory costs, in worlds told in many words: regret beside that of Thompson sampling that knows the classes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.simulation import policies
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.mem0_policy import mem0_policy
from benchmarks.simulation.policies import ByCounts, Policy
from benchmarks.simulation.projection_policy import ProjectionPolicy
from benchmarks.simulation.public_policies import PromptPolicy, TablePolicy, opened
from benchmarks.simulation.wording_worlds import World

THOMPSON = "Thompson, classes known"
THOMPSON_RUNS = 8
RESAMPLES = 2_000

Regrets = dict[str, list[float]]
Make = Callable[[World, np.random.Generator], AbstractContextManager[Policy]]


def baselines(embedder: CachedEmbedder) -> dict[str, Make]:
    """The policies that ask nothing of ALMA. Those that know the classes know of which intent a task is."""
    return {
        "random": lambda world, chance: nullcontext(policies.Random(chance)),
        "most recent success": lambda world, chance: nullcontext(policies.MostRecentSuccess(chance)),
        "plain vector memory": lambda world, chance: nullcontext(policies.VectorMemory(embedder.embed, chance)),
        "Thompson, classes unknown": partial(_by_counts, score=policies.thompson, knows_classes=False),
        "UCB, classes known": partial(_by_counts, score=policies.ucb, knows_classes=True),
        THOMPSON: partial(_by_counts, score=policies.thompson, knows_classes=True),
    }


def by_projection(embedder: CachedEmbedder, *, typed: bool = False, asked_with_types: bool = True) -> Make:
    """The policy that follows the estimate of `alma_learning`, without a store."""
    return lambda _, chance: nullcontext(ProjectionPolicy(embedder.embed, chance, typed=typed, asked_with_types=asked_with_types))


def by_mem0(python: Path, embedder: CachedEmbedder) -> Make:
    """The policy that remembers by mem0, which runs by another Python."""
    return lambda _, chance: mem0_policy(python, embedder, chance)


def by_public_calls(embedder: CachedEmbedder, *, typed: bool = False, prompt: bool = False) -> Make:
    """The policy that follows the table of a store of its own, or the first heuristic that it is shown."""
    kind = PromptPolicy if prompt else TablePolicy

    @contextmanager
    def make(world: World, chance: np.random.Generator) -> Iterator[Policy]:
        with opened(embedder) as memory:
            yield kind(memory, chance, typed=typed)

    return make


def measured(worlds: Iterable[World], makers: Mapping[str, Make], seed: int) -> Regrets:
    """The regret of each policy in each world; of Thompson sampling that knows the classes the mean of several runs."""
    regrets: Regrets = {name: [] for name in makers}
    for number, world in enumerate(worlds):
        for place, (name, make) in enumerate(makers.items()):
            runs = THOMPSON_RUNS if name == THOMPSON else 1
            regrets[name].append(float(np.mean([_run(make, world, [seed, number, place, run]) for run in range(runs)])))
    return regrets


def ratio(values: Sequence[float], reference: Sequence[float], seed: int) -> tuple[float, float, float]:
    """The sum of regrets as a share of the reference's, with its 95 % bootstrap interval over worlds, which are resampled in pairs."""
    pairs = np.array([values, reference])
    chance = np.random.default_rng(seed)
    drawn = pairs[:, chance.integers(pairs.shape[1], size=(RESAMPLES, pairs.shape[1]))].sum(axis=2)
    low, high = np.quantile(drawn[0] / drawn[1], (0.025, 0.975))
    return float(pairs[0].sum() / pairs[1].sum()), float(low), float(high)


def _run(make: Make, world: World, seed: Sequence[int]) -> float:
    with make(world, np.random.default_rng(seed)) as policy:
        return policies.regret(policy, world)


def _by_counts(
    world: World, chance: np.random.Generator, *, score: Callable[[np.random.Generator], policies.Score], knows_classes: bool
) -> AbstractContextManager[Policy]:
    intents = len(world.vocabulary.intents)
    return nullcontext(ByCounts(intents, score(chance), knows_classes=knows_classes))
