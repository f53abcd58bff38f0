"""`alma doctor` says where hooks are, and whether they fire."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ALMA = str(Path(sys.executable).parent / "alma")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "shop"
    folder.mkdir()
    run(folder, "init", "--embedder", "hash")
    return folder


def run(folder: Path, *arguments: str, given: str = "") -> str:
    return subprocess.run([ALMA, *arguments], cwd=folder, input=given, capture_output=True, text=True, check=True).stdout


def found(folder: Path) -> dict[str, tuple[str, str]]:
    said = subprocess.run([ALMA, "doctor", "--json"], cwd=folder, capture_output=True, text=True).stdout
    return {each["name"]: (each["status"], each["detail"]) for each in json.loads(said)["checks"]}


@pytest.mark.slow
def test_the_doctor_sees_an_installation_and_its_first_event(project: Path) -> None:
    assert found(project)["coding agents"][0] == "info"
    run(project, "install", "claude-code")
    status, detail = found(project)["claude-code"]
    assert (status, "no event yet" in detail) == ("ok", True)
    event = {"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart", "source": "startup"}
    run(project, "hook", "claude-code", given=json.dumps(event))
    assert "last event" in found(project)["claude-code"][1]


@pytest.mark.slow
def test_hooks_of_another_installation_are_a_fault(project: Path) -> None:
    file = project / ".codex" / "hooks.json"
    file.parent.mkdir()
    entry = {"hooks": [{"type": "command", "command": "/gone/bin/alma hook codex"}]}
    file.write_text(json.dumps({"hooks": {"SessionStart": [entry]}}))
    assert found(project)["codex"][0] == "FAILED"
    run(project, "install", "codex")
    assert found(project)["codex"][0] == "ok"
