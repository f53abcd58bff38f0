import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.strategies import (
    GLOBAL,
    MOST_CONFIDENT,
    RANDOM,
    SUREST,
    Log,
    Results,
    Success,
    figures,
    global_means,
    highest,
    similar_means,
)

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]

SMALL = ("--embedder", "hash", "--resamplings", 2, "--logged", 20, 60, "--asked", 2)


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """Seventy tasks; "draft first" solves nearly all of them, "guess" one in ten."""
    path = tmp_path / "solved.jsonl"
    records = [
        {
            "task": number,
            "prompt": f"write function number {number}",
            "solved": {"draft first": number % 10 > 0, "guess": number % 10 == 1},
        }
        for number in range(70)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


@pytest.mark.slow
def test_a_strategy_that_is_clearly_better_is_chosen_by_either_call(
    solved: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("strategies", "--data", solved, *SMALL, "--json", out)

    check_verdict(done, out)
    means = json.loads(out.read_text())["means"]["60"]
    assert means["ALMA, surest"] == means["global Beta mean"] == means["best single strategy"] > 0.8
    assert means["ALMA, most confident"] > 0.5
    assert means["random"] == pytest.approx(0.5, abs=0.15)
    assert means["oracle"] >= means["best single strategy"]


def test_limits_are_kept_from_fifty_logged_tasks_on() -> None:
    found = [dict.fromkeys((SUREST, MOST_CONFIDENT, GLOBAL, RANDOM), Success(0.8, 0.7))] * 2

    assert [gate.limit for gate in figures(found, 49, 0)] == [None] * 4
    assert [gate.holds for gate in figures(found, 50, 0)] == [True] * 4


@pytest.mark.slow
def test_a_file_of_something_else_is_a_clear_error(data: Path, run_benchmark: Run) -> None:
    done = run_benchmark("strategies", "--data", data)

    assert done.returncode == 1
    assert "holds no tasks with strategies" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_more_logged_tasks_than_there_are_is_an_error_that_says_how_many_there_are(solved: Path, run_benchmark: Run) -> None:
    done = run_benchmark("strategies", "--data", solved, "--logged", 70)

    assert done.returncode == 1
    assert "70 tasks" in done.stderr


def test_counts_are_drawn_to_a_half_and_near_tasks_weigh_more() -> None:
    solved = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    cosines = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    results = Results(["a", "b", "c"], ["x", "y"], solved, cosines)
    log = Log([0, 1], [0, 0])

    assert global_means(results, log).tolist() == [(1 + 1) / (2 + 2), 1 / 2]
    assert similar_means(results, log, 2).tolist() == [(1 + 4 * 0.5) / (1 + 4), 0.5]


def test_a_tie_is_shared_evenly() -> None:
    assert highest(np.array([0.3, 0.7, 0.7])).tolist() == [0, 0.5, 0.5]
