"""Each drop-in line in a process of its own, where nothing else has had the runs watched before."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_version

HERE = Path(__file__).parent
LINES = [
    "test_one_line.py::test_by_its_one_line_an_agent_learns_a_run_that_failed_and_one_that_did_well",
    "test_one_line.py::test_middleware_alone_learns_a_run_that_failed",
    "test_classic.py::test_by_its_one_line_an_executor_learns_a_failure_and_a_success",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_needs_nothing_that_was_hooked_before(line: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / line)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
