"""The benchmark of what is forecast of finished runs from their tools."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.forecasts import Run as Attempt
from benchmarks.forecasts import halves, read_runs
from benchmarks.records import DataError

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]


def _record(task: int, trial: int) -> dict[str, Any]:
    """A run of one of eight tasks, of which every second run fails, at its second tool."""
    won = (task + trial) % 2
    answers = [{"role": "tool", "name": "look_up", "content": "found"}, _answer("rebook" if won else "refund", ok=bool(won))]
    return {"task_id": task, "trial": trial, "reward": float(won), "traj": answers}


def _answer(tool: str, *, ok: bool) -> dict[str, str]:
    return {"role": "tool", "name": tool, "content": "done" if ok else "Error: not allowed"}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(_record(task, trial)) + "\n" for task in range(8) for trial in range(4)))
    return path


@pytest.mark.slow
def test_where_the_tools_tell_the_verdict_it_is_forecast_of_tasks_left_out(
    runs: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("forecasts", "--data", runs, "--shuffles", 2, "--json", out)
    check_verdict(done, out)
    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    assert measured["half that judges, AUC"] == 1
    assert measured["half that judges, Brier"] < 0.1
    assert measured["verdicts shuffled, mean AUC"] < 0.8


def test_a_run_is_read_with_its_tools_and_whether_they_went_well(runs: Path) -> None:
    assert read_runs(runs)[0] == Attempt("0", (("look_up", True), ("refund", False)), succeeded=False)


def test_no_task_is_in_both_halves(runs: Path) -> None:
    first, second = halves(read_runs(runs))
    assert {run.task for run in first} == {"0", "2", "4", "6"}
    assert {run.task for run in second} == {"1", "3", "5", "7"}


@pytest.mark.parametrize("text", ['{"task_id": 1}\n', json.dumps(_record(1, 1)), "no json"])
def test_other_data_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    with pytest.raises(DataError):
        read_runs(path)
