"""Commands that fail: with `--json` the failure is JSON on standard output, too; a stream that cannot be written to is no crash."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from alma_cli.app import app

COMMANDS = [name for name in getattr(typer.main.get_command(app), "commands") if name != "help"]  # noqa: B009 - no common name; `help` has no JSON

FAILING: dict[str, list[str]] = {
    "init": ["--config", "no-folder.txt/config.yaml"],
    "demo": ["--keep", "held"],
    "learn": ["-a", "helena", "-t", "Deploy", "-o", "splendid"],
    "retrieve": ["Deploy", "-a", "helena", "--top-k", "0"],
    "explain": ["Deploy", "m1", "--top-k", "0"],
    "strategies": ["-a", "helena", "--limit", "0"],
    "check": ["Deploy", "-a", " "],
    "assess": ["--context", " ", "-a", "helena"],
    "review": ["e1"],
    "stats": ["-a", " "],
    "history": ["m1"],
    "undo": ["--to", "-1"],
    "forget": ["--below-confidence", "7"],
    "quarantine": ["open"],
    "redact": [],
    "maintain": ["--config", "none.yaml"],
    "compact": ["--config", "none.yaml"],
    "reindex": ["--embedder", "nonsense"],
    "report": ["--output", "no-folder/report.html"],
    "backup": ["no-folder/backup.db"],
    "verify": ["--config", "none.yaml"],
    "doctor": ["--config", "none.yaml"],
    "list": ["--kind", "nonsense"],
    "show": ["m1"],
    "add": ["nonsense", "a=b", "-a", "helena"],
    "export": ["no-folder/backup.jsonl"],
    "import": ["none.jsonl"],
    "ingest-traces": ["none.json"],
    "keygen": ["no-folder.txt/alma.key"],
    "encrypt": [],
    "decrypt": ["--key-file", "none.key"],
    "rotate-key": ["--to", "none.key"],
    "migrate": ["--to", " "],
    "pg-setup": [],
    "serve": ["nothing"],
    "token": ["revoke", "nobody"],
    "ui": ["--server", "http://127.0.0.1:8765", "--port", "0"],
    "webhooks": ["test", "nobody"],
    "sessions": ["-a", " "],
    "work": ["--strategy", "nonsense"],
    "workflow": ["deploy", "--branch", " "],
    "wakeup": ["-a", " "],
}
"""Arguments that are well formed and fail, in a folder with a project."""


def _error(out: str) -> dict[str, Any]:
    """What a failure says of itself, as the only thing on standard output."""
    told = json.loads(out)
    assert set(told) == {"error"}
    assert set(told["error"]) == {"type", "message"}
    return dict(told["error"])


def test_every_command_is_here() -> None:
    assert set(FAILING) == set(COMMANDS)


@pytest.fixture
def spoilt(project: Any, folder: Path) -> Any:
    (folder / "no-folder.txt").write_text("")
    (folder / "held" / ".alma").mkdir(parents=True)
    (folder / "held" / ".alma" / "other.db").write_text("")
    return project


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "doctor"])
def test_a_failure_is_json_as_well_and_the_line_for_people_stays(spoilt: Any, command: str) -> None:
    plain = spoilt(command, *FAILING[command], code=None)
    ended = spoilt(command, *FAILING[command], "--json", code=None)

    assert plain.code == ended.code != 0
    assert plain.out == ""
    assert _error(ended.out)["type"].endswith("Error")
    assert ended.err == plain.err
    assert ended.err.startswith("alma: ")
    assert ended.err.count("\n") == 1


def test_what_the_doctor_finds_wrong_is_json_of_its_own(spoilt: Any) -> None:
    ended = spoilt("doctor", *FAILING["doctor"], "--json", code=1)
    assert ended.json["failed"] == ["configuration"]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "serve"])  # which passes its options on
@pytest.mark.parametrize("arguments", [["--bogus", "--json"], ["--json", "--bogus"], ["--json", "--config"]])
def test_wrong_usage_is_json_as_well(alma: Any, command: str, arguments: list[str]) -> None:
    ended = alma(command, *arguments, code=2)

    assert _error(ended.out)["type"] == "UsageError"
    assert _error(ended.out)["message"] in ended.err
    assert ended.err


@pytest.mark.parametrize("arguments", [["lern", "--json"], ["--bogus", "list", "--json"], ["--json", "list"], ["--json"]])
def test_a_command_that_there_is_not_is_json_as_well(alma: Any, arguments: list[str]) -> None:
    assert _error(alma(*arguments, code=2).out)["type"] == "UsageError"


def test_without_json_nothing_of_it_stands_on_standard_output(project: Any) -> None:
    assert project("show", "m1", code=4).out == ""
    assert project("list", "--bogus", code=2).out == ""
    assert project("add", "domain_knowledge", "-a", "helena", "--", "--json", code=2).out == ""


def test_the_message_is_whole_and_the_type_is_that_of_the_error(project: Any) -> None:
    assert _error(project("show", "m1", "--json", code=4).out) == {
        "type": "MemoryNotFoundError",
        "message": "project 'shop' has no memory 'm1'",
    }


@pytest.mark.slow
def test_debug_gives_json_and_the_traceback(project: Any, folder: Path) -> None:
    ended = _shell("alma --debug show m1 --json", folder)
    assert _error(ended.stdout)["type"] == "MemoryNotFoundError"
    assert "Traceback" in ended.stderr


def _shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line as a shell runs it."""
    script = line.replace("alma ", f"'{sys.executable}' -m alma ", 1)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], cwd=folder, capture_output=True, text=True, env=environ)


