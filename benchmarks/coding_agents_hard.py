"""A second set of labelled events for coding agents: command lines and host records on which a reader of exit statuses easily errs.

It was written from the hosts' formats and from the shell's rules, before the code that reads them was read. A label is what the exit status proves
about the command that the line is about: `True` passed, `False` failed, `None` nothing. Each line is written in one format, in turn; `records` are
written as the hosts write them. `SEQUENCES` are sessions with the number of repairs in each.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from alma_agents import shell
from alma_agents.attempts import attempts
from alma_agents.events import SHELL, TOOL, Event
from alma_agents.hosts import event_of
from alma_agents.transcripts import events

Label = bool | None


class Written(Protocol):
    """Writes a shell line, its exit code and its output in the format of a host, and reads that back as an event."""

    __name__: str

    def __call__(self, line: str, code: int, output: str, /) -> Event | None: ...


LINES: tuple[tuple[str, int, str, Label], ...] = (
    # searches and questions: their status is an answer, not an outcome
    ("grep -rn TODO src | wc -l", 0, "0", None),
    ("grep -q main app.py", 1, "", None),
    ("git grep -n deprecated", 1, "", None),
    ("cat app.log | grep ERROR", 1, "", None),
    ("ps aux | grep node", 0, "node server.js", None),
    ("which pytest", 1, "", None),
    ("command -v node", 1, "", None),
    ("pgrep -f server", 1, "", None),
    ("cmp a.bin b.bin", 1, "a.bin b.bin differ", None),
    ("git diff --quiet", 1, "", None),
    ("[ -f package.json ]", 1, "", None),
    ("ls *.foo", 2, "ls: cannot access '*.foo'", None),
    ("jq .version package.json", 5, "jq: error", None),
    ("sleep 5", 0, "", None),
    ("false", 1, "", None),
    ("git status", 128, "fatal: not a git repository", None),
    ("docker ps", 1, "Cannot connect to the Docker daemon", None),
    # lines that mention a command and do not run it
    ("cat > run.sh <<'EOF'\npytest -q\nEOF", 0, "", None),
    ("cat <<EOF > ci.yml\nscript:\n  - npm test\nEOF", 0, "", None),
    ('echo "pytest -q" >> Makefile', 0, "", None),
    ('git commit -m "fix tests; make build green"', 0, "1 file changed", None),
    ("sed -i 's/pytest/nose/' tox.ini", 0, "", None),
    ("cat Makefile | grep 'npm test'", 0, "\tnpm test", None),
    ("tail -50 pytest.log", 0, "3 failed", None),
    # statuses that are swallowed
    ("(pytest || true)", 0, "3 failed", None),
    ("pytest || echo failed", 0, "failed", None),
    ("npm test || :", 0, "1 failing", None),
    ("pytest || cat log.txt", 0, "3 failed", None),
    ("pytest -q; exit 0", 0, "1 failed", None),
    ('pytest -q; echo "exit=$?"', 0, "1 failed\nexit=1", None),
    ("pytest -q > /tmp/o 2>&1; echo $?", 0, "1", None),
    ("pytest -q\necho $?", 0, "1 failed\n1", None),
    ("pytest |& tee log", 0, "1 failed", None),
    ("pytest 2>&1 | grep -v warn", 1, "", None),
    ("pytest --co -q | wc -l", 0, "14", None),
    ("sh -c 'make; true'", 0, "make: *** Error 1", None),
    ("bash -lc 'pytest | tail -5'", 0, "1 failed", None),
    ("if pytest; then echo ok; else echo bad; fi", 0, "bad", None),
    ("for f in tests/*.py; do python $f; done", 0, "Traceback", None),
    ("until pytest; do sleep 1; done", 0, "1 failed\n4 passed", None),
    ("while ! make; do sleep 1; done", 0, "make: *** Error 1", None),
    ("output=$(pytest 2>&1); echo $output", 0, "1 failed", None),
    ("pytest && echo PASS || echo FAIL", 0, "1 failed\nFAIL", None),
    ("npm test; npm run report", 0, "1 failing", None),
    # which of several failed cannot be known, or whether any ran
    ("set -e; npm ci; npm test", 1, "1 failing", None),
    ("pytest && git commit -m done", 1, "nothing to commit", None),
    ("test -f setup.py && pytest", 1, "", None),
    ("grep -q pytest tox.ini && pytest", 1, "", None),
    ("[ -d node_modules ] || npm install", 0, "", None),
    ("make lint && make test && make build", 2, "make: *** Error 1", None),
    # background
    ("pytest &", 0, "[1] 4711", None),
    ("npm start &", 0, "[1] 4712", None),
    ("nohup make > log 2>&1 &", 0, "", None),
    ("(sleep 5; pytest) &", 0, "", None),
    ("npm run dev & sleep 3; curl -s localhost:3000", 7, "", None),
    # time limits and signals
    ("timeout 30 pytest -x", 124, "", None),
    ("timeout -s KILL 5 make", 137, "", None),
    ("gtimeout 10 npm test", 124, "", None),
    ("timeout 30 pytest -x", 1, "1 failed", False),
    ("npm run dev", 143, "", None),
    ("python server.py", 130, "^C", None),
    ("cargo test", 143, "Terminated", None),
    # words and statuses that disagree: the status decides
    ("cargo build", 0, "Compiling error-chain v0.12\nFinished", True),
    ("npm run build", 0, "ERROR in ./src/a.ts (ignored)\nbuilt", True),
    ("pytest -q", 0, "Process exited with code 1\n1 xfailed", True),
    ("make", 0, "make: [clean] Error 1 (ignored)", True),
    ("python -m unittest", 0, "FAILED (expected failures=1)\nOK", True),
    ("npm ci", 0, "npm ERR! retrying\nadded 3 packages", True),
    ("go vet ./...", 0, "panic: recovered", True),
    ("pytest -q", 1, "4 passed, all green", False),
    ("npm run lint", 1, "0 problems", False),
    ("make", 2, "", False),
    ("./build.sh", 1, "", False),
    ("tsc -p .", 2, "", False),
    ("mypy src", 2, "", False),
    ("cargo clippy", 101, "", False),
    ("python manage.py migrate", 1, "", False),
    ("pytest", 127, "bash: pytest: command not found", False),
    # quoting, comments, lines
    ("pytest # || true", 1, "1 failed", False),
    ('pytest -k "slow; or fast"', 1, "1 failed", False),
    ("pytest -k 'a | b'", 0, "2 passed", True),
    ("pytest 'tests/a && b.py'", 1, "1 failed", False),
    ("pytest -q \\\n  tests/a.py", 1, "1 failed", False),
    ("cd app\npytest -q", 1, "1 failed", False),
    ("cd app\nnpm test", 0, "ok", True),
    ("export CI=1; pytest", 1, "1 failed", False),
    ("export CI=1; pytest", 0, "ok", True),
    ("source .venv/bin/activate && pytest", 1, "1 failed", False),
    (". venv/bin/activate; pytest -q", 0, "ok", True),
    ("(cd web && npm test)", 1, "1 failing", False),
    ("(cd web && npm test)", 0, "ok", True),
    ('bash -c "pytest -q"', 1, "1 failed", False),
    # statuses that are kept
    ("set -o pipefail && cargo test 2>&1 | tail -20", 101, "FAILED", False),
    ("set -euo pipefail; pytest | tee log", 0, "4 passed", True),
    ("set -euo pipefail; pytest | tee log", 1, "1 failed", False),
    ("pytest || exit 1", 1, "1 failed", False),
    ("pytest; exit $?", 1, "1 failed", False),
    ("set -e; pytest; echo done", 0, "4 passed\ndone", True),
    ("pytest && git commit -m done", 0, "4 passed", True),
    ("npm run lint && npm test", 0, "ok", True),
    ("echo y | npm install", 0, "added 1 package", True),
    ("cat data.json | python script.py", 1, "ValueError", False),
    ("[ -d node_modules ] || npm install", 1, "npm ERR!", False),
    # wrappers
    ("env CI=1 pytest", 1, "1 failed", False),
    ("CI=1 FORCE_COLOR=0 npm test", 0, "ok", True),
    ("time make", 2, "make: *** Error 2", False),
    ("nice -n 10 make -j8", 0, "ok", True),
    ("sudo make install", 1, "", False),
    ("xvfb-run pytest", 1, "1 failed", False),
    ("npx jest --ci", 1, "1 failed", False),
    ("poetry run pytest", 0, "ok", True),
    ("uv run --frozen mypy src", 1, "a.py:1: error", False),
    ("python -m pytest", 1, "1 failed", False),
    ("coverage run -m pytest", 1, "1 failed", False),
    ("bundle exec rspec", 1, "1 failure", False),
    ("mvn -q test", 1, "BUILD FAILURE", False),
    ("./gradlew build", 0, "BUILD SUCCESSFUL", True),
    ("dotnet test", 1, "Failed!", False),
    ("pnpm -r test", 1, "ELIFECYCLE", False),
    ("docker compose run --rm app pytest", 1, "1 failed", False),
    ("docker exec app pytest -q", 0, "4 passed", True),
    ("just test", 1, "error: Recipe `test` failed", False),
    ("ctest --output-on-failure", 8, "", False),
    ("cmake --build build", 2, "", False),
    ("mix test", 2, "1 failure", False),
    ("php vendor/bin/phpunit", 1, "FAILURES!", False),
    ("pip install -r requirements.txt", 1, "No matching distribution", False),
    ("alembic upgrade head", 1, "Can't locate revision", False),
    ("pre-commit run -a", 1, "Failed", False),
    ("black --check .", 1, "would reformat a.py", False),
    ("terraform validate", 1, "Error", False),
    ("pytest > log 2>&1 || (cat log; false)", 1, "1 failed", False),
    ("tox -e py311", 0, "congratulations :)", True),
)

_SESSION = {"session_id": "s", "cwd": "/p"}


def _claude(line: str = "pytest -q", *, failed: str | None = None, **more: Any) -> Event | None:
    known = {**_SESSION, "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": line}}
    if failed is not None:
        return event_of({**known, "hook_event_name": "PostToolUseFailure", "error": failed, **more}, "claude-code")
    answer = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, **more}
    return event_of({**known, "hook_event_name": "PostToolUse", "tool_response": answer}, "claude-code")


def _last(host: str, records: list[dict[str, Any]]) -> Event | None:
    made = [event for event in events(host, records) if event.kind == TOOL and event.tool == SHELL]
    return made[-1] if made else None


def _claude_lines(
    content: Any, is_error: bool | None, whole: Any = None, *more: dict[str, Any], line: str = "pytest -q", **known: Any
) -> Event | None:
    base = {"sessionId": "s", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z", **known}
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": line}}
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": is_error, "content": content}
    asked = {**base, "type": "assistant", "uuid": "a", "message": {"id": "m", "content": [use]}}
    got = {**base, "type": "user", "uuid": "b", "message": {"content": [result]}}
    return _last("claude-code", [asked, {**got, "toolUseResult": whole} if whole is not None else got, *more])


def _codex(answer: Any, *more: dict[str, Any], line: str = "pytest -q") -> Event | None:
    call = {"type": "function_call", "name": "exec_command", "call_id": "k", "arguments": json.dumps({"cmd": line})}
    items = [call, {"type": "function_call_output", "call_id": "k", "output": answer}, *more]
    head = {"type": "session_meta", "payload": {"id": "c", "cwd": "/p"}}
    return _last("codex", [head, *({"type": "response_item", "payload": item} for item in items)])


def _codex_item(**item: Any) -> Event | None:
    head = {"type": "session_meta", "payload": {"id": "c", "cwd": "/p", "history_mode": "paginated"}}
    made = {"type": "item_completed", "item": {"id": "k", **item}}
    return _last("codex", [head, {"type": "event_msg", "ordinal": 3, "payload": made}])


def _codex_poll(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    call = {
        "type": "function_call",
        "name": "write_stdin",
        "call_id": "w",
        "arguments": json.dumps({"session_id": 7, "chars": ""}),
    }
    return call, {"type": "function_call_output", "call_id": "w", "output": text}


def _gemini(content: str, *, line: str = "npm test", **more: Any) -> Event | None:
    known = {**_SESSION, "hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": {"command": line}}
    return event_of({**known, "tool_response": {"llmContent": content, "returnDisplay": content, **more}}, "gemini")


def _gemini_lines(output: str, status: str = "success") -> Event | None:
    result = [{"functionResponse": {"response": {"output": output}}}]
    call = {"id": "r", "name": "run_shell_command", "args": {"command": "npm test"}, "status": status, "result": result}
    head = {"sessionId": "g", "projectHash": "ab", "kind": "main"}
    return _last("gemini", [head, {"id": "2", "type": "gemini", "toolCalls": [call]}])


def _copilot_lines(success: bool, line: str = "npm test", **data: Any) -> Event | None:
    start = {"toolCallId": "t", "toolName": "bash", "arguments": {"command": line}}
    kinds = (
        ("session.start", {"sessionId": "p", "context": {"cwd": "/p"}}),
        ("tool.execution_start", start),
        ("tool.execution_complete", {"toolCallId": "t", "success": success, **data}),
    )
    return _last("copilot", [{"type": kind, "data": each} for kind, each in kinds])


def _copilot(event: str, **data: Any) -> Event | None:
    known = {"sessionId": "p", "cwd": "/p", "toolName": "bash", "toolArgs": json.dumps({"command": "npm test"})}
    return event_of({**known, **data}, "copilot", event)


def _cursor(output: Any, name: str = "postToolUse", **more: Any) -> Event | None:
    known = {"conversation_id": "c", "cursor_version": "3.1", "workspace_roots": ["/p"], "tool_name": "Shell", "tool_use_id": "t"}
    said = {} if output is None else {"tool_output": output}
    return event_of({**known, "hook_event_name": name, "tool_input": {"command": "npm test"}, **said, **more}, "cursor")


def _openhands(code: Any, is_error: bool = False) -> Event | None:
    answer = {"command": "pytest", "exit_code": code, "is_error": is_error}
    known = {"session_id": "o", "working_dir": "/p", "tool_name": "terminal", "tool_input": {"command": "pytest"}}
    return event_of({**known, "event_type": "PostToolUse", "tool_response": answer}, "openhands")


def _openhands_lines(code: Any, *more: dict[str, Any]) -> Event | None:
    act = {"id": "e2", "kind": "ActionEvent", "tool_name": "terminal", "tool_call_id": "t1", "action": {"command": "pytest"}}
    seen = {"command": "pytest", "exit_code": code, "is_error": False, "content": [{"type": "text", "text": "1 failed"}]}
    got = {"kind": "ObservationEvent", "tool_name": "terminal", "tool_call_id": "t1", "action_id": "e2", "observation": seen}
    return _last("openhands", [act, *more] if more else [act, got])


_REFUSAL = "The user doesn't want to proceed with this tool use. The tool use was rejected."
_STARTED = "Wall time: 10 seconds\nProcess running with session ID 7\nOutput:\n"
_NOTE = '<task-notification>\n<task-id>b1</task-id>\n<status>{}</status>\n<summary>Background command "pytest" {} (exit code {})</summary>'


def _background(status: str, code: int) -> Event | None:
    said = {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": _NOTE.format(status, status, code)}
    return _claude_lines("Command running in background with ID: b1", False, {"backgroundTaskId": "b1"}, said)


def records() -> Iterator[tuple[str, Event | None, Label]]:
    """Name, event and label of each record."""
    yield "claude hook: exit 1", _claude(failed="Exit code 1\n1 failed"), False
    yield "claude hook: exit 1, no words", _claude(failed="Exit code 1"), False
    yield "claude hook: interrupt", _claude(failed="Exit code 1\n[Request interrupted by user]", is_interrupt=True), None
    yield "claude hook: time limit", _claude(failed="Command timed out after 2m 0.0s\nrunning tests"), None
    yield "claude hook: SIGTERM", _claude(failed="Exit code 143\nTerminated"), None
    yield "claude hook: killed", _claude(failed="Exit code 137"), None
    yield "claude hook: no status", _claude(failed="spawn /bin/zsh ENOENT"), None
    yield "claude hook: status inside output", _claude(failed="Shell died\nExit code 1"), None
    yield "claude hook: interrupted success", _claude(interrupted=True), None
    yield "claude hook: background", _claude(backgroundTaskId="b1"), None
    yield "claude hook: printed status", _claude(stdout="Exit code 1\n4 passed"), True
    yield "claude hook: words on stderr", _claude(stderr="error: deprecated\nFAILED to warn"), True
    yield "claude hook: no match", _claude("grep -rn x src", returnCodeInterpretation="No matches found"), None
    yield "claude lines: exit 1", _claude_lines("Exit code 1\n1 failed", True, "Error: Exit code 1\n1 failed"), False
    yield (
        "claude lines: exit 2, list",
        _claude_lines([{"type": "text", "text": "Exit code 2\nERROR"}], True, "Error: Exit code 2"),
        False,
    )
    yield "claude lines: refusal", _claude_lines(_REFUSAL, True, "User rejected tool use"), None
    yield (
        "claude lines: refusal with a reason",
        _claude_lines(
            f"{_REFUSAL} To tell you how to proceed, the user said:\nExit code 1 is fine", True, "User rejected tool use"
        ),
        None,
    )
    yield (
        "claude lines: wrong arguments",
        _claude_lines("<tool_use_error>InputValidationError: command</tool_use_error>", True, "InputValidationError"),
        None,
    )
    yield (
        "claude lines: hook block",
        _claude_lines("PreToolUse:Bash hook error: [guard]: Exit code 2 blocked", True, "Error: blocked"),
        None,
    )
    yield (
        "claude lines: denied",
        _claude_lines("Permission to use Bash with command pytest has been denied.", True, "Error: denied"),
        None,
    )
    yield (
        "claude lines: time limit",
        _claude_lines("Command timed out after 2m 0.0s", True, "Error: Command timed out after 2m 0.0s"),
        None,
    )
    yield "claude lines: interrupt", _claude_lines("[Request interrupted by user for tool use]", True, "Error: interrupted"), None
    yield "claude lines: exit 130", _claude_lines("Exit code 130\n^C", True, "Error: Exit code 130"), None
    yield "claude lines: interrupted", _claude_lines("", False, {"stdout": "", "stderr": "", "interrupted": True}), None
    yield (
        "claude lines: background",
        _claude_lines("Command running in background with ID: b1", False, {"backgroundTaskId": "b1"}),
        None,
    )
    yield "claude lines: background, failed later", _background("failed", 1), False
    yield "claude lines: background, passed later", _background("completed", 0), True
    yield "claude lines: background, killed", _background("killed", 143), None
    yield "claude lines: subagent failed", _claude_lines("Exit code 1\n1 failed", True, isSidechain=True, agentId="x7"), False
    yield "claude lines: subagent passed", _claude_lines("FAILED is a word", False, isSidechain=True, agentId="x7"), True
    yield (
        "claude lines: printed status",
        _claude_lines("Exit code 1", False, {"stdout": "Exit code 1", "stderr": "", "interrupted": False}),
        True,
    )
    yield "codex: failed", _codex("Wall time: 1.2 seconds\nProcess exited with code 1\nOutput:\n1 failed"), False
    yield (
        "codex: chunk",
        _codex("Chunk ID: ab12\nWall time: 1.2 seconds\nProcess exited with code 2\nOriginal token count: 9\nOutput:\nx"),
        False,
    )
    yield (
        "codex: printed status",
        _codex("Wall time: 1 seconds\nProcess exited with code 0\nOutput:\nProcess exited with code 1"),
        True,
    )
    yield "codex: printed status, older", _codex("Exit code: 0\nWall time: 1 seconds\nOutput:\nExit code: 1\n1 failed"), True
    yield "codex: older", _codex("Exit code: 1\nWall time: 1 seconds\nOutput:\n"), False
    yield (
        "codex: running",
        _codex("Wall time: 10 seconds\nProcess running with session ID 7\nOutput:\nProcess exited with code 1"),
        None,
    )
    yield "codex: no header", _codex("docs say: Process exited with code 1"), None
    yield "codex: rejected", _codex("exec command rejected by user"), None
    yield "codex: aborted", _codex("aborted by user after 3.2s"), None
    yield (
        "codex: time limit",
        _codex(json.dumps({"output": "command timed out after 10000 milliseconds", "metadata": {"exit_code": 124}})),
        None,
    )
    yield "codex: JSON passed", _codex(json.dumps({"output": "FAILED", "metadata": {"exit_code": 0}})), True
    yield "codex: JSON failed", _codex(json.dumps({"output": "", "metadata": {"exit_code": 1}})), False
    yield "codex: JSON printed", _codex('{"exit_code": 1}'), None
    yield (
        "codex: list",
        _codex([{"type": "input_text", "text": "Wall time: 1 seconds\nProcess exited with code 1\nOutput:\n"}]),
        False,
    )
    yield "codex: poll failed", _codex(
        _STARTED, *_codex_poll("Wall time: 2 seconds\nProcess exited with code 1\nOutput:\n")
    ), False  # fmt: skip
    yield "codex: poll running", _codex(
        _STARTED, *_codex_poll("Wall time: 2 seconds\nProcess running with session ID 7\nOutput:\n")
    ), None  # fmt: skip
    yield "codex item: failed", _codex_item(type="CommandExecution", command=["make"], exit_code=2), False
    yield "codex item: camel case", _codex_item(type="commandExecution", command="make", exitCode=0), True
    yield "codex item: declined", _codex_item(type="commandExecution", command="make", exitCode=None, status="declined"), None
    yield "gemini: failed", _gemini("1 failing\nExit Code: 1"), False
    yield (
        "gemini: long form",
        _gemini(
            "Command: npm test\nDirectory: (root)\nOutput: 1 failing\nError: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: 7"
        ),
        False,
    )
    yield "gemini: passed", _gemini("Output: 0 failing, error count 0"), True
    yield "gemini: group after", _gemini("1 failing\nExit Code: 1\nProcess Group PGID: 77"), False
    yield (
        "gemini: cancelled",
        _gemini(
            "Command was cancelled by user before it could complete. Below is the output before it was cancelled:\n1 failing"
        ),
        None,
    )
    yield (
        "gemini: time limit",
        _gemini("Command was automatically cancelled because it exceeded the timeout of 5.0 minutes without output."),
        None,
    )
    yield (
        "gemini: spawn",
        _gemini("spawn bash ENOENT", error={"message": "spawn bash ENOENT", "type": "shell_execute_error"}),
        None,
    )
    yield "gemini: background", _gemini("Command moved to background (PID: 99). Output hidden. Press Ctrl+B to view."), None
    yield "gemini: signal", _gemini("Output: \nExit Code: 143\nSignal: 15"), None
    yield "gemini lines: cancelled", _gemini_lines("", "cancelled"), None
    yield "gemini lines: error", _gemini_lines("Error: tool not found", "error"), None
    yield "gemini lines: failed", _gemini_lines("\nExit Code: 2"), False
    yield "copilot lines: failed", _copilot_lines(True, result={"content": "1 failing\n<exited with exit code 1>"}), False
    yield (
        "copilot lines: printed",
        _copilot_lines(True, result={"content": "<exited with exit code 1>\n<exited with exit code 0>"}),
        True,
    )
    yield "copilot lines: denied", _copilot_lines(False, error={"message": "denied"}), None
    yield (
        "copilot lines: running",
        _copilot_lines(True, result={"content": "<command with id 3 is still running after 30 seconds>"}),
        None,
    )
    yield (
        "copilot hook: failed",
        _copilot("postToolUse", toolResult={"resultType": "success", "textResultForLlm": "x\n<exited with exit code 1>"}),
        False,
    )
    yield (
        "copilot hook: passed",
        _copilot("postToolUse", toolResult={"resultType": "success", "textResultForLlm": "error\n<exited with exit code 0>"}),
        True,
    )
    yield "copilot hook: denied", _copilot("postToolUse", toolResult={"resultType": "denied", "textResultForLlm": "denied"}), None
    yield "copilot hook: failure without status", _copilot("postToolUseFailure", error="permission denied by policy"), None
    yield "cursor: failed", _cursor(json.dumps({"output": "", "exitCode": 1})), False
    yield "cursor: words", _cursor(json.dumps({"output": "FAIL error", "exitCode": 0})), True
    yield "cursor: no status", _cursor(json.dumps({"output": "x", "exitCode": None})), None
    yield "cursor: true is no status", _cursor(json.dumps({"output": "x", "exitCode": True})), None
    yield "cursor: text", _cursor("exitCode: 1"), None
    yield "cursor: time limit", _cursor(None, "postToolUseFailure", error_message="timed out", failure_type="timeout"), None
    yield "cursor: denied", _cursor(None, "postToolUseFailure", error_message="denied", failure_type="permission_denied"), None
    yield "cursor: killed", _cursor(json.dumps({"output": "", "exitCode": 137})), None
    yield "openhands: failed", _openhands(1), False
    yield "openhands: passed", _openhands(0), True
    yield "openhands: running", _openhands(-1), None
    yield "openhands: not run", _openhands(None, True), None
    yield "openhands: interrupted", _openhands(130), None
    yield "openhands lines: failed", _openhands_lines(2), False
    yield "openhands lines: running", _openhands_lines(-1), None
    yield (
        "openhands lines: bad call",
        _openhands_lines(0, {"kind": "AgentErrorEvent", "tool_call_id": "t1", "error": "bad arguments"}),
        None,
    )
    yield (
        "openhands lines: rejected",
        _openhands_lines(0, {"kind": "UserRejectObservation", "tool_call_id": "t1", "action_id": "e2"}),
        None,
    )


def _verdict(event: Event | None) -> Label:
    if event is None or event.ok is None or event.tool != SHELL:
        return None
    return event.ok if shell.judged(event.command, event.ok, "/p") is not None else None


def verdicts(formats: Sequence[Written]) -> Iterator[tuple[str, Label, Label]]:
    """Yields what was read, its label and the verdict, of every line and record. Lines are written in the formats in turn."""
    for number, (line, code, output, label) in enumerate(LINES):
        written = formats[number % len(formats)]
        yield f"{written.__name__.strip('_')}: {line!r} -> {code}", label, _verdict(written(line, code, output))
    for name, event, label in records():
        yield name, label, _verdict(event)


# One step of a session: "+" passed, "-" failed, "?" no verdict; "e FILE" edits, "E FILE" fails to edit, "r FILE" takes the last edit of it back.
SEQUENCES: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("repaired", ("- pytest", "e a.py", "+ pytest"), 1),
    ("flaky: nothing changed", ("- pytest", "+ pytest"), 0),
    ("flaky: only looked", ("- pytest", "+ cat a.py", "+ git diff", "+ pytest"), 0),
    ("other arguments", ("- pytest tests/a.py", "e a.py", "+ pytest tests/b.py"), 0),
    ("fewer tests", ("- pytest", "e a.py", "+ pytest -k fast"), 0),
    ("stopped early", ("- pytest", "e a.py", "+ pytest --lf"), 0),
    ("edit taken back, then it passes", ("- pytest", "e a.py", "r a.py", "+ pytest"), 0),
    ("edit failed", ("- pytest", "E a.py", "+ pytest"), 0),
    ("pipe in between", ("- pytest", "e a.py", "+ pytest | tail", "- pytest", "e b.py", "+ pytest"), 1),
    ("interrupt in between", ("- pytest", "e a.py", "? pytest", "+ pytest"), 1),
    ("only a swallowed pass", ("- pytest", "e a.py", "+ pytest || true"), 0),
    ("only an unknown end", ("- pytest", "e a.py", "? pytest"), 0),
    ("install", ("- python app.py", "+ pip install flask", "+ python app.py"), 1),
    ("failed install", ("- python app.py", "- pip install flask", "+ python app.py"), 0),
    ("edit after the pass", ("- pytest", "+ pytest", "e a.py"), 0),
    ("two of two", ("- pytest", "- mypy src", "e a.py", "+ pytest", "e b.py", "+ mypy src"), 2),
    ("in another folder", ("- cd a && pytest", "e a.py", "+ cd b && pytest"), 0),
    ("other environment", ("- tox -e py311", "e a.py", "+ tox -e py312"), 0),
    ("dry run", ("- make", "e Makefile", "+ make -n"), 0),
    ("weaker flags", ("- mypy src", "e a.py", "+ mypy src --ignore-missing-imports"), 0),
    ("wrapped", ("- uv run pytest -q", "e a.py", "+ timeout 90 uv run pytest"), 1),
    ("never failed", ("+ pytest", "e a.py", "+ pytest"), 0),
    ("failed again", ("- pytest", "e a.py", "- pytest"), 0),
    ("second try", ("- pytest", "e a.py", "- pytest", "e b.py", "+ pytest"), 1),
    ("search fails", ("- grep -rn x src", "e a.py", "+ grep -rn x src"), 0),
    ("background", ("- npm test", "e a.js", "+ npm test &"), 0),
)


def _session(steps: tuple[str, ...]) -> list[Event]:
    made: list[Event] = []
    for number, step in enumerate(steps):
        sign, _, what = step.partition(" ")
        known: dict[str, Any] = {"cwd": "/p", "call": str(number)}
        if sign in "+-?":
            made.append(
                Event(TOOL, "codex", "s", tool="shell", command=what, ok={"+": True, "-": False, "?": None}[sign], **known)
            )
        else:
            old, new = ("x = 1", "x = 2") if sign != "r" else ("x = 2", "x = 1")
            made.append(Event(TOOL, "codex", "s", tool="edit", path=f"/p/{what}", old=old, new=new, ok=sign != "E", **known))
    return made


def sequences() -> Iterator[tuple[str, int, int]]:
    """The name of each session, the repairs in it, and those found."""
    for name, steps, there in SEQUENCES:
        yield name, there, sum(one.passed and bool(one.strategy) for one in attempts(_session(steps), root="/p"))


# Errors as they come, and as another version, tool, shell or runner words them. Families at even places are for tuning, odd ones for judging.
REWORDED: tuple[tuple[str, ...], ...] = (
    (
        "bash: {}: command not found",
        "zsh: command not found: {}",
        "/bin/sh: 1: {}: not found",
        "'{}' is not recognized as an internal or external command",
    ),
    (
        "error: failed to resolve: use of undeclared crate or module `{}`",
        "error[E0433]: failed to resolve: use of unresolved module or unlinked crate `{}`",
    ),
    (
        'psycopg2.OperationalError: FATAL:  database "{}" does not exist',
        'psycopg.OperationalError: connection failed: FATAL: database "{}" does not exist',
    ),
    (
        'npm ERR! Missing script: "{}"',
        'npm error Missing script: "{}"',
        "ERR_PNPM_NO_SCRIPT  Missing script: {}",
        'error Command "{}" not found.',
    ),
    (
        "TypeError: {}() got an unexpected keyword argument 'tax'",
        "E   TypeError: Cart.{}() got an unexpected keyword argument 'tax'",
    ),
    (
        'cannot find package "{}" in any of:',
        "main.go:3:8: package {} is not in std (/usr/local/go/src/{})",
        "no required module provides package {}; to add it:",
    ),
    (
        "PermissionError: [Errno 13] Permission denied: '/var/{}.sock'",
        "OSError: [Errno 13] Permission denied: '/srv/run/{}.sock'",
        "open /var/{}.sock: permission denied",
    ),
    (
        "ImportError: cannot import name '{}' from 'shop.core' (/a/shop/core.py)",
        "ImportError: cannot import name '{}' from partially initialized module 'shop.core' (most likely due to a circular import)",
    ),
    ("jinja2.exceptions.TemplateNotFound: {}.html", "TemplateNotFound: {}.html", "TemplateDoesNotExist: {}.html"),
    (
        "make: *** No rule to make target '{}'.  Stop.",
        "gmake: *** No rule to make target `{}'. Stop.",
        "make: *** No rule to make target '{}', needed by 'all'.  Stop.",
    ),
    ("environment variable {}_KEY is not set", "KeyError: '{}_KEY'", "Error: Missing required environment variable: {}_KEY"),
    (
        "UndefinedError: '{}' is undefined",
        "jinja2.exceptions.UndefinedError: '{}' is undefined",
        "ReferenceError: {} is not defined",
    ),
    (
        "Property '{}' does not exist on type 'Cart'.",
        "error TS2339: Property '{}' does not exist on type 'Cart'.",
        "TS2551: Property '{}' does not exist on type 'Cart'. Did you mean 'x'?",
    ),
    (
        'relation "{}" does not exist',
        'psycopg2.errors.UndefinedTable: relation "{}" does not exist',
        'ERROR:  relation "{}" does not exist at character 15',
    ),
    (
        "error: package `{} v1.2.0` cannot be built because it requires rustc 1.80",
        "error: rustc 1.75.0 is not supported by the following package: {}@1.2.0 requires rustc 1.80",
    ),
    (
        "ERROR: Could not find a version that satisfies the requirement {}",
        "ERROR: No matching distribution found for {}",
        "  x No solution found: Because {} was not found in the package registry",
    ),
    (
        "django.core.exceptions.ImproperlyConfigured: The {} setting must not be empty.",
        "ImproperlyConfigured: The {} setting must not be empty",
    ),
    (
        "fatal error: {}.h: No such file or directory",
        "a.c:1:10: fatal error: '{}.h' file not found",
        "a.cpp(3): fatal error C1083: Cannot open include file: '{}.h'",
    ),
    (
        "collect2: error: ld returned 1 exit status: undefined reference to `{}'",
        "ld: symbol(s) not found: undefined reference to '{}'",
        'Undefined symbols for architecture arm64: "_{}"',
    ),
    (
        "Error: Cannot find module './{}.js'",
        "Error: Cannot find module './{}.js'\nRequire stack:\n- /app/i.js",
        "Module not found: Error: Can't resolve './{}.js' in '/app/src'",
    ),
)
NAMES = ("ledger", "voucher", "parcel", "tariff", "roster", "docket", "beacon", "anvil")


def reworded(half: int) -> tuple[int, int, int, int, dict[str, tuple[int, int]]]:
    """Of the families of one half: failures answered rightly, reworded ones, wrong answers, all asked; the first two by family.

    Each family is learned with every name but the last; the last one is asked as a failure that never happened.
    """
    from alma_agents import index
    from alma_agents.signatures import error_of, words_of

    fixes = []
    for number, family in enumerate(REWORDED):
        for name in NAMES[:-1]:
            words = words_of(error_of(family[0].replace("{}", name)))
            fixes.append({"command": "run all", "strategy": f"fix {number} {name}", "words": words})
    content = {"fixes": fixes}
    right = wrong = there = asked = 0
    by_family: dict[str, tuple[int, int]] = {}
    for number, family in enumerate(REWORDED):
        if number % 2 != half:
            continue
        before = right, there
        for wording in family[1:]:
            for name in NAMES:
                found = index.fix_for(content, error_of(wording.replace("{}", name)), "run other")
                is_right = found is not None and found["strategy"] == f"fix {number} {name}"
                asked += 1
                there += name != NAMES[-1]
                right += is_right
                wrong += found is not None and not is_right
        by_family[family[0]] = (right - before[0], there - before[1])
    return right, there, wrong, asked, by_family
