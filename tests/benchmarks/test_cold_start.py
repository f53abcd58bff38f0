import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.cold_start import seconds_of

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]


@pytest.mark.slow
def test_a_new_process_answers_and_is_timed(data: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("cold_start", "--data", data, "--memories", 30, "--runs", 2, "--embedder", "hash", "--json", out)

    check_verdict(done, out)
    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    assert measured["a new process to its first answer"] > measured["bare Python"] > 0


def test_a_process_that_answers_with_nothing_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="nothing"):
        seconds_of("print(0)", "an argument")


def test_a_process_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        seconds_of("raise SystemExit(3)")
