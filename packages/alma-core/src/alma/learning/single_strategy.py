"""The row of a strategy beside which nothing was tried: plain sums, without the tables that strategies are compared by."""

from typing import Any

import numpy as np

from alma.evidence import Tally
from alma.learning.clusters import alikeness, design_weights
from alma.learning.consulting import Consulted
from alma.learning.levels import Row, discounted
from alma.learning.pooling import DISCOUNT


def row_of_advice(known: Consulted, index: int, **proven: Any) -> Row:
    """The row of one strategy, with what is proven of it: that of the advice, which is made only where there is something to compare."""
    return _row_of_only(known) or Row.of(known.advice, index, **proven)


def _row_of_only(known: Consulted) -> Row | None:
    """The row of the only strategy, if an outcome of it was judged; equal to that of the advice."""
    if len(known.strategies) != 1 or known.reader is not None:
        return None
    side, cells = known.side, known.cells
    counts, tasks = side.counts.rows[cells], side.places.rows[cells, 0]
    if len(set(tasks.tolist())) < len(cells):
        return None  # several agents or users tried it
    successes, trials, recent_successes, recent_trials = counts[:, :4].T
    weights = known.cell_weights
    is_own = known.near.is_own[tasks]
    # where each run is of a task of its own, or of the very task, it weighs what it weighs
    if trials.max(initial=0.0) > 1 and not is_own.all():
        alike = alikeness(successes, trials, weights, known.cell_rows, 1)
        weights = weights * design_weights(trials, np.where(is_own, 0.0, alike))
    order = np.argsort(counts[:, 6], kind="stable")
    pooled = (weights * trials)[order]
    kept = weights[order] * DISCOUNT ** (pooled.sum() - np.cumsum(pooled))
    recent, recently = (kept * recent_successes[order]).sum(), (kept * recent_trials[order]).sum()
    if not recently > 0:
        return None
    near = counts[known.is_near]
    whole = Tally(*near[:, :2].sum(axis=0).tolist())
    weight = discounted(whole.trials)
    return Row(
        lifetime=whole,
        recent=Tally(min(float(recent / recently), 1.0) * weight, weight),
        tasks=int(np.count_nonzero(near[:, 1])),
        effective_tasks=float((known.cell_weights * np.minimum(trials, 1.0))[order].sum()),
        rest=None,
    )
