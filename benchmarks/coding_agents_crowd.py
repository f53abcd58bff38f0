"""Sessions of a coding agent at once on one store, every event a process.

`python -m benchmarks.coding_agents_crowd [--sessions 200] [--width 40] [--json OUT]`. A session is four hooks, as Claude Code drives
them: a failure, its repair, a pass, the end. At most `--width` hooks run at a time. The error and the repair of a session are its
own, so that an outcome that was lost, counted twice, or made of two sessions shows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from alma import ALMA, Outcome
from alma_agents.learning import learn_spools
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.screen import wide_console

_HOOK = [sys.executable, "-P", "-m", "alma_agents", "hook", "claude-code"]
_PATIENCE = 60.0
"""Seconds after the last hook in which the learners that hooks started are waited for."""


def payloads(project: Path, number: int) -> list[dict[str, Any]]:
    """The events of a session in which a failure is repaired."""
    shared = {"session_id": f"session-{number}", "cwd": str(project), "tool_name": "Bash"}
    failed = {
        **shared,
        "tool_use_id": f"{number}-0",
        "tool_input": {"command": "pytest -q"},
        "hook_event_name": "PostToolUseFailure",
    }
    said = f"Exit code 1\nModuleNotFoundError: No module named 'mod_{number}'"
    passed = [
        {
            **shared,
            "hook_event_name": "PostToolUse",
            "tool_use_id": f"{number}-{place}",
            "tool_input": {"command": command},
            "tool_response": {"stdout": "ok"},
        }
        for place, command in enumerate((f"pip install mod_{number}", "pytest -q"), start=1)
    ]
    return [{**failed, "error": said}, *passed, {**shared, "hook_event_name": "SessionEnd", "reason": "other"}]


def driven(project: Path, sessions: int, width: int) -> list[float]:
    """Runs the sessions, `width` at a time, and returns how long each hook took, in milliseconds."""

    def live(number: int) -> list[float]:
        took = []
        for payload in payloads(project, number):
            begun = time.perf_counter()
            subprocess.run(_HOOK, input=json.dumps(payload).encode(), capture_output=True, check=True)
            took.append((time.perf_counter() - begun) * 1_000)
        return took

    with ThreadPoolExecutor(width) as pool:
        return [each for took in pool.map(live, range(sessions)) for each in took]


def _spools(project: Path) -> int:
    return len(list((project / ".alma" / "agents" / "spool").glob("*")))


def _settled(project: Path) -> int:
    """Returns how many spools are left once the learners that hooks started are done."""
    until, left, since = time.monotonic() + _PATIENCE, -1, 0.0
    while time.monotonic() < until:
        now = _spools(project)
        if now == 0 or (now == left and time.monotonic() - since > _PATIENCE / 6):
            break
        if now != left:
            left, since = now, time.monotonic()
        time.sleep(0.2)
    return _spools(project)


def _learned(project: Path) -> Counter[tuple[str, str]]:
    with ALMA.from_config(project / ".alma" / "config.yaml") as alma:
        outcomes = alma.list_memories("outcome", limit=100_000)
    return Counter((one.error_message or "", one.strategy_used) for one in outcomes if isinstance(one, Outcome))


def figures(sessions: int, width: int) -> list[Gate]:
    """What was lost, doubled or mixed, what waited for a later learner, and how long hooks took."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        project = Path(name) / "project"
        (project / ".alma").mkdir(parents=True)
        config = project / ".alma" / "config.yaml"
        config.write_text("alma: {project_id: shop, embedding_provider: hash}\n", encoding="utf-8")
        ALMA.from_config(config).close()
        took = sorted(driven(project, sessions, width))
        waiting = _settled(project)
        while _spools(project) and learn_spools(str(project / ".alma" / "agents")):
            pass
        found = _learned(project)
    wanted = {(f"ModuleNotFoundError: No module named 'mod_{each}'", f"run pip install mod_{each}") for each in range(sessions)}
    return [
        Gate("hooks", len(took), ""),
        Gate("sessions lost", len(wanted - found.keys()), "", 0),
        Gate("outcomes that are no session's own", sum(found[each] for each in found.keys() - wanted), "", 0),
        Gate("sessions counted twice", sum(found[each] > 1 for each in wanted), "", 0),
        Gate("spools that no started learner took", waiting, "", 0),
        Gate("hook p50", took[len(took) // 2], "ms"),
        Gate("hook p95", took[int(len(took) * 0.95)], "ms"),
        Gate("slowest hook", took[-1], "ms"),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures; ends with 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding_agents_crowd")
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--width", type=int, default=40)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    found = figures(given.sessions, given.width)
    gates.show(wide_console(), found, f"{given.sessions} sessions, {given.width} hooks at a time")
    if given.json:
        gates.write_json(given.json, found, sessions=given.sessions, width=given.width)
    gates.enforce(found)


if __name__ == "__main__":
    main()
