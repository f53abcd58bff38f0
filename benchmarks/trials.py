"""Outcomes made for `alma_learning` alone, without a store: seconds, where the public calls of ALMA take minutes."""

from collections.abc import Iterable, Sequence

from alma_learning import Projection, Trial, Vectors

AGENT = "worker"
MINUTE = 60_000_000
BETWEEN_MINUTES = 10


def make_trial(number: int, task: str, way: str, worth: float | None, *, task_type: str | None = None) -> Trial:
    """Returns an outcome ten minutes after the one before it; equal texts are one task."""
    return Trial(f"{number}", number, task, task, way, worth, number * BETWEEN_MINUTES * MINUTE, AGENT, task_type=task_type)


def fold(vectors: Vectors, trials: Iterable[Trial]) -> Projection:
    """Returns the projection of outcomes."""
    projection = Projection(vectors)
    projection.extend(trials)
    return projection


def fold_wordings(vectors: Vectors, wordings: Sequence[str]) -> Projection:
    """Returns the projection of one success with each wording, each on a task of its own and all of one type."""
    return fold(vectors, (make_trial(n, f"Job {n}", way, 1.0, task_type="job") for n, way in enumerate(wordings)))
