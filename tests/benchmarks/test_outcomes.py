import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.outcomes import Trial, pooled, rate, read_trials
from benchmarks.predictions import auc, brier, interval
from benchmarks.records import DataError

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]

TASKS = {
    "change the seat on a flight": (1, 1, 1),
    "refund a cancelled hotel booking": (0, 0, 0),
    "add a bag to the reservation": (1, 1, 1),
    "upgrade every passenger to business class": (0, 0, 1),
    "rebook a missed train connection": (1, 1, 1),
    "claim compensation for a delayed parcel": (0, 0, 0),
}


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    """Six tasks with three trials each, in the form of tau-bench, newest first."""
    path = tmp_path / "trials.jsonl"
    records = [record(task, trial, won[trial]) for task, won in TASKS.items() for trial in (2, 1, 0)]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def record(task: str, trial: int, reward: float) -> dict[str, Any]:
    said = [{"role": "system", "content": "policy"}, {"role": "user", "content": f"Hello, please {task}"}]
    about = {"task": {"instruction": f"You are a customer. You want to {task}."}}
    return {"task_id": list(TASKS).index(task), "trial": trial, "reward": reward, "traj": said, "info": about}


@pytest.mark.slow
def test_a_task_that_always_ends_alike_is_foretold_from_its_own_trials(
    trials: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark(
        "outcomes", "--data", trials, "--embedder", "hash", "--shuffles", 2, "--splits", 2, "--folds", 3, "--json", out
    )

    check_verdict(done, out)
    body = json.loads(out.read_text())
    measured = {row["what"]: row["value"] for row in body["gates"]}
    assert measured["same task known, AUC"] > 0.85
    assert measured["same task known, Brier"] < 0.2
    assert measured["task left out, mean AUC of splits"] < measured["same task known, AUC"]
    assert measured["  lowest split, AUC"] <= measured["task left out, mean AUC of splits"] <= measured["  highest split, AUC"]
    assert (body["trials"], body["tasks"]) == (18, 6)
    assert body["intervals"]["same task known, AUC"][0] <= measured["same task known, AUC"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures(trials: Path, tmp_path: Path, run_benchmark: Run) -> None:
    written = []
    for name in ("one", "two"):
        out = tmp_path / name
        run_benchmark(
            "outcomes", "--data", trials, "--embedder", "hash", "--shuffles", 2, "--splits", 2, "--seed", 7, "--json", out
        )
        written.append(json.loads(out.read_text()))

    assert written[0] == written[1]


def test_a_file_of_something_else_is_a_clear_error(data: Path, run_benchmark: Run) -> None:
    done = run_benchmark("outcomes", "--data", data)

    assert done.returncode == 1
    assert "holds no tau-bench trials" in done.stderr
    assert "Traceback" not in done.stderr


def test_trials_come_in_time_order_whatever_their_order_in_the_file(trials: Path) -> None:
    assert [trial.number for trial in read_trials(trials)] == [0] * 6 + [1] * 6 + [2] * 6


def test_one_trial_a_task_is_too_little(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    path.write_text("".join(json.dumps(record(task, 0, won[0])) + "\n" for task, won in TASKS.items()))

    with pytest.raises(DataError, match="one trial of each task"):
        read_trials(path)


def test_pooling_draws_a_task_to_the_rate_of_all() -> None:
    past = [Trial("a", 0, True, "", ""), Trial("b", 0, False, "", ""), Trial("a", 1, True, "", ""), Trial("b", 1, False, "", "")]

    assert rate(past) == 0.5
    assert pooled(past[0], past) == (2 + 1) / (2 + 2)
    assert pooled(Trial("new", 2, True, "", ""), past) == 0.5


def test_auc_is_the_share_of_pairs_in_order_and_ties_are_half() -> None:
    scores, outcomes = np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])

    assert auc(scores, outcomes) == (1 + 1 + 1 + 0.5) / 4
    assert auc(1 - scores, outcomes) == 1 - auc(scores, outcomes)
    assert np.isnan(auc(scores, np.ones(4)))
    assert brier(scores, outcomes) == pytest.approx((0.01 + 0.25 + 0.25 + 0.01) / 4)


def test_an_interval_draws_whole_groups() -> None:
    values = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    wide = interval(["a", "a", "a", "b", "b", "b"], lambda at: float(values[at].mean()))
    narrow = interval(list("abcdef"), lambda at: float(values[at].mean()))

    assert wide == (0.0, 1.0)
    assert 0 < narrow[0] < 0.5 < narrow[1] < 1
