"""The benchmark of the HTTP API runs, on a few memories."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from documents import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.any_version]

WORDS = "oven recipe flour butter bread flight luggage hotel passport tomato seedling guitar chord knee budget"


def test_what_must_hold_is_measured(tmp_path: Path) -> None:
    pairs = [(first, second) for first in WORDS.split() for second in WORDS.split()]
    turns = [{"role": "user", "content": f"My {first} and my {second} are here. " * 8} for first, second in pairs]
    data, out = tmp_path / "questions.jsonl", tmp_path / "out.json"
    data.write_text(json.dumps({"question": "Where?", "haystack_sessions": [turns]}), encoding="utf-8")
    sizes = ["--memories", 30, "--calls", 3, "--requests", 200, "--embedder", "hash"]
    options = ["--data", data, "--parts", "requests", "memory", *sizes, "--dir", tmp_path, "--json", out]
    command = [sys.executable, "-m", "benchmarks.http_server", *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    rows = {row["what"]: row for row in json.loads(out.read_text(encoding="utf-8"))["gates"]}
    assert rows["retrieve over HTTP beyond it, processor"]["limit"] == 3.0
    assert rows["after 200, times as much"]["value"] < 1.5
    assert (done.returncode == 0) == all(row["holds"] is not False for row in rows.values()), done.stderr
