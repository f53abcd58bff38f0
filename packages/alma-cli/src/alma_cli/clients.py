"""Entries of MCP clients: which file each reads, what it has to contain, and adding it to what is there."""

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alma.errors import ConfigurationError

NAME = "alma"
"""Name of the server in every client."""


@dataclass(frozen=True, slots=True)
class Client:
    """An MCP client: the file that names its servers, and a function that adds this one to the text of that file."""

    title: str
    file: Callable[[Path], Path]
    added: Callable[[str, list[str]], str]


@dataclass(frozen=True, slots=True)
class Entry:
    """The file of a client with the server in it. `before` is what it contains now, `None` if there is none."""

    client: str
    file: Path
    before: str | None
    after: str

    @property
    def is_there(self) -> bool:
        """True when the file has the entry already."""
        return self.before == self.after

    def write(self) -> None:
        """Replaces the file atomically, with the permissions that it has. A link to it stays one."""
        from alma.files import drafted

        target = self.file.resolve()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"{target.parent} cannot be made: {error.strerror}") from error
        with drafted(target, may_replace=True) as draft:
            draft.write_text(self.after, encoding="utf-8")
            if target.exists():
                shutil.copymode(target, draft)


def entry_for(client: str, config: Path, *, agent: str | None = None) -> Entry:
    """Returns the file of a client with an entry for the memory of this configuration; with `agent`, bound to it.

    `ConfigurationError` for an unknown client, and for a file that cannot be changed without losing something; it shows what to add by
    hand.
    """
    if client not in CLIENTS:
        raise ConfigurationError(f"there is no client {client!r}; there are {', '.join(CLIENTS)}")
    known = CLIENTS[client]
    command = [sys.executable, "-m", "alma.mcp", "--config", str(config.resolve()), *(["--agent", agent] if agent else [])]
    file = known.file(Path.cwd())
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    try:
        after = known.added(before or "", command)
    except ValueError as error:
        raise ConfigurationError(
            f"{file} is left alone, because {error}. Add this by hand:\n{known.added('', command).strip()}"
        ) from error
    return Entry(client, file, before, after)


def _in_json(key: str, shape: Callable[[list[str]], dict[str, Any]]) -> Callable[[str, list[str]], str]:
    """Returns a function that adds the server under a key of a JSON file."""

    def added(text: str, command: list[str]) -> str:
        try:
            whole = json.loads(text) if text.strip() else {}
        except ValueError:
            raise ValueError("it is not plain JSON (it may have comments)") from None
        servers = whole.setdefault(key, {}) if isinstance(whole, dict) else None
        if not isinstance(servers, dict):
            raise ValueError(f"{key!r} in it is not an object")
        if servers.get(NAME) == shape(command):
            return text
        servers[NAME] = shape(command)
        return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n"

    return added


def _in_toml(text: str, command: list[str]) -> str:
    """Adds the server to a TOML file, as a table at its end."""
    try:
        servers = tomllib.loads(text).get("mcp_servers", {})
    except tomllib.TOMLDecodeError:
        raise ValueError("it is not valid TOML") from None
    if servers.get(NAME) == _plain(command):
        return text
    if NAME in servers:
        raise ValueError(f"it has another [mcp_servers.{NAME}]")
    table = f"[mcp_servers.{NAME}]\ncommand = {_quoted(command[0])}\nargs = {_quoted(command[1:])}\n"
    return f"{text.rstrip()}\n\n{table}".lstrip()


def _in_yaml(text: str, command: list[str]) -> str:
    """Returns a YAML file for this server alone. JSON strings are valid YAML."""
    lines = [
        "name: ALMA",
        "version: 0.1.0",
        "schema: v1",
        "mcpServers:",
        f"  - name: {NAME}",
        f"    command: {_quoted(command[0])}",
    ]
    return "\n".join([*lines, "    args:", *(f"      - {_quoted(part)}" for part in command[1:]), ""])


def _in_opencode(text: str, command: list[str]) -> str:
    """Adds the server to a file of opencode: below `mcp`, or below `mcp.servers` where the file has that, as version 2 does."""
    local = {"type": "local", "command": command}
    try:
        whole = json.loads(text or "{}")
        servers = whole["mcp"]["servers"]
    except (ValueError, TypeError, KeyError):
        servers = None
    if not isinstance(servers, dict) or "type" in servers:  # with a type it is a server of that name, of version 1
        return _in_json("mcp", lambda _: {**local, "enabled": True})(text, command)
    if servers.get(NAME) == local:
        return text
    servers[NAME] = local
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n"


def _quoted(value: str | list[str]) -> str:
    """Returns a value as JSON that is valid TOML and YAML, too: these know no pairs of escapes for one character."""
    return json.dumps(value, ensure_ascii=False)


def _plain(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _here(*parts: str) -> Callable[[Path], Path]:
    return lambda here: here.joinpath(*parts)


def _codex(here: Path) -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"


def _application(*parts: str, mac: tuple[str, ...], linux: tuple[str, ...]) -> Callable[[Path], Path]:
    """Returns a function that names a file in the folder where applications of this system keep their settings."""

    def file(here: Path) -> Path:
        if sys.platform == "win32":
            return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming").joinpath(*parts)
        return Path.home().joinpath(*(mac if sys.platform == "darwin" else linux))

    return file


_DESKTOP = "claude_desktop_config.json"
CLIENTS = {
    "claude-code": Client("Claude Code", _here(".mcp.json"), _in_json("mcpServers", _plain)),
    "claude-desktop": Client(
        "Claude Desktop",
        _application(
            "Claude",
            _DESKTOP,
            mac=("Library", "Application Support", "Claude", _DESKTOP),
            linux=(".config", "Claude", _DESKTOP),
        ),
        _in_json("mcpServers", _plain),
    ),
    "codex": Client("Codex", _codex, _in_toml),
    "cursor": Client("Cursor", _here(".cursor", "mcp.json"), _in_json("mcpServers", _plain)),
    "vscode": Client(
        "VS Code", _here(".vscode", "mcp.json"), _in_json("servers", lambda command: {"type": "stdio", **_plain(command)})
    ),
    "gemini": Client("Gemini CLI", _here(".gemini", "settings.json"), _in_json("mcpServers", _plain)),
    "opencode": Client("opencode", _here("opencode.json"), _in_opencode),
    "continue": Client("Continue", _here(".continue", "mcpServers", "alma.yaml"), _in_yaml),
    "zed": Client(
        "Zed",
        _application("Zed", "settings.json", mac=(".config", "zed", "settings.json"), linux=(".config", "zed", "settings.json")),
        _in_json("context_servers", lambda command: {**_plain(command), "env": {}}),
    ),
}
"""The clients by the name that `alma init --client` knows them by."""
