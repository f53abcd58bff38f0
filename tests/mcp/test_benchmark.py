"""The benchmark of the server runs, on a few memories."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from documents import ROOT

pytestmark = pytest.mark.any_version

WORDS = "oven recipe flour butter bread flight luggage hotel passport tomato seedling guitar chord knee budget"


@pytest.mark.slow
def test_the_tools_are_timed_beside_one_that_does_nothing(tmp_path: Path) -> None:
    pairs = [(first, second) for first in WORDS.split() for second in WORDS.split()]
    turns = [{"role": "user", "content": f"My {first} and my {second} are here. " * 8} for first, second in pairs]
    data, out = tmp_path / "questions.jsonl", tmp_path / "out.json"
    data.write_text(json.dumps({"question": "Where?", "haystack_sessions": [turns]}), encoding="utf-8")
    options = ["--data", data, "--memories", 30, "--calls", 3, "--starts", 1, "--embedder", "hash", "--json", out]
    command = [sys.executable, "-m", "benchmarks.mcp_server", *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    rows = {row["what"]: row for row in json.loads(out.read_text(encoding="utf-8"))["gates"]}
    assert rows["errors of 16 clients at once, 6 calls"]["value"] == 0
    assert rows["alma_retrieve, p95"]["limit"] == rows["alma_retrieve, p95"]["reference"] + 15
    assert (done.returncode == 0) == all(row["holds"] is not False for row in rows.values()), done.stderr
