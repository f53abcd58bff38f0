"""The last line of CI tells the truth about every session."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def summary(folder: Path, sessions: dict[str, str] | None, **reports: str) -> subprocess.CompletedProcess[str]:
    (folder / "reports").mkdir()
    if sessions is not None:
        listed = [{"name": name, "result": result} for name, result in sessions.items()]
        (folder / "report.json").write_text(json.dumps({"sessions": listed}))
    for name, counts in reports.items():
        (folder / "reports" / f"{name}.xml").write_text(f"<testsuites><testsuite {counts}/></testsuites>")
    return subprocess.run([sys.executable, ROOT / ".ci/summary.py", folder], capture_output=True, text=True)


def test_tests_are_added_over_sessions(tmp_path: Path) -> None:
    done = summary(
        tmp_path,
        {"core": "SUCCESS", "slim": "SUCCESS", "lint": "SUCCESS"},
        core='tests="10" failures="0" errors="0" skipped="1"',
        slim='tests="4" failures="0" errors="0" skipped="0"',
    )
    assert done.stdout.splitlines()[-1] == "13 passed, 0 failed"
    assert done.returncode == 0


def test_failures_and_errors_are_failed(tmp_path: Path) -> None:
    done = summary(tmp_path, {"core": "FAILED"}, core='tests="10" failures="2" errors="1" skipped="0"')
    assert done.stdout.splitlines()[-1] == "7 passed, 3 failed"
    assert done.returncode == 1


@pytest.mark.parametrize("result", ["FAILED", "ABORTED", "SKIPPED"])
def test_a_session_that_failed_without_a_failed_test_counts_as_one(tmp_path: Path, result: str) -> None:
    done = summary(tmp_path, {"core": "SUCCESS", "lint": result}, core='tests="5" failures="0" errors="0" skipped="0"')
    assert done.stdout.splitlines()[-1] == "5 passed, 1 failed"
    assert done.returncode == 1


def test_a_report_of_an_earlier_run_is_not_counted(tmp_path: Path) -> None:
    done = summary(
        tmp_path,
        {"core": "SUCCESS"},
        core='tests="5" failures="0" errors="0" skipped="0"',
        docs='tests="9" failures="9" errors="0" skipped="0"',
    )
    assert done.stdout.splitlines()[-1] == "5 passed, 0 failed"


def test_a_run_that_left_nothing_fails(tmp_path: Path) -> None:
    done = summary(tmp_path, None)
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"
    assert done.returncode == 1


def left_out(folder: Path) -> None:
    listed = [("mcp", "contracts", "changed below it: packages/alma-core"), ("site", "nothing", "nothing has changed")]
    choices = [{"session": session, "runs": runs, "reason": reason} for session, runs, reason in listed]
    (folder / "changes.json").write_text(json.dumps(choices))


def test_what_a_change_does_not_need_is_named_with_its_reason(tmp_path: Path) -> None:
    left_out(tmp_path)
    done = summary(tmp_path, {"changes": "SUCCESS", "core": "SUCCESS"}, core='tests="5" failures="0" errors="0" skipped="0"')
    lines = [re.split(" {2,}", line) for line in done.stdout.splitlines()]
    assert lines[0] == ["mcp", "contracts only", "changed below it: packages/alma-core"]
    assert lines[1] == ["site", "not run", "nothing has changed"]
    assert done.returncode == 0


def test_what_an_earlier_run_left_out_is_not_named(tmp_path: Path) -> None:
    left_out(tmp_path)
    done = summary(tmp_path, {"core": "SUCCESS"}, core='tests="5" failures="0" errors="0" skipped="0"')
    assert "site" not in done.stdout


def test_a_run_without_a_test_fails(tmp_path: Path) -> None:
    done = summary(tmp_path, {"changes": "SUCCESS", "lint": "SUCCESS"})
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed"
    assert done.returncode == 1


def test_the_ci_script_can_be_executed_and_parses() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert subprocess.run(["bash", "-n", ROOT / ".ci/run"]).returncode == 0
