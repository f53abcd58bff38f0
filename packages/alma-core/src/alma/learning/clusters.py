"""How much several runs of one task are worth: alike runs say little more than one of them."""

import numpy as np

from alma.learning.experience import Floats, Indices

ALIKE, ALIKE_TASKS = 0.6, 4.0
"""What the likeness of runs is taken for where nothing is known of it, and how many tasks with several runs weigh as much as that."""


def design_weights(trials: Floats, alike: Floats | float) -> Floats:
    """The weight of each trial of a cluster: `1 / (1 + (m - 1) ρ)` for m trials whose likeness is ρ (Kish 1965, "Survey sampling")."""
    weights: Floats = 1 / (1 + np.maximum(trials - 1, 0.0) * alike)
    return weights


def alikeness(successes: Floats, trials: Floats, weights: Floats, rows: Indices, count: int) -> float:
    """Returns how much alike the runs of one strategy on one task are, from 0 to 1, over clusters of `count` strategies.

    `rows` are the strategies of the clusters, `weights` those of their tasks.
    The intraclass correlation of a one-way analysis of variance (Donner 1986, "A review of inference procedures for the intraclass correlation
    coefficient"), pooled within strategies and drawn to `ALIKE`.
    """
    several = (trials > 1) & (weights > 0)
    if not several.any():
        return ALIKE
    known = float(weights[several].sum())
    cells = (trials > 0) & (weights > 0)
    weight, trials, successes, rows = weights[cells], trials[cells], successes[cells], rows[cells]
    clusters, total = np.bincount(rows, weight, count), np.maximum(np.bincount(rows, weight * trials, count), 1e-12)
    mean = np.bincount(rows, weight * successes, count) / total
    spread = (np.bincount(rows, weight * trials, count) - np.bincount(rows, weight * trials**2, count) / total).sum()
    between_freedom = np.maximum(clusters - 1, 0.0).sum()
    within_freedom = float((weight * np.maximum(trials - 1, 0.0)).sum())
    if between_freedom <= 0 or within_freedom <= 0 or known <= 1:
        return ALIKE
    between = float((weight * trials * (successes / trials - mean[rows]) ** 2).sum()) / between_freedom
    within = float((weight * (successes - successes**2 / trials)).sum()) / within_freedom
    denominator = between + (spread / between_freedom - 1) * within
    seen = min(max((between - within) / denominator, 0.0), 1.0) if denominator > 0 else ALIKE
    return (seen * (known - 1) + ALIKE * ALIKE_TASKS) / (known - 1 + ALIKE_TASKS)
