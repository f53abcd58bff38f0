"""Payloads as each host writes them now. Beside each stands the page of the host's documentation that gives its form, and what was captured from a
host at work where the page says less. Ids, mails and folders are made up."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from alma import ALMA
from alma_agents import index, spool
from alma_agents.hook import answered
from alma_agents.hosts import event_of
from alma_agents.learning import learn_spools

CURSOR = {
    "conversation_id": "c1", "generation_id": "c1", "model": "default", "tool_name": "Shell", "duration": 3113.281, "cwd": "/srv",
    "tool_input": {"command": "go build ./...", "cwd": "/srv", "timeout": 30000}, "tool_use_id": "u1", "session_id": "c1",
    "cursor_version": "2026.10.01-e373342", "workspace_roots": ["/srv"], "user_email": "dev@example.com", "transcript_path": None,
}  # fmt: skip
"""Hooks, Cursor documentation, https://cursor.com/docs/hooks (postToolUse, postToolUseFailure, sessionStart, sessionEnd). The other keys are captured
from cursor-agent 2026.10.01: forgeprint/forgelore, testdata/agents/cursor/2026.10.01."""

COPILOT = {
    "sessionId": "p1", "timestamp": 1791176774359, "cwd": "/srv", "toolName": "bash",
    "toolArgs": {"command": "go build ./...", "description": "Build.", "mode": "sync", "initial_wait": 30},
}  # fmt: skip
"""GitHub Copilot hooks reference, GitHub Docs, https://docs.github.com/en/copilot/reference/hooks-reference (camelCase input: no event is named).
The last line of an answer is captured from Copilot CLI 1.0.91: forgeprint/forgelore, testdata/agents/copilot-cli/1.0.91."""

COPILOT_PASCAL = {
    "hook_event_name": "PostToolUse", "session_id": "p1", "timestamp": "2026-10-05T22:34:50.158Z", "cwd": "/srv", "tool_name": "bash",
    "tool_input": {"command": "go build ./..."},
}  # fmt: skip
"""The same page, VS Code compatible input: what events named in PascalCase get."""

GEMINI = {
    "session_id": "g1", "transcript_path": "/home/dev/.gemini/tmp/x/chats/session-1.jsonl", "cwd": "/srv", "hook_event_name": "AfterTool",
    "timestamp": "2026-10-05T22:34:50.158Z", "tool_name": "run_shell_command", "tool_input": {"command": "go build ./..."},
}  # fmt: skip
"""Hooks reference, Gemini CLI documentation, https://geminicli.com/docs/hooks/reference (Base input schema, AfterTool). What llmContent holds is
captured from Gemini CLI 0.62.0: forgeprint/forgelore, testdata/agents/gemini-cli/0.62.0."""

CODEX = {
    "session_id": "x1", "turn_id": "t1", "transcript_path": None, "cwd": "/srv", "hook_event_name": "PostToolUse", "model": "gpt-6",
    "permission_mode": "default", "tool_name": "Bash", "tool_input": {"command": "go build ./..."}, "tool_use_id": "call_1",
}  # fmt: skip
"""Hooks, OpenAI developers, https://developers.openai.com/codex/hooks. Types of the keys: openai/codex,
codex-rs/hooks/schema/generated/post-tool-use.command.input.schema.json. The answer of a command is a text, with or without a header."""

CLAUDE = {
    "session_id": "s1", "transcript_path": "/home/dev/.claude/projects/x/s1.jsonl", "cwd": "/srv", "permission_mode": "acceptEdits",
    "effort": {"level": "high"}, "tool_name": "Bash", "tool_input": {"command": "go build ./...", "description": "Build"}, "tool_use_id": "u1",
}  # fmt: skip
"""Hooks reference, Claude Code Docs, https://code.claude.com/docs/en/hooks (Common input fields, PostToolUse, PostToolUseFailure). Captured from
Claude Code 2.1.291: forgeprint/forgelore, testdata/agents/claude-code/2.1.291."""

OPENHANDS = {
    "event_type": "PostToolUse", "tool_name": "terminal", "tool_input": {"command": "go build ./..."}, "session_id": "o1", "working_dir": "/srv",
}  # fmt: skip
"""Hooks, OpenHands documentation, https://docs.openhands.dev/openhands/usage/customization/hooks (Input). The page names `tool_response` and not what
it holds: that is an observation of a terminal in OpenHands/software-agent-sdk."""

OPENCODE = {
    "hook_event_name": "tool.after", "session_id": "n1", "cwd": "/srv", "tool_name": "bash", "tool_use_id": "call_1",
    "tool_input": {"command": "go build ./..."},
}  # fmt: skip
"""Plugins, opencode documentation, https://opencode.ai/docs/plugins/ (tool.execute.after). The plugin that `alma install opencode` writes sends the
output and `metadata.exit` of a call in this form."""

SAID = "# example.com/broken/cmd/app\ncmd/app/main.go:4:2: undefined: greet"


def gemini(text: str) -> dict[str, object]:
    return {
        **GEMINI,
        "tool_response": {"llmContent": f"<untrusted_context>\n{text}\n</untrusted_context>", "returnDisplay": text},
    }


def copilot(text: str) -> dict[str, object]:
    return {**COPILOT, "toolResult": {"resultType": "success", "textResultForLlm": text}}


def cursor(output: dict[str, object]) -> dict[str, object]:
    return {**CURSOR, "hook_event_name": "postToolUse", "tool_output": json.dumps(output)}


def cursor_failure(kind: str, **more: object) -> dict[str, object]:
    return {
        **CURSOR,
        "hook_event_name": "postToolUseFailure",
        "error_message": SAID,
        "failure_type": kind,
        "is_interrupt": False,
        **more,
    }


JUDGED = {
    "cursor, captured: a pass": ("cursor", cursor({"output": SAID, "exitCode": 0}), True, SAID),
    "cursor, documented: a pass": ("cursor", cursor({"exitCode": 0, "stdout": SAID}), True, SAID),
    "cursor, documented: a status": ("cursor", cursor({"exitCode": 2, "stdout": "building", "stderr": SAID}), False, f"building\n{SAID}"),
    "cursor, documented: on one stream": ("cursor", cursor({"exitCode": 1, "stdout": "", "stderr": SAID}), False, SAID),
    "cursor, captured: a failure": ("cursor", cursor_failure("error"), False, SAID),
    "cursor: a time limit": ("cursor", cursor_failure("timeout"), None, SAID),
    "cursor: refused": ("cursor", cursor_failure("permission_denied"), None, SAID),
    "cursor: broken off": ("cursor", cursor_failure("error", is_interrupt=True), None, SAID),
    "copilot, captured": ("copilot", copilot(f"{SAID}\n<shellId: 0 completed with exit code 1>"), False, None),
    "copilot, another shell": ("copilot", copilot(f"{SAID}\n<shellId: build-7 completed with exit code 0>"), True, None),
    "copilot, pascal case": (
        "copilot",
        {**COPILOT_PASCAL, "tool_result": {"result_type": "success", "text_result_for_llm": f"{SAID}\n<shellId: 0 completed with exit code 2>"}},
        False, None,
    ),
    "copilot: a failure": ("copilot", {**COPILOT, "error": f"{SAID}\n<shellId: 0 completed with exit code 1>"}, False, None),
    "copilot, former": ("copilot", copilot(f"{SAID}\n<exited with exit code 2>"), False, None),
    "copilot, running on": ("copilot", copilot(f"{SAID}\n<shellId: 0 is still running>"), None, None),
    "gemini, captured: a failure": ("gemini", gemini(f"Output: {SAID}\nExit Code: 1\nProcess Group PGID: 72958"), False, None),
    "gemini, captured: a pass": ("gemini", gemini(f"Output: {SAID}\nProcess Group PGID: 72977"), True, None),
    "gemini: cancelled": ("gemini", gemini("Command was cancelled by user before it could complete."), None, None),
    "codex: no status": ("codex", {**CODEX, "tool_response": SAID}, None, SAID),
    "codex: a header": ("codex", {**CODEX, "tool_response": f"Chunk ID: a\nProcess exited with code 7\nFinal output:\n{SAID}"}, False, None),
    "codex, former header": ("codex", {**CODEX, "tool_response": f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{SAID}"}, True, None),
    "codex: a program that prints one": ("codex", {**CODEX, "tool_response": f"log\nExit code: 1\nOutput:\n{SAID}"}, None, None),
    "claude-code, captured: a failure": (
        "claude-code", {**CLAUDE, "hook_event_name": "PostToolUseFailure", "error": f"Exit code 1\n{SAID}", "is_interrupt": False}, False, None,
    ),
    "claude-code, captured: a pass": (
        "claude-code",
        {**CLAUDE, "hook_event_name": "PostToolUse",
         "tool_response": {"stdout": SAID, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}}, True, SAID,
    ),
    "openhands: a failure": (
        "openhands",
        {**OPENHANDS, "tool_response": {"content": [{"type": "text", "text": SAID}], "command": "go build ./...", "exit_code": 2, "is_error": False}},
        False, SAID,
    ),
    "openhands: running on": (
        "openhands", {**OPENHANDS, "tool_response": {"content": [{"type": "text", "text": SAID}], "exit_code": -1, "is_error": False}}, None, SAID,
    ),
    "opencode: a failure": ("opencode", {**OPENCODE, "tool_response": {"output": SAID, "exit": 1}}, False, SAID),
    "opencode: a pass": ("opencode", {**OPENCODE, "tool_response": {"output": SAID, "exit": 0}}, True, SAID),
}  # fmt: skip


@pytest.mark.parametrize(("host", "payload", "ok", "output"), JUDGED.values(), ids=JUDGED)
def test_the_payload_of_a_host_is_judged_by_its_status(
    host: str, payload: dict[str, object], ok: bool | None, output: str | None
) -> None:
    event = event_of(payload, host)
    assert event is not None
    assert (event.host, event.tool, event.command, event.ok) == (host, "shell", "go build ./...", ok)
    assert "undefined: greet" in event.output or "cancelled" in event.output
    assert output is None or event.output == output


def test_a_patch_of_codex_names_its_file() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    event = event_of(
        {**CODEX, "tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_response": "Exit code: 0"}, "codex"
    )
    assert event is not None
    assert (event.tool, event.path, event.old, event.new) == ("edit", "src/a.py", "x = 1", "x = 2")


STARTS = {
    "cursor": {"conversation_id": "c2", "session_id": "c2", "hook_event_name": "sessionStart", "cursor_version": "2026.10.01"},
    "copilot": {"sessionId": "p2", "timestamp": 1791176771181, "source": "new", "initialPrompt": "run the tests"},
    "gemini": {"session_id": "g2", "hook_event_name": "SessionStart", "source": "startup"},
    "codex": {
        "session_id": "x2",
        "transcript_path": None,
        "hook_event_name": "SessionStart",
        "source": "startup",
        "model": "gpt-6",
    },
    "claude-code": {"session_id": "s2", "hook_event_name": "SessionStart", "source": "startup"},
    "openhands": {"session_id": "o2", "event_type": "SessionStart"},
    "opencode": {"session_id": "n2", "hook_event_name": "tool.after", "tool_name": "read", "tool_input": {}, "tool_response": {}},
}
ENDS = {
    "cursor": {"session_id": "c2", "hook_event_name": "sessionEnd", "cursor_version": "2026.10.01", "reason": "completed"},
    "copilot": {"sessionId": "p2", "timestamp": 1791176775634, "reason": "complete"},
    "codex": {"session_id": "x2", "transcript_path": None, "hook_event_name": "SessionEnd", "reason": "other"},
}
"""Codex has it since 0.145.0: when a session is closed or archived, or after 30 minutes."""


@pytest.mark.parametrize(("host", "payload"), [*STARTS.items(), *ENDS.items()])
def test_the_bounds_of_a_session_are_known(host: str, payload: dict[str, object]) -> None:
    event = event_of(payload, host)
    assert event is not None
    assert event.kind in (("tool",) if host == "opencode" else ("start", "end"))


def run(project: Path, host: str, session: str, steps: tuple[tuple[str, bool], ...]) -> None:
    """Reports calls as the plugin of opencode and OpenHands do, which is the plainest form, for any host."""
    for number, (command, ok) in enumerate(steps):
        known = {
            "session_id": session,
            "cwd": str(project),
            "tool_name": "bash",
            "tool_use_id": f"{session}-{number}-{command}-{ok}",
        }
        output = "" if ok else "ModuleNotFoundError: No module named 'flask'"
        answered(
            {**known, "hook_event_name": "tool.after", "tool_input": {"command": command}, "tool_response": {"output": output, "exit": int(not ok)}},
            host,
        )  # fmt: skip


REPAIRED = (("pytest -q", False), ("pip install flask", True), ("pytest -q", True))


def outcomes(project: Path) -> list[str]:
    with ALMA.from_config(project / ".alma" / "config.yaml") as alma:
        return [one.strategy_used for one in alma.list_memories("outcome")]


def begin(project: Path, host: str, **more: str) -> None:
    """Starts a session, and learns in this process where a hook would start another one for it."""
    answered({**STARTS[host], "cwd": str(project), "working_dir": str(project), **more}, host, start=learn_spools)


@pytest.mark.parametrize("host", STARTS)
@pytest.mark.parametrize("has_turn", [True, False], ids=["a turn ended", "broken off"])
def test_a_session_without_an_end_is_learned_when_the_next_one_starts(project: Path, host: str, has_turn: bool) -> None:
    run(project, "opencode", "first", REPAIRED)
    if has_turn:
        answered({"session_id": "first", "cwd": str(project), "hook_event_name": "session.idle"}, "opencode", start=learn_spools)
    assert outcomes(project) == []
    begin(project, host)
    assert outcomes(project) == ["run pip install flask"]


def test_a_session_without_an_end_is_learned_when_it_is_resumed(project: Path) -> None:
    run(project, "opencode", "s2", REPAIRED)
    begin(project, "claude-code", source="resume")
    assert outcomes(project) == ["run pip install flask"]


def test_a_session_that_goes_on_after_it_was_learned_loses_and_doubles_nothing(project: Path) -> None:
    run(project, "opencode", "first", (*REPAIRED, ("mypy src", False)))
    begin(project, "claude-code", session_id="second")
    assert outcomes(project) == ["run pip install flask"]
    run(project, "opencode", "first", (("uv add types-requests", True), ("mypy src", True), ("ruff check .", False)))
    begin(project, "claude-code", session_id="third")
    learned = ["run pip install flask", "run uv add types-requests"]
    assert sorted(outcomes(project)) == learned
    folder = str(project / ".alma" / "agents")
    spool.append(folder, "first", {"over": True})
    learn_spools(folder)
    assert sorted(outcomes(project)) == ["", *learned]
    assert spool.of_session(folder, "first") == []


def test_a_session_with_nothing_new_is_not_read_again(project: Path) -> None:
    run(project, "opencode", "first", REPAIRED)
    begin(project, "claude-code", session_id="second")
    begun: list[str] = []
    for number, steps in enumerate(((), (), (("ls", True),))):
        run(project, "opencode", "first", steps)
        start = {**STARTS["claude-code"], "session_id": "second", "cwd": str(project)}
        answered(start, "claude-code", start=lambda *_, number=number: begun.append(number))
        learn_spools(str(project / ".alma" / "agents"))
    assert begun == [2]


def ran(host: str, session: str, command: str, code: int, cwd: str) -> dict[str, object]:
    """Returns the payload of a command of a host that reports no end of a session."""
    said = "ModuleNotFoundError: No module named 'flask'" if code else "ok"
    shared = {"session_id": session, "cwd": cwd, "tool_use_id": f"{session} {command} {code}", "tool_input": {"command": command}}
    if host == "cursor":
        output = json.dumps({"exitCode": code, "stdout": "", "stderr": said})
        return {**CURSOR, **shared, "hook_event_name": "postToolUse", "workspace_roots": [cwd], "tool_output": output}
    return {**CODEX, **shared, "tool_response": f"Wall time: 1.2 seconds\nProcess exited with code {code}\nOutput:\n{said}"}


def drive(host: str, payload: dict[str, object]) -> str:
    command = [sys.executable, "-P", "-m", "alma_agents", "hook", host]
    ended = subprocess.run(command, input=json.dumps(payload), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


@pytest.mark.parametrize("host", ["cursor", "codex"])
def test_what_a_session_without_an_end_repaired_is_shown_in_the_next_one(project: Path, host: str) -> None:
    for command, code in (("pytest -q", 1), ("pip install flask", 0), ("pytest -q", 0)):
        drive(host, ran(host, "one", command, code, str(project)))
    drive(host, {**STARTS[host], "cwd": str(project), "workspace_roots": [str(project)]})
    folder, deadline = str(project / ".alma" / "agents"), time.monotonic() + 120
    while not index.load(folder).get("fixes") and time.monotonic() < deadline:  # the learner was started at the session's start
        time.sleep(0.1)
    assert "pip install flask" in drive(host, ran(host, "two", "pytest -q", 1, str(project)))


def test_a_long_answer_of_cursor_keeps_its_status_in_the_spool(project: Path) -> None:
    folder = str(project / ".alma" / "agents")
    payload = {**cursor({"stdout": "x\n" * 9_000 + SAID, "exitCode": 1}), "cwd": str(project), "workspace_roots": [str(project)]}
    answered(payload, "cursor")
    (kept,) = [event_of(record["payload"], "cursor") for record in spool.of_session(folder, "c1")]
    assert kept is not None
    assert (kept.ok, kept.output[-16:]) == (False, "undefined: greet")
