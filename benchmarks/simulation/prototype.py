"""Today's prototype of the estimate, to test the worlds with: two kernels, mixed by how well each foretold the outcomes.

Names are left in: the vectors are only centred. It fills what a policy asks of the advice, `expected`, `trials` and `nearest`; of the rest it says
nothing (NaN).
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alma.learning.experience import Advice, Experience, Question

CORE_THRESHOLD, PLAIN_THRESHOLD, WIDTH = 0.25, 0.40, 0.06
PRIOR, LEAST_TASKS = (0.9, 0.1), 20
DRAW = 2.0

Floats = NDArray[np.float64]


def prototype_advice(experience: "Experience", question: "Question") -> "Advice":
    """The rates of all strategies for a task, drawn to the rate over all."""
    from alma.learning.experience import Advice

    count = len(experience.strategies)
    base = (float(experience.successes.sum()) + 1) / (float(experience.trials.sum()) + 2)
    won, tried = _tables(experience)
    weights, cosines = _weights(experience, question, won @ experience.same, tried @ experience.same, base)
    successes, trials = weights @ won @ experience.same, weights @ tried @ experience.same
    unknown = np.full(count, np.nan)
    nearest = np.array([cosines[tried[:, place] > 0].max(initial=-1.0) for place in range(count)])
    others = dict.fromkeys(set(Advice.__dataclass_fields__) - {"expected", "successes", "trials", "nearest", "base"}, unknown)
    expected = (successes + DRAW * base) / (trials + DRAW)
    return Advice(**others, expected=expected, successes=successes, trials=trials, nearest=nearest, base=base)


def _tables(experience: "Experience") -> tuple[Floats, Floats]:
    """Successes and trials, tasks × strategies."""
    won, tried = np.zeros((2, len(experience.tasks), len(experience.strategies)))
    np.add.at(won, (experience.cell_task, experience.cell_strategy), experience.successes)
    np.add.at(tried, (experience.cell_task, experience.cell_strategy), experience.trials)
    return won, tried


def _weights(experience: "Experience", question: "Question", won: Floats, tried: Floats, base: float) -> tuple[Floats, Floats]:
    """How much each task counts, and its cosine."""
    vectors = experience.task_vectors
    if question.task_type is not None:
        same: Floats = np.array([kind == question.task_type for kind in experience.task_types], np.float64)
        return same, same
    plain = vectors @ question.vector
    if len(vectors) < LEAST_TASKS:
        return _sigmoid(plain - PLAIN_THRESHOLD), plain.astype(np.float64)
    mean = vectors.mean(axis=0)
    cores, core = _unit(vectors - mean), _unit(question.vector[None] - mean)[0]
    kernels = [_sigmoid(cores @ cores.T - CORE_THRESHOLD), _sigmoid(vectors @ vectors.T - PLAIN_THRESHOLD)]
    logs = np.log(PRIOR) + [_log_score(kernel, won, tried, base) for kernel in kernels]
    share = np.exp(logs - logs.max())
    share /= share.sum()
    near = cores @ core
    return share[0] * _sigmoid(near - CORE_THRESHOLD) + share[1] * _sigmoid(plain - PLAIN_THRESHOLD), near.astype(np.float64)


def _log_score(kernel: Floats, won: Floats, tried: Floats, base: float) -> float:
    """How probable the outcomes of each task were, given the tasks before it."""
    before = np.tril(kernel, -1)
    rate = np.clip((before @ won + DRAW * base) / (before @ tried + DRAW), 0.02, 0.98)
    return float((won * np.log(rate) + (tried - won) * np.log(1 - rate)).sum())


def _sigmoid(x: NDArray[np.float32]) -> Floats:
    return 1 / (1 + np.exp(-x.astype(np.float64) / WIDTH))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    units: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return units
