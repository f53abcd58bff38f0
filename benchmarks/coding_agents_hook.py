"""What a hook costs above bare Python's start, in pairs: `python -m benchmarks.coding_agents_hook [--pairs 40] [--json OUT]`.

Each pair is a bare Python process and the hook, one after the other in changing order; the figure is of the differences. The index has 2,000 fixes
and 500 warnings. What waits for the processor counts, so run it on a quiet machine.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alma import ALMA
from alma_agents import index, shell
from alma_agents.signatures import error_of, words_of
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.screen import wide_console

GATE = 150.0
_HOOK = [sys.executable, "-P", "-m", "alma_agents", "hook", "claude-code"]


def prepared(folder: Path) -> dict[str, dict[str, Any]]:
    """Makes a memory with a full index and returns a payload for each kind of event."""
    (folder / ".alma").mkdir()
    config = folder / ".alma" / "config.yaml"
    config.write_text("alma: {project_id: shop, embedding_provider: hash}\n", encoding="utf-8")
    ALMA.from_config(config).close()
    errors = [f"ModuleNotFoundError: No module named 'mod_{number}'" for number in range(2_000)]
    fixes = [
        {
            "id": str(number),
            "command": "pytest",
            "strategy": f"s{number}",
            "words": words_of(error_of(error)),
            "text": f"fix {number}",
        }
        for number, error in enumerate(errors)
    ]
    command = shell.judged("npm run e2e", False, str(folder))
    keys = [f"key {number}" for number in range(499)] + ([command.call] if command else [])
    warnings = {index.command_digest(key): {"id": key, "text": "it fails", "until": time.time() + 86_400.0} for key in keys}
    (folder / ".alma" / "agents").mkdir()
    index.save(str(folder / ".alma" / "agents"), {"fixes": fixes, "briefings": {"claude-code": "Notes."}, "warnings": warnings})
    shared = {"cwd": str(folder), "tool_name": "Bash", "tool_use_id": "t"}
    said = f"Exit code 1\n{errors[-1]}"
    return {
        "after a tool": {**shared, "hook_event_name": "PostToolUse", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "x" * 5_000}},
        "a failure with a known fix": {
            **shared, "hook_event_name": "PostToolUseFailure", "tool_input": {"command": "pytest"}, "error": said,
        },
        "before a call with a warning": {**shared, "hook_event_name": "PreToolUse", "tool_input": {"command": "npm run e2e"}},
        "session start": {"cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup"},
    }  # fmt: skip


def _milliseconds(command: list[str], data: bytes, *, answers: bool = False) -> float:
    begun = time.perf_counter()
    ended = subprocess.run(command, input=data, capture_output=True, check=True)
    took = (time.perf_counter() - begun) * 1_000
    if bool(ended.stdout) != answers:
        raise AssertionError(f"the hook said {ended.stdout!r}")
    return took


def figures(pairs: int) -> list[Gate]:
    """Median and 95th percentile of the difference, for each kind of event."""
    found = []
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        (Path(name) / "project").mkdir()
        for what, payload in prepared(Path(name) / "project").items():
            differences = []
            for number in range(pairs):
                data = json.dumps({**payload, "session_id": f"{what}-{number}"}).encode()
                runs = {"bare": [sys.executable, "-c", "import sys; sys.stdin.read()"], "hook": _HOOK}
                is_silent = what == "after a tool"
                took = {
                    run: _milliseconds(runs[run], data, answers=run == "hook" and not is_silent)
                    for run in chance.sample(sorted(runs), 2)
                }
                differences.append(took["hook"] - took["bare"])
            differences.sort()
            found.append(Gate(f"{what}: p50 above bare Python", differences[pairs // 2], "ms"))
            found.append(Gate(f"{what}: p95 above bare Python", differences[int(pairs * 0.95)], "ms", GATE))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures; ends with 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding_agents_hook")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    found = figures(given.pairs)
    gates.show(wide_console(), found, "The hook")
    if given.json:
        gates.write_json(given.json, found)
    gates.enforce(found)


if __name__ == "__main__":
    main()
