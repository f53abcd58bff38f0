"""Hooks in the files of hosts: foreign entries stay, twice is once, taking ours out restores every byte."""

import json
from pathlib import Path

import pytest

from alma.errors import ConfigurationError
from alma_agents import installing

FOREIGN = b'{ "model": "x",\n  "hooks": {"Stop": [ {"hooks": [{"type": "command", "command": "mine"}]} ], "stop": [{"command": "their"}]}}'


def install(host: str, base: Path) -> installing.Change:
    change = installing.installation(host, base, is_user=False)
    if not change.is_there:
        installing.remember(change, base / "state")
        change.write()
    return change


@pytest.mark.parametrize("host", list(installing.HOSTS))
@pytest.mark.parametrize("before", [None, FOREIGN])
def test_uninstalling_restores_a_file_byte_for_byte(host: str, before: bytes | None, tmp_path: Path) -> None:
    file = installing.file_of(host, tmp_path, is_user=False)
    if before is not None:
        file.parent.mkdir(parents=True)
        file.write_bytes(before)
    install(host, tmp_path)
    assert install(host, tmp_path).is_there
    assert b"alma" in file.read_bytes()
    installing.removal(host, tmp_path, tmp_path / "state", is_user=False).write()
    assert (file.read_bytes() if file.exists() else None) == before


def test_foreign_hooks_stay_also_those_added_later(tmp_path: Path) -> None:
    file = installing.file_of("claude-code", tmp_path, is_user=False)
    file.parent.mkdir()
    file.write_bytes(FOREIGN)
    install("claude-code", tmp_path)
    whole = json.loads(file.read_text())
    whole["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    file.write_text(json.dumps(whole))
    installing.removal("claude-code", tmp_path, tmp_path / "state", is_user=False).write()
    left = json.loads(file.read_text())
    assert [entry["hooks"][0]["command"] for entry in left["hooks"]["Stop"]] == ["mine", "later"]
    assert "hook claude-code" not in file.read_text()


def test_a_file_with_comments_is_left_alone(tmp_path: Path) -> None:
    file = installing.file_of("gemini", tmp_path, is_user=False)
    file.parent.mkdir()
    file.write_text("{ // mine\n}")
    with pytest.raises(ConfigurationError, match="comments"):
        install("gemini", tmp_path)
    assert file.read_text() == "{ // mine\n}"
