import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]


@pytest.mark.slow
def test_both_stores_are_measured_in_turns(tmp_path: Path, run_benchmark: Run, check_verdict: Check) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("encryption", "--stored", 60, "--calls", 5, "--dir", tmp_path, "--json", out)

    check_verdict(done, out)
    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    for what in ("retrieve", "learn", "retrieve after a learn", "open and first retrieve"):
        assert measured[f"{what} p50, encrypted over open"] > 0
    assert measured["bytes on disk, encrypted over open"] > 0
    assert measured["encrypting the open store"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
