"""The benchmark of events runs, with a few calls."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_cost_and_latency_are_measured(tmp_path: Path) -> None:
    out = tmp_path / "events.json"
    command = [sys.executable, "-m", "benchmarks.events", "--calls", "20", "--dir", str(tmp_path), "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    rows = {row["what"]: row for row in json.loads(out.read_text(encoding="utf-8"))["gates"]}
    assert rows["to a reader in process, p95"]["limit"] == 20
    assert rows["to a reader in another process, p95"]["limit"] == 300
    assert rows["with one of created memories, times as long"]["value"] > 0
    assert (done.returncode == 0) == all(row["holds"] is not False for row in rows.values()), done.stderr
