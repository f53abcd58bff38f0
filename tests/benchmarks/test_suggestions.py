"""The benchmark of how precise warnings are."""

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.records import DataError
from benchmarks.suggestions import THRESHOLDS, Attempt, Warned, chosen, figures, read_attempts

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]
SUBJECTS = (
    "the cabin baggage of a cat",
    "an invoice in euros",
    "a broken seat",
    "lost shoes in Rome",
    "milk",
    "a pilot's autograph",
)


def _record(task: int, trial: int) -> dict[str, Any]:
    """A run of one of six tasks: every second task always fails."""
    call = {"id": "c", "type": "function", "function": {"name": "act", "arguments": '{"way": "direct"}'}}
    return {
        "task_id": task,
        "trial": trial,
        "reward": float(task % 2),
        "traj": [
            {"role": "system", "content": "policy"},
            {"role": "user", "content": f"I write about {SUBJECTS[task]}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "name": "act", "tool_call_id": "c", "content": "done"},
            {"role": "assistant", "content": "Done."},
        ],
    }


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(_record(task, trial)) + "\n" for task in range(6) for trial in range(3)))
    return path


def _attempt(task: str, number: int, *, has_failed: bool) -> Attempt:
    return Attempt(task, number, f"do {task}", (), "", has_failed)


@pytest.mark.slow
def test_warnings_of_tasks_that_always_fail_are_right_and_of_unrelated_ones_there_are_none(
    runs: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("suggestions", "--data", runs, "--embedder", "hash", "--folds", 6, "--json", out)
    check_verdict(done, out)
    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    assert measured["base rate of failures"] == 0.5
    assert (measured["own task known, threshold 0.5, warned"], measured["own task known, threshold 0.5, precision"]) == (0.5, 1)
    assert measured["own task left out, threshold 0.5, warned"] == 0


def test_a_run_is_read_with_its_calls_and_its_end(runs: Path) -> None:
    first = read_attempts(runs)[0]
    assert first == Attempt("0", 0, f"I write about {SUBJECTS[0]}", (("act", '{"way": "direct"}', "done"),), "Done.", True)


def test_a_threshold_that_separates_is_chosen_and_judged_on_the_other_half() -> None:
    attempts = [_attempt(str(task), trial, has_failed=task < 6) for task in range(12) for trial in (1, 2)]
    scores = np.array([0.8 if attempt.has_failed else 0.4 for attempt in attempts])
    warned = Warned(attempts, scores)
    assert 0.4 < chosen(warned, 0) <= 0.8
    gates, intervals = figures(warned, Warned(attempts, np.zeros(len(attempts))), 0)
    measured = {gate.what: gate.value for gate in gates}
    assert measured["own task known, on the other half, precision"] == 1
    assert abs(measured["own task known, on the other half, shuffled lift"]) < 0.1
    assert intervals["own task known, on the other half, lift"][0] > 0.1


def test_without_warnings_there_is_no_precision() -> None:
    silent = Warned([_attempt("a", 1, has_failed=True)], np.zeros(1))
    assert math.isnan(silent.lift(0.5))
    assert chosen(silent, 0) == THRESHOLDS[-1]


@pytest.mark.parametrize("text", ['{"task_id": 1}\n', json.dumps(_record(1, 1)), "no json"])
def test_other_data_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    with pytest.raises(DataError):
        read_attempts(path)
