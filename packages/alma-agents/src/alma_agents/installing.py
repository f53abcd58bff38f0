"""`alma install`: our hooks in the files of the hosts. Foreign entries stay; taking ours out restores a file byte for byte."""

import base64
import hashlib
import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alma.errors import ConfigurationError
from alma.files import drafted

CURRENT, OLD = "current", "old"
_PLAIN, _CURSOR, _COPILOT, _OPENCODE = "plain", "cursor", "copilot", "opencode"


@dataclass(frozen=True, slots=True)
class Host:
    """Where a host keeps its hooks and in which shape; the events with the matcher of each, and the unit of a second."""

    project: tuple[str, ...]
    user: tuple[str, ...]
    shape: str
    events: dict[str, str | None]
    second: int = 1
    home: str = ""


_SHELLS = "Bash|Edit|Write|MultiEdit|NotebookEdit"
HOSTS: dict[str, Host] = {
    "claude-code": Host(
        (".claude", "settings.local.json"), (".claude", "settings.json"), _PLAIN,
        {"SessionStart": None, "UserPromptSubmit": None, "PreToolUse": "Bash", "PostToolUse": _SHELLS, "PostToolUseFailure": _SHELLS,
         "Stop": None, "SessionEnd": None},
        home="CLAUDE_CONFIG_DIR",
    ),
    "codex": Host(
        (".codex", "hooks.json"), (".codex", "hooks.json"), _PLAIN,
        {"SessionStart": None, "UserPromptSubmit": None, "PostToolUse": None, "Stop": None, "SessionEnd": None}, home="CODEX_HOME",
    ),
    "gemini": Host(
        (".gemini", "settings.json"), (".gemini", "settings.json"), _PLAIN,
        {"SessionStart": None, "BeforeAgent": None, "AfterTool": "run_shell_command|replace|write_file", "AfterAgent": None, "SessionEnd": None},
        1000,
    ),
    "cursor": Host(
        (".cursor", "hooks.json"), (".cursor", "hooks.json"), _CURSOR,
        {"sessionStart": None, "postToolUse": None, "postToolUseFailure": None, "stop": None, "sessionEnd": None},
    ),
    "copilot": Host(
        (".github", "hooks", "alma.json"), (".copilot", "hooks", "alma.json"), _COPILOT,
        {"sessionStart": None, "postToolUse": None, "postToolUseFailure": None, "agentStop": None, "sessionEnd": None}, home="COPILOT_HOME",
    ),
    "opencode": Host((".opencode", "plugins", "alma.js"), (".config", "opencode", "plugins", "alma.js"), _OPENCODE, {}),
    "openhands": Host(
        (".openhands", "hooks.json"), (".openhands", "hooks.json"), _PLAIN,
        {"SessionStart": None, "UserPromptSubmit": None, "PostToolUse": "terminal|file_editor|execute_bash", "Stop": None, "SessionEnd": None},
    ),
}  # fmt: skip
_PLUGIN = """\
// Written by `alma install opencode`. Reports calls to the memory; a failure of it never reaches the session.
import { spawn } from "node:child_process"

const COMMAND = %(command)s
const tell = (payload) => new Promise((done) => {
  try {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1)], { stdio: ["pipe", "pipe", "ignore"] })
    let said = ""
    child.stdout.on("data", (part) => { said += part })
    child.on("error", () => done(""))
    child.on("close", () => { try { done(JSON.parse(said).context ?? "") } catch { done("") } })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  } catch { done("") }
})
const payload = (name, cwd, more) => ({ hook_event_name: name, cwd, ...more })

const Alma = async ({ directory }) => ({
  "tool.execute.after": async (input, output) => {
    const said = await tell(payload("tool.after", directory, {
      session_id: input.sessionID, tool_name: input.tool, tool_input: input.args ?? output.args, tool_use_id: input.callID,
      tool_response: { output: output.output, exit: output.metadata?.exit },
    }))
    if (said && typeof output.output === "string") output.output += `\\n${said}`
  },
  event: async ({ event }) => {
    if (event.type === "session.idle") await tell(payload("session.idle", directory, { session_id: event.properties?.sessionID }))
  },
})
Alma.id = "alma"
Alma.setup = async (ctx) => {
  const cwd = ctx.location?.directory ?? process.cwd()
  ctx.tool.hook("execute.after", async (e) => {
    try {
      const exit = e.result?.output?.exit ?? e.result?.metadata?.exit
      const text = Array.isArray(e.result?.content) ? e.result.content.map((part) => part.text ?? "").join("\\n") : ""
      const said = await tell(payload("tool.after", cwd, {
        session_id: e.sessionID, tool_name: e.tool, tool_input: e.input, tool_use_id: e.id, tool_response: { output: text, exit },
      }))
      if (said && Array.isArray(e.result?.content)) e.result.content.push({ type: "text", text: said })
    } catch {}
  })
}
export default Alma
"""


