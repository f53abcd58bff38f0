"""Recorded runs of an agent, and their replay through ALMA's public calls, with timing."""

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from alma import ALMA
    from alma.types import MemorySlice

DATA = Path(__file__).parent / "data" / "tau_airline.jsonl.gz"
AGENT = "airline-agent"
STRANGER = "stranger"
SHOWN = {18: "Cancel a reservation", 38: "Refund an insurance", 48: "Change a reservation"}
"""The unseen tasks that the demonstration shows, by number, with a name for each."""

UNKNOWN = "Water the office plants on Monday"
"""A task unrelated to all runs."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Run:
    """One try at one task, as `data/README.md` describes it."""

    task_id: int
    trial: int
    task: str
    strategy: str
    steps: int
    success: bool
    error: str | None


def read_runs(path: Path = DATA) -> list[Run]:
    """Returns the runs in the order in which they happened."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [Run(**json.loads(line)) for line in lines]


def is_unseen(run: Run) -> bool:
    """Returns True for a run of a task that is never learned: by rule, every fifth task, those whose number ends in 8."""
    return run.task_id % 10 == 8


def learn_run(alma: "ALMA", run: Run) -> None:
    """Records the run as the agent would have. By the task id it recognises a case that was tried before, in any words."""
    alma.learn(
        agent=AGENT,
        task=run.task,
        outcome="success" if run.success else "failure",
        strategy_used=run.strategy,
        error_message=run.error,
        task_id=str(run.task_id),
    )


def expected(alma: "ALMA", run: Run) -> float:
    """Returns the success that is expected of the task, whatever is tried. Nothing of the run itself is known yet."""
    return alma.assess(context=run.task, agent=AGENT).confidence_score


def timed(action: Callable[[], Result]) -> tuple[Result, float]:
    """Returns the result of the action, and its duration in milliseconds."""
    start = perf_counter()
    result = action()
    return result, (perf_counter() - start) * 1000


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Returns the nearest-rank 50th and 95th percentile, in milliseconds."""
    ordered = sorted(times)
    return {f"p{share}": round(ordered[max(0, -(-len(ordered) * share // 100) - 1)], 2) for share in (50, 95)}


def foresight(pairs: Iterable[tuple[Run, "MemorySlice"]]) -> dict[str, int]:
    """Returns how often the nearest outcome recalled ended as the unseen run did, and how often a constant guess would have.

    The constant guess is the more frequent ending of the unseen runs themselves, the best that a guess without memory can do.
    """
    judged = [(run.success, found.outcomes[0].success) for run, found in pairs if found.outcomes]
    endings = [ended for ended, _ in judged]
    return {
        "tries": len(judged),
        "nearest_outcome_ended_alike": sum(ended == recalled for ended, recalled in judged),
        "best_constant_guess": max(sum(endings), len(endings) - sum(endings)),
    }


def first_tries(runs: Iterable[Run]) -> list[Run]:
    """Returns the first run of each task."""
    found: dict[int, Run] = {}
    for run in runs:
        found.setdefault(run.task_id, run)
    return list(found.values())


def slice_figures(run: Run, memories: "MemorySlice") -> dict[str, Any]:
    """Returns the memories recalled for a run, as plain values."""
    recalled = [
        {
            "tag": item.tag,
            "kind": item.memory.kind,
            "text": item.memory.text,
            "score": item.score,
            "factors": item.factors.model_dump(mode="json"),
        }
        for item in memories.recalled
    ]
    return {"task_id": run.task_id, "task": run.task, "recalled": recalled}
