"""What the constants of kernels cost: `python -m benchmarks.kernel_constants [--worlds N]`.

For each candidate, on the vocabularies for development: the regret of who follows the estimate as a share of that of Thompson sampling that knows
the classes, with its 95 % interval over worlds, and how probable the kernel of profiles makes each outcome of a random choice, in nats an outcome.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from alma.learning.alike import same_weights
from alma.learning.kernels import MEASURED, Calibration, Curve, by_cosine, log_likelihood
from alma.learning.task_space import task_space
from benchmarks.screen import wide_console
from benchmarks.simulation import regrets
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.estimate_policy import Ledger, advice_with
from benchmarks.simulation.told import DEVELOPMENT, vocabulary
from benchmarks.simulation.wording_worlds import Kind, World, world

CURVES = tuple(Curve(threshold, width) for width in (0.06, 0.10) for threshold in (0.37, 0.42, 0.47, 0.52, 0.57))


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a row for each candidate."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_constants", description=__doc__)
    parser.add_argument("--worlds", type=int, default=20, help="of each vocabulary (default: 20)")
    worlds = parser.parse_args(arguments).worlds
    embedder = CachedEmbedder("minilm")
    made = [world(vocabulary(name), Kind(), seed) for name in DEVELOPMENT for seed in range(worlds)]
    reference = regrets.measured(made, {regrets.THOMPSON: regrets.baselines(embedder)[regrets.THOMPSON]}, 0)[regrets.THOMPSON]
    table = Table("threshold", "width", "regret / Thompson, classes known", "nats an outcome", box=SIMPLE_HEAD)
    for curve in CURVES:
        calibration = replace(MEASURED, profile=curve)
        make = regrets.by_estimate(
            partial(advice_with, calibration, embedder.embed),
            embedder,
            lambda texts, vectors, _=None: same_weights(texts, vectors),
        )
        ratio, low, high = regrets.ratio(regrets.measured(made, {"": make}, 0)[""], reference, 0)
        nats = np.mean([_nats(each, embedder, calibration) for each in made])
        table.add_row(f"{curve.threshold:.2f}", f"{curve.width:.2f}", f"{ratio:.3f} ({low:.3f} to {high:.3f})", f"{nats:.4f}")
    wide_console().print(table)


def _nats(asked: World, embedder: CachedEmbedder, calibration: Calibration) -> float:
    """The mean log likelihood of the newest first outcomes of strategies that were chosen at random."""
    chance, ledger = np.random.default_rng(0), Ledger(embedder.embed, lambda texts, vectors, _=None: same_weights(texts, vectors))
    for one in asked.asked:
        strategy = one.offered[int(chance.integers(len(one.offered)))]
        ledger.learn(one.task, None, strategy, float(one.outcome(strategy)))
    experience = ledger.experience()
    votes = min(len(experience.vote), 256)
    space = task_space(experience.tasks, experience.task_vectors)
    profiles = space.profiles(space.cores(experience.tasks, experience.task_vectors.copy()))
    return log_likelihood(experience, by_cosine(profiles, calibration.profile)) / votes


if __name__ == "__main__":
    main()
