"""Whether hooks and transcripts of coding agents are read right: `python -m benchmarks.coding_agents [--json OUT] [--show]`.

1. **Verdicts.** Each of the `LINES` is a command line with an exit code and a label: what that says about the command that the line is about, or that
   it says nothing. Each is written in the formats of six hosts, hooks and transcripts.
2. **Pairs.** Sessions made from a seed: failures, repairs, and what only looks like one (another target, a pipe, an interrupt, a dry run).
3. **History.** Failures are repaired and learned into a real store; then failures come back with other paths and numbers, a quarter of them in the
   words of another version or tool. Beside them are failures that never happened before and differ by a name.

One author wrote the lines, the sessions, the wordings and the rules: expect less on data from elsewhere, of the reworded failures above all.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from alma import ALMA
from alma_agents import index, shell
from alma_agents.attempts import attempts
from alma_agents.events import TOOL, Event
from alma_agents.hosts import event_of
from alma_agents.learning import learned, rebuild
from alma_agents.signatures import error_of
from alma_agents.transcripts import events
from benchmarks import coding_agents_hard, gates
from benchmarks.gates import Gate
from benchmarks.screen import wide_console

Label = bool | None
LINES: tuple[tuple[str, int, str, Label], ...] = (
    ("pytest -q", 0, "4 passed", True),
    ("pytest -q", 1, "FAILED a.py::t - KeyError: 'x'", False),
    ("pytest -q", 2, "ERROR collecting a.py", False),
    ("pytest -q", 0, "error handling: 3 passed, 0 failed", True),
    ("pytest tests/a.py 2>&1", 1, "1 failed", False),
    ("pytest -q", 130, "KeyboardInterrupt", None),
    ("pytest -q", 137, "Killed", None),
    ("timeout 60 pytest", 124, "", None),
    ("pytest | tail -3", 0, "3 failed", None),
    ("pytest 2>&1 | tee log.txt", 0, "3 failed", None),
    ("pytest || true", 0, "3 failed", None),
    ("pytest; echo done", 0, "3 failed\ndone", None),
    ("pytest > log.txt; tail log.txt", 0, "3 failed", None),
    ("! pytest", 0, "3 failed", None),
    ("cd app && uv run pytest", 1, "1 failed", False),
    ("cd app && uv run pytest", 0, "no errors", True),
    ("npm test", 0, "0 failing", True),
    ("npm test", 1, "1 failing", False),
    ("npm run build", 0, "warning: error overlay disabled", True),
    ("npm run lint && npm test", 1, "1 problem", None),
    ("cargo build", 101, "error[E0432]: unresolved import `serde`", False),
    ("go test ./...", 1, "FAIL shop", False),
    ("make", 2, "make: *** [all] Error 1", False),
    ("make -j4", 0, "cc -Werror a.c", True),
    ("mypy src", 1, "a.py:3: error: x", False),
    ("ruff check .", 0, "All checks passed!", True),
    ("grep -r error src", 0, "src/a.py: error", None),
    ("grep -r error src", 1, "", None),
    ("rg 'fatal' logs", 2, "rg: logs: No such file", None),
    ("diff a b", 1, "< x", None),
    ("test -f a", 1, "", None),
    ("git diff --exit-code", 1, "-x", None),
    ("cat missing", 1, "cat: missing: No such file", None),
    ("ls", 0, "error.log", None),
    ("curl -f localhost:1", 7, "curl: (7) Failed to connect", None),
    ("echo error", 0, "error", None),
)


def _said(code: int, output: str) -> str:
    return f"Exit code {code}\n{output}"


def _claude_hook(line: str, code: int, output: str) -> Event | None:
    known = {"session_id": "s", "cwd": "/p", "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": line}}
    if code:
        return event_of({**known, "hook_event_name": "PostToolUseFailure", "error": _said(code, output)}, "claude-code")
    response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return event_of({**known, "hook_event_name": "PostToolUse", "tool_response": response}, "claude-code")


def _cursor_hook(line: str, code: int, output: str) -> Event | None:
    answer = json.dumps({"output": output, "exitCode": code})
    known = {"conversation_id": "c", "cursor_version": "3.1", "workspace_roots": ["/p"], "tool_name": "Shell", "tool_use_id": "t"}
    return event_of({**known, "hook_event_name": "postToolUse", "tool_input": {"command": line}, "tool_output": answer}, "cursor")


def _gemini_output(code: int, output: str) -> str:
    return f"{output}\nExit Code: {code}" if code else output


def _gemini_hook(line: str, code: int, output: str) -> Event | None:
    answer = {"llmContent": _gemini_output(code, output), "returnDisplay": output}
    known = {"session_id": "g", "cwd": "/p", "tool_name": "run_shell_command", "tool_input": {"command": line}}
    return event_of({**known, "hook_event_name": "AfterTool", "tool_response": answer}, "gemini")


def _openhands_hook(line: str, code: int, output: str) -> Event | None:
    answer = {"command": line, "exit_code": code, "is_error": False}
    known = {"session_id": "o", "working_dir": "/p", "tool_name": "terminal", "tool_input": {"command": line}}
    return event_of({**known, "event_type": "PostToolUse", "tool_response": answer}, "openhands")


def _last(host: str, records: list[dict[str, Any]]) -> Event | None:
    return next((event for event in reversed(list(events(host, records))) if event.kind == TOOL), None)


def _claude_transcript(line: str, code: int, output: str) -> Event | None:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": line}}
    text = _said(code, output) if code else output
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": bool(code), "content": text}
    whole: Any = f"Error: {text}" if code else {"stdout": output, "stderr": "", "interrupted": False}
    known = {"sessionId": "s", "cwd": "/p", "timestamp": "2026-01-01T00:00:00Z"}
    asked = {**known, "type": "assistant", "uuid": "a", "message": {"id": "m", "content": [use]}}
    return _last("claude-code", [asked, {**known, "type": "user", "message": {"content": [result]}, "toolUseResult": whole}])


def _codex(call: dict[str, Any], answer: str) -> Event | None:
    made = {"type": "function_call_output", "call_id": "k", "output": answer}
    lines = [{"id": "c", "cwd": "/p"}, {"type": "function_call", "call_id": "k", **call}, made]
    kinds = ("session_meta", "response_item", "response_item")
    return _last("codex", [{"type": kind, "payload": payload} for kind, payload in zip(kinds, lines, strict=True)])


def _codex_header(line: str, code: int, output: str) -> Event | None:
    call = {"name": "exec_command", "arguments": json.dumps({"cmd": line})}
    return _codex(call, f"Wall time: 1.2000 seconds\nProcess exited with code {code}\nOutput:\n{output}")


def _codex_json(line: str, code: int, output: str) -> Event | None:
    call = {"name": "shell", "arguments": json.dumps({"command": ["bash", "-lc", line]})}
    return _codex(call, json.dumps({"output": output, "metadata": {"exit_code": code}}))


def _gemini_transcript(line: str, code: int, output: str) -> Event | None:
    result = [{"functionResponse": {"response": {"output": _gemini_output(code, output)}}}]
    call = {"id": "r", "name": "run_shell_command", "args": {"command": line}, "status": "success", "result": result}
    head = {"sessionId": "g", "projectHash": "ab", "kind": "main"}
    return _last("gemini", [head, {"id": "2", "type": "gemini", "toolCalls": [call]}])


def _copilot_transcript(line: str, code: int, output: str) -> Event | None:
    result = {"content": f"{output}\n<exited with exit code {code}>"}
    start = {"toolCallId": "t", "toolName": "bash", "arguments": {"command": line}}
    end = {"toolCallId": "t", "success": True, "result": result}
    kinds = (("session.start", {"sessionId": "p"}), ("tool.execution_start", start), ("tool.execution_complete", end))
    return _last("copilot", [{"type": kind, "data": data} for kind, data in kinds])


FORMATS = (
    *(_claude_hook, _cursor_hook, _gemini_hook, _openhands_hook),
    *(_claude_transcript, _codex_header, _codex_json, _gemini_transcript, _copilot_transcript),
)


def verdicts() -> Iterator[tuple[str, str, Label, Label]]:
    """The format, the line, its label and the verdict, of every line in every format."""
    for written in FORMATS:
        for line, code, output, label in LINES:
            event = written(line, code, output)
            ok = event.ok if event else None
            is_judged = event is not None and ok is not None and shell.judged(event.command, ok, "/p") is not None
            yield written.__name__.strip("_"), f"{line} -> {code}", label, ok if is_judged else None


COMMANDS = (
    "pytest tests/{}.py",
    "npm test -- {}.spec.js",
    "mypy src/{}.py",
    "go test ./{}",
    "python tools/{}.py",
    "cargo test -p {}",
)
WEAKER = ("{} | tail -5", "{} || true", "{}; echo done", "{} --help")
NAMES = ("cart", "order", "stock", "price", "invoice", "login", "mail", "search", "report", "tax")


def session(chance: random.Random, number: int) -> tuple[list[Event], set[tuple[str, str]]]:
    """A session, and its true pairs: a failing command with the file whose edit repaired it."""
    made: list[Event] = []
    true = set()

    def ran(line: str, ok: Label, output: str = "") -> None:
        made.append(
            Event(
                *(TOOL, "codex", f"s{number}"),
                cwd="/p",
                tool="shell",
                call=f"{number}-{len(made)}",
                command=line,
                ok=ok,
                output=output,
            )
        )

    def edited(path: str) -> None:
        made.append(
            Event(TOOL, "codex", f"s{number}", cwd="/p", tool="edit", path=f"/p/{path}", old="a", new=f"b{len(made)}", ok=True)
        )

    for name in chance.sample(NAMES, 4):
        line, file = chance.choice(COMMANDS).format(name), f"src/{name}.py"
        ran(line, False, f"NameError: name '{name}_{number}' is not defined")
        ran(f"grep -r {name} src", True)
        if chance.random() < 0.5:
            ran(line, None, "interrupted")
        if chance.random() < 0.5:
            ran(chance.choice(WEAKER).format(line), True)
        if chance.random() < 0.3:
            ran(chance.choice(COMMANDS).format(f"other_{name}"), True)
        if chance.random() < 0.3:
            continue  # given up
        edited(file)
        ran(chance.choice(("{}", "cd /p && {}", "{} 2>&1", "timeout 90 {}")).format(line), True)
        true.add((line, file))
    return made, true


def pairs(seed: int, sessions: int = 100) -> tuple[int, int, int]:
    """How many pairs were found, were right, and were there."""
    chance = random.Random(seed)
    found = right = there = 0
    for number in range(sessions):
        made, true = session(chance, number)
        repaired = [one for one in attempts(made, root="/p") if one.passed and one.strategy]
        found += len(repaired)
        right += sum(any(one.command == line and f"edit {file}" in one.strategy for line, file in true) for one in repaired)
        there += len(true)
    return found, right, there


FAMILIES = (
    (
        "ModuleNotFoundError: No module named '{}'",
        "ImportError: No module named {}",
        "E   ModuleNotFoundError: No module named '{}'",
    ),
    ("AttributeError: 'Shop' object has no attribute '{}'", "AttributeError: type object 'Shop' has no attribute '{}'"),
    ("sqlite3.OperationalError: no such table: {}", "OperationalError: (sqlite3.OperationalError) no such table: {}"),
    ("error: cannot find symbol `{}`", "error[E0425]: cannot find value `{}` in this scope"),
    ("Error: Cannot find module '{}'", "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '{}' imported from /app/i.js"),
    ("TS2304: error TS2304: Cannot find name '{}'.", "error TS2552: Cannot find name '{}'. Did you mean another?"),
    ("fixture '{}' not found", "E       fixture '{}' not found"),
    ("KeyError: '{}'", "E   KeyError: '{}'"),
    ("undefined: {}_service", "./main.go:7:2: undefined: {}_service"),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/p/{}.toml'",
        "IOError: No such file or directory: '/q/r/{}.toml'",
    ),
)


def history(folder: Path, seed: int) -> tuple[int, int, int, int, int]:
    """Of failures that come back: how many, and answered rightly; the same of the reworded ones; wrong answers of all, new ones too."""
    chance = random.Random(seed)
    known = [(family, name) for family in range(len(FAMILIES)) for name in NAMES]
    (folder / "config.yaml").write_text(
        "alma: {project_id: shop, storage_dir: memory, embedding_provider: hash}\n", encoding="utf-8"
    )
    with ALMA.from_config(folder / "config.yaml") as alma:
        for number, (family, name) in enumerate(known):
            made = [
                Event(
                    TOOL,
                    "codex",
                    f"h{number}",
                    tool="shell",
                    call="1",
                    command="pytest",
                    ok=False,
                    output=FAMILIES[family][0].format(name),
                ),
                Event(
                    TOOL, "codex", f"h{number}", tool="edit", call="2", path=f"fix_{family}_{name}.py", old="a", new="b", ok=True
                ),
                Event(TOOL, "codex", f"h{number}", tool="shell", call="3", command="pytest", ok=True),
            ]
            learned(alma, attempts(made))
        rebuild(alma, str(folder / "agents"))
    content = index.load(str(folder / "agents"))
    right = reworded = reworded_right = wrong = 0
    for number in range(200):
        family, name = chance.choice(known)
        is_reworded = number % 4 == 0
        text = chance.choice(FAMILIES[family][1:]) if is_reworded else FAMILIES[family][0]
        fix = index.fix_for(content, error_of(f"line {number}\n{text.format(name)}"), "pytest tests")
        is_right = fix is not None and f"fix_{family}_{name}.py" in fix["strategy"]
        right += is_right
        reworded += is_reworded
        reworded_right += is_reworded and is_right
        wrong += fix is not None and not is_right
    for number in range(100):
        text = chance.choice(FAMILIES[number % len(FAMILIES)])
        wrong += index.fix_for(content, error_of(text.format(f"unseen{chance.choice('abcdef')}")), "pytest tests") is not None
    return right, 200, reworded_right, reworded, wrong


def figures(seed: int, folder: Path, *, show: bool = False) -> list[Gate]:
    """All figures with their limits."""
    rows = list(verdicts())
    given = [row for row in rows if row[3] is not None]
    judged = [row for row in rows if row[2] is not None]
    if show:
        print("\n".join(str(row) for row in rows if row[2] is not row[3]))
    found, right, there = pairs(seed)
    hard = list(coding_agents_hard.verdicts(FORMATS))
    hard_given = [row for row in hard if row[2] is not None]
    hard_judged = [row for row in hard if row[1] is not None]
    sequences = list(coding_agents_hard.sequences())
    if show:
        print("\n".join(str(row) for row in (*hard, *sequences) if row[1] is not row[2] and row[1] != row[2]))
    judged_right, judged_there, judged_wrong, judged_asked, _ = coding_agents_hard.reworded(1)
    back_right, back, reworded_right, reworded, wrong = history(folder, seed)
    return [
        Gate("labelled events", len(rows), "events", 300, more_is_better=True),
        Gate("verdicts: precision", sum(row[2] is row[3] for row in given) / len(given), "", 0.98, more_is_better=True),
        Gate("verdicts: recall", sum(row[2] is row[3] for row in judged) / len(judged), "", more_is_better=True),
        Gate("hard set: events", len(hard), "events", 150, more_is_better=True),
        Gate("hard set: precision", sum(row[1] is row[2] for row in hard_given) / len(hard_given), "", 0.98, more_is_better=True),
        Gate("hard set: recall", sum(row[1] is row[2] for row in hard_judged) / len(hard_judged), "", more_is_better=True),
        Gate(
            "hard set: sessions read right",
            sum(row[1] == row[2] for row in sequences) / len(sequences),
            "",
            0.95,
            more_is_better=True,
        ),
        Gate("fail-fix pairs: precision", right / max(found, 1), "", 0.95, more_is_better=True),
        Gate("fail-fix pairs: recall", right / there, "", more_is_better=True),
        Gate("failures that come back: right fix", back_right / back, "", 0.8, more_is_better=True),
        Gate("the same, reworded", reworded_right / reworded, "", more_is_better=True),
        Gate("reworded by other tools, judging half: right fix", judged_right / judged_there, "", more_is_better=True),
        Gate("reworded by other tools, judging half: wrong fixes", judged_wrong / judged_asked, "", 0.02),
        Gate("wrong fixes, of all failures", wrong / (back + 100), "", 0.02),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures; ends with 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding_agents", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", action="store_true", help="print the events whose verdict differs from the label")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = figures(given.seed, Path(folder), show=given.show)
    gates.show(wide_console(), found, "Coding agents")
    if given.json:
        gates.write_json(given.json, found, seed=given.seed)
    gates.enforce(found)


if __name__ == "__main__":
    main()
