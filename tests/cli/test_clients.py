"""`alma init --client` enters the MCP server in the file of a client, after showing it, and loses nothing of that file."""

import json
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from alma_cli.clients import CLIENTS, entry_for


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("USERPROFILE", str(place))
    for name in ("CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return place


def entered(alma: Any, client: str, *more: str) -> tuple[Path, str]:
    ended = alma("init", "-e", "hash", "--client", client, "--yes", "--json", *more)
    assert ended.json["written"]
    file = Path(ended.json["file"])
    assert file.read_text(encoding="utf-8") == ended.json["content"]
    return file, ended.json["content"]


@pytest.mark.parametrize(
    ("client", "file", "key"),
    [
        ("claude-code", "shop/.mcp.json", "mcpServers"),
        ("claude-desktop", None, "mcpServers"),
        ("cursor", "shop/.cursor/mcp.json", "mcpServers"),
        ("vscode", "shop/.vscode/mcp.json", "servers"),
        ("gemini", "shop/.gemini/settings.json", "mcpServers"),
        ("opencode", "shop/opencode.json", "mcp"),
        ("zed", None, "context_servers"),
    ],
)
def test_a_client_with_a_json_file_gets_its_entry(alma, tmp_path: Path, client: str, file: str | None, key: str) -> None:
    path, content = entered(alma, client)
    server = json.loads(content)[key]["alma"]
    command = server["command"] if client == "opencode" else [server["command"], *server["args"]]
    assert command == [sys.executable, "-m", "alma.mcp", "--config", str(Path(".alma/config.yaml").resolve())]
    assert path.is_relative_to(tmp_path)
    if file:
        assert path == tmp_path / file


def test_the_shapes_of_the_clients_that_differ(alma) -> None:
    assert json.loads(entered(alma, "vscode")[1])["servers"]["alma"]["type"] == "stdio"
    assert json.loads(entered(alma, "opencode")[1])["mcp"]["alma"]["type"] == "local"


def test_a_file_of_opencode_in_the_shape_of_version_2_keeps_it(project, folder: Path) -> None:
    other = {"type": "local", "command": ["other"]}
    (folder / "opencode.json").write_text(json.dumps({"mcp": {"servers": {"other": other}}}))
    servers = json.loads(entered(project, "opencode")[1])["mcp"]["servers"]
    assert servers["other"] == other
    assert (servers["alma"]["type"], servers["alma"]["command"][0]) == ("local", sys.executable)
    assert "enabled" not in servers["alma"]
    assert "has the server already" in project("init", "--client", "opencode").out


def test_a_server_of_opencode_that_is_named_servers_is_no_shape(project, folder: Path) -> None:
    (folder / "opencode.json").write_text(json.dumps({"mcp": {"servers": {"type": "local", "command": ["other"]}}}))
    assert json.loads(entered(project, "opencode")[1])["mcp"]["alma"]["enabled"] is True


def test_a_folder_with_any_name_is_named_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / 'a "b" \\c é 🦜' / "config.yaml"
    monkeypatch.chdir(tmp_path)
    for client, read in (("codex", tomllib.loads), ("continue", yaml.safe_load), ("zed", json.loads)):
        assert str(config) in str_values(read(entry_for(client, config).after))


def str_values(value: Any) -> list[str]:
    """All texts in a parsed file."""
    if isinstance(value, dict | list):
        return [text for each in (value.values() if isinstance(value, dict) else value) for text in str_values(each)]
    return [str(value)]


def test_codex_gets_a_table_at_the_end_of_its_file(alma, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('model = "o"  # mine\n\n[tools]\nweb = true\n')
    path, content = entered(alma, "codex")
    assert path == home / ".codex" / "config.toml"
    assert content.startswith('model = "o"  # mine\n\n[tools]\nweb = true\n\n[mcp_servers.alma]\n')
    assert tomllib.loads(content)["mcp_servers"]["alma"]["command"] == sys.executable


def test_continue_gets_a_file_of_its_own(alma, folder: Path) -> None:
    path, content = entered(alma, "continue")
    assert path == folder / ".continue" / "mcpServers" / "alma.yaml"
    (server,) = yaml.safe_load(content)["mcpServers"]
    assert (server["name"], server["command"]) == ("alma", sys.executable)


def test_a_project_is_made_if_there_is_none_and_kept_if_there_is(alma) -> None:
    entered(alma, "cursor")
    before = Path(".alma/config.yaml").read_text()
    alma("learn", "-a", "helena", "-t", "Deploy", "-o", "success", "-s", "blue-green")
    entered(alma, "vscode")
    assert Path(".alma/config.yaml").read_text() == before
    assert alma("stats", "--json").json["total"] == 1


def test_one_agent_binds_the_server(alma) -> None:
    content = entered(alma, "claude-code", "--agent", "helena")[1]
    assert json.loads(content)["mcpServers"]["alma"]["args"][-2:] == ["--agent", "helena"]


def test_what_else_is_in_the_file_stays(project, folder: Path) -> None:
    file = folder / ".mcp.json"
    file.write_text(
        '{"other": [1, "ü"], "mcpServers": {"github": {"command": "gh"}, "alma": {"command": "old"}}}', encoding="utf-8"
    )
    file.chmod(0o640)
    whole = json.loads(entered(project, "claude-code")[1])
    assert (whole["other"], whole["mcpServers"]["github"]) == ([1, "ü"], {"command": "gh"})
    assert whole["mcpServers"]["alma"]["command"] == sys.executable
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_to_the_file_stays_one(project, folder: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (folder / ".mcp.json").symlink_to(real)
    entered(project, "claude-code")
    assert (folder / ".mcp.json").is_symlink()
    assert "alma" in json.loads(real.read_text())["mcpServers"]


def test_it_says_which_memory_it_made_or_kept(alma, folder: Path) -> None:
    made = alma("init", "-p", "shop", "-e", "hash", "--client", "claude-code", "--yes").out
    assert "Wrote .alma/config.yaml" in made
    assert f"Database {folder / '.alma' / 'alma.db'}, project 'shop', embedder hash" in made
    kept = alma("init", "-p", "other", "--client", "cursor", "--yes").out
    assert "Kept .alma/config.yaml as it is" in kept
    assert "other" not in kept


def test_it_is_shown_and_not_written_where_nobody_can_be_asked(project, folder: Path) -> None:
    ended = project("init", "--client", "claude-code", code=4)
    assert '"mcpServers"' in ended.out
    assert "Add --yes" in ended.err
    assert not (folder / ".mcp.json").exists()


def test_with_json_and_without_yes_it_only_reports(alma, folder: Path) -> None:
    report = alma("init", "--client", "claude-code", "--json").json
    assert (report["written"], report["file"]) == (False, str(folder / ".mcp.json"))
    assert list(folder.iterdir()) == []


def test_entering_it_twice_changes_nothing(project, folder: Path) -> None:
    for client in CLIENTS:
        path, _ = entered(project, client)
        before = path.read_bytes()
        assert "has the server already" in project("init", "--client", client).out
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("vscode", ".vscode/mcp.json", '// mine\n{"servers": {}}'),
        ("cursor", ".cursor/mcp.json", "[]"),
        ("claude-code", ".mcp.json", '{"mcpServers": []}'),
        ("opencode", "opencode.json", '{"mcp": '),
        ("codex", "../home/.codex/config.toml", "model = "),
        ("codex", "../home/.codex/config.toml", '[mcp_servers.alma]\ncommand = "mine"\n'),
    ],
    ids=["comments", "list", "list-inside", "torn", "no-toml", "another"],
)
def test_a_file_that_would_lose_something_is_left_alone_and_what_to_add_is_shown(
    project, folder: Path, client: str, file: str, text: str
) -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    ended = project("init", "--client", client, "--yes", code=2)
    assert "is left alone" in ended.err
    assert "alma.mcp" in ended.err
    assert path.read_text() == text


def test_an_unknown_client_is_an_error_that_lists_what_there_is(alma) -> None:
    assert "claude-code, claude-desktop, codex" in alma("init", "--client", "emacs", code=2).err


def test_the_server_that_is_not_installed_is_named(alma, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "alma_mcp", None)
    assert '"alma-core[mcp] @ git+URL' in alma("serve", "mcp", code=2).err


def test_there_is_one_thing_to_serve(alma) -> None:
    assert "`alma serve mcp`" in alma("serve", "http", code=2).err
    assert "alma serve mcp --http" in alma("serve", "--help").out
    assert "alma serve mcp" in alma("serve", code=2).err