@pytest.fixture
def busy(project: Any, folder: Path) -> Path:
    """A project with more memories than a pipe holds."""
    memories = [{"agent": "helena", "task": f"Deploy service {number}", "outcome": True} for number in range(200)]
    from alma import ALMA

    with ALMA.from_config(folder / ".alma" / "config.yaml") as alma:
        alma.learn_many(memories)
    return folder


CLOSED = ["list --json", "list", "learn -a helena -t Deploy -o success --json", "show m1 --json", "--help", "--bogus"]


@pytest.mark.slow
@pytest.mark.parametrize("command", CLOSED)
def test_a_closed_standard_output_is_no_traceback_and_nothing_is_done(busy: Path, command: str) -> None:
    ended = _shell(f"alma {command} >&-", busy)

    assert ended.returncode == 141
    assert ended.stderr == "alma: standard output is closed\n"
    assert json.loads(_shell("alma stats --json", busy).stdout)["total"] == 200


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list --json -n 200", "list -n 200", "export -", "report -o - --json"])
def test_a_reader_that_has_seen_enough_is_no_traceback(busy: Path, command: str) -> None:
    ended = _shell(f"alma {command} | head -c 10", busy)

    assert len(ended.stdout) == 10
    assert ended.stderr == ""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is always full")
@pytest.mark.parametrize("command", ["list --json -n 200", "list", "show m1 --json", "stats"])
def test_a_full_disk_behind_standard_output_is_one_line(busy: Path, command: str) -> None:
    ended = _shell(f"alma {command} >/dev/full", busy)

    assert ended.returncode == (4 if "m1" in command else 3)
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["<&-", "2>&-", "<&- 2>&-"])
def test_other_closed_streams_change_nothing(busy: Path, streams: str) -> None:
    assert json.loads(_shell(f"alma stats --json {streams}", busy).stdout)["total"] == 200
    ended = _shell(f"alma show m1 --json {streams}", busy)
    assert (ended.returncode, _error(ended.stdout)["type"]) == (4, "MemoryNotFoundError")
    assert _shell(f"alma forget --older-than-days 0 {streams}", busy).returncode == 4
