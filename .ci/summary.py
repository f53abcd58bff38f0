"""Adds up what the nox sessions left in a folder and ends with one line: `python .ci/summary.py .nox` → `N passed, N failed`.

Sessions that the change did not need, or not as a whole, stand first, each with the reason; `changes.json` has them.
A session that failed without a failed test (style, types, an idle suite, an environment that could not be made) counts as
one failure, so the last line never says 0 failed when something did.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree


class Tally(NamedTuple):
    """Numbers of tests of one session."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


def tally(report: Path) -> Tally:
    """Counts the tests of a JUnit file; a session without one ran no tests."""
    if not report.exists():
        return Tally()
    suites = list(ElementTree.parse(report).iter("testsuite"))
    tests, failures, errors, skipped = (
        sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    )
    return Tally(tests - failures - errors - skipped, failures + errors, skipped)


def print_left_out(folder: Path) -> None:
    """Prints a line for each session of which nothing, or only the contracts, ran."""
    for each in json.loads((folder / "changes.json").read_text(encoding="utf-8")):
        runs = "contracts only" if each["runs"] == "contracts" else "not run"
        print(f"{each['session']:<28} {runs:<16} {each['reason']}")


def main(folder: Path) -> int:
    """Prints a line for each session and the total; returns the exit code."""
    try:
        sessions = json.loads((folder / "report.json").read_text(encoding="utf-8"))["sessions"]
    except FileNotFoundError:
        sessions = [{"name": "nox", "result": "did not run"}]
    if any(session["name"] == "changes" for session in sessions) and (folder / "changes.json").exists():
        print_left_out(folder)
    passed = failed = 0
    for session in sessions:
        name, result = session["name"], session["result"].lower()
        counts = tally(folder / "reports" / f"{name}.xml")
        passed += counts.passed
        failed += max(counts.failed, int(result != "success"))
        print(f"{name:<28} {result:<16} {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