@dataclass(frozen=True, slots=True)
class Change:
    """The file of a host, as it is (`None`: there is none) and as it will be (`None`: removed)."""

    host: str
    file: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_there(self) -> bool:
        """True when nothing has to change."""
        return self.before == self.after

    def write(self) -> None:
        """Replaces or removes the file, atomically."""
        if self.is_there:
            return
        target = self.file.resolve()
        if self.after is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with drafted(target, may_replace=True) as draft:
            draft.write_bytes(self.after)
            if target.exists():
                shutil.copymode(target, draft)


def command_for(host: str) -> list[str]:
    """Returns the command of the hooks: the absolute `alma` of this environment, else this Python."""
    script = Path(sys.executable).parent / "alma"
    return [str(script), "hook", host] if script.is_file() else [sys.executable, "-P", "-m", "alma_agents", "hook", host]


def file_of(host: str, base: Path, *, is_user: bool) -> Path:
    """Returns the file with a host's hooks. `ConfigurationError` for an unknown host."""
    if host not in HOSTS:
        raise ConfigurationError(f"there is no host {host!r}; there are {', '.join(HOSTS)}")
    known = HOSTS[host]
    if is_user and known.home and (home := os.environ.get(known.home)):
        return Path(home).joinpath(*known.user[1:])
    return base.joinpath(*(known.user if is_user else known.project))


def installation(host: str, base: Path, *, is_user: bool) -> Change:
    """Returns the change that puts our hooks into a host's file. `ConfigurationError` for a file that would lose something."""
    file = file_of(host, base, is_user=is_user)
    before = file.read_bytes() if file.is_file() else None
    known = HOSTS[host]
    if known.shape == _OPENCODE:
        return Change(host, file, before, (_PLUGIN % {"command": json.dumps(command_for(host))}).encode())
    whole = _read(file, before)
    after = _without(whole)
    _add(after, known, command_for(host))
    return Change(host, file, before, before if after == whole and before is not None else _text(after))


def removal(host: str, base: Path, state: Path, *, is_user: bool) -> Change:
    """Returns the change that takes our hooks out: the bytes of before the installation, or if the file has changed since, all but ours."""
    file = file_of(host, base, is_user=is_user)
    before = file.read_bytes() if file.is_file() else None
    kept = _manifest(state).get(str(file))
    if before is not None and kept and kept["after"] == hashlib.sha256(before).hexdigest():
        return Change(host, file, before, None if kept["before"] is None else base64.b64decode(kept["before"]))
    if before is None or HOSTS[host].shape == _OPENCODE:
        return Change(host, file, before, None if before and before.startswith(b"// Written by `alma install") else before)
    whole = _read(file, before)
    after = _without(whole)
    return Change(host, file, before, before if after == whole else _text(after))


def state_of(host: str, file: Path) -> str:
    """Returns whether a file has our hooks: `CURRENT`, `OLD` where they run another installation, else "". `ConfigurationError` for a file that
    installing would leave alone."""
    text = file.read_bytes() if file.is_file() else b""
    if HOSTS[host].shape == _OPENCODE:
        is_ours, command = text.startswith(b"// Written by `alma install"), json.dumps(command_for(host))
    else:
        whole = _read(file, text)
        is_ours, command = _without(whole) != whole, json.dumps(shlex.join(command_for(host)), ensure_ascii=False)[1:-1]
    return "" if not is_ours else CURRENT if command.encode() in text else OLD


def remember(change: Change, state: Path) -> None:
    """Keeps the bytes of before an installation. What is kept of the first one stays."""
    kept = _manifest(state)
    old = kept.get(str(change.file))
    is_ours = old is not None and change.before is not None and old["after"] == hashlib.sha256(change.before).hexdigest()
    before = old["before"] if is_ours and old else None if change.before is None else base64.b64encode(change.before).decode()
    kept[str(change.file)] = {"before": before, "after": hashlib.sha256(change.after or b"").hexdigest()}
    _save(kept, state)


def forget(change: Change, state: Path) -> None:
    """Drops what was kept of a file."""
    kept = _manifest(state)
    if kept.pop(str(change.file), None) is not None:
        _save(kept, state)


def _manifest(state: Path) -> dict[str, Any]:
    try:
        value = json.loads((state / "installed.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _save(kept: dict[str, Any], state: Path) -> None:
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with drafted(state / "installed.json", may_replace=True) as draft:
        draft.write_text(json.dumps(kept), encoding="utf-8")


def _read(file: Path, before: bytes | None) -> dict[str, Any]:
    try:
        whole = json.loads(before) if before and before.strip() else {}
    except ValueError:
        whole = None
    if not isinstance(whole, dict) or not isinstance(whole.get("hooks", {}), dict):
        raise ConfigurationError(
            f"{file} is left alone, because it is not plain JSON with an object of hooks (it may have comments)"
        )
    return whole


def _text(whole: dict[str, Any]) -> bytes:
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n".encode()


def _is_ours(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    words = [entry.get("command"), entry.get("exec"), entry.get("bash"), *(entry.get("args") or [])]
    line = " ".join(str(part) for part in words if part)
    return "alma" in line and any(line.rstrip().endswith(f"hook {host}") for host in HOSTS)


def _without(whole: dict[str, Any]) -> dict[str, Any]:
    """Returns the content without our entries, and without what only they had made."""
    kept = json.loads(json.dumps(whole))
    hooks = kept.get("hooks", {})
    for event, entries in list(hooks.items()):
        if not isinstance(entries, list):
            continue
        left = []
        for entry in entries:
            inner = entry.get("hooks") if isinstance(entry, dict) else None
            if isinstance(inner, list):
                rest = [each for each in inner if not _is_ours(each)]
                if rest or not inner:
                    left.append({**entry, "hooks": rest})
            elif not _is_ours(entry):
                left.append(entry)
        if left or not entries:
            hooks[event] = left
        else:
            del hooks[event]
    return kept  # type: ignore[no-any-return] # an object


def _add(whole: dict[str, Any], host: Host, command: list[str]) -> None:
    line = shlex.join(command)
    if host.shape in (_CURSOR, _COPILOT):
        whole.setdefault("version", 1)
    hooks = whole.setdefault("hooks", {})
    for event, matcher in host.events.items():
        seconds = 2 if event == "SessionEnd" else 5
        entry: dict[str, Any]
        if host.shape == _CURSOR:
            entry = {"command": line, "timeout": seconds}
        elif host.shape == _COPILOT:
            entry = {"type": "command", "bash": line, "timeoutSec": seconds}
        else:
            entry = {"hooks": [{"type": "command", "command": line, "timeout": seconds * host.second}]}
            if matcher:
                entry = {"matcher": matcher, **entry}
        hooks.setdefault(event, []).append(entry)
