"""The hosts: their hooks' JSON as events, and an answer in the form that each takes."""

import json
import os
import re
from typing import Any

from alma_agents.events import BEFORE, END, OTHER, PROMPT, SHELL, START, TOOL, TURN, Event, kind_of_tool, tool_event
from alma_agents.shell import verdict

HOSTS = ("claude-code", "codex", "gemini", "cursor", "copilot", "opencode", "openhands")
_TAKES: dict[str, tuple[str, ...]] = {
    "claude-code": (START, PROMPT, BEFORE, TOOL), "codex": (START, PROMPT, TOOL), "gemini": (START, PROMPT, TOOL), "cursor": (START, TOOL),
    "copilot": (START, TOOL), "opencode": (TOOL,), "openhands": (PROMPT,),
}  # fmt: skip
"""Where each host gives a text to its model. Before a call only one documents a place for it, and Copilot refuses the call on any trouble."""

_KINDS = {
    "sessionstart": START, "userpromptsubmit": PROMPT, "beforeagent": PROMPT, "beforesubmitprompt": PROMPT, "userpromptsubmitted": PROMPT,
    "pretooluse": BEFORE, "beforetool": BEFORE, "posttooluse": TOOL, "posttoolusefailure": TOOL, "aftertool": TOOL, "stop": TURN,
    "subagentstop": TURN, "agentstop": TURN, "afteragent": TURN, "sessionend": END, "session.idle": TURN, "tool.after": TOOL,
}  # fmt: skip
_CLAUDE_CODE = re.compile(r"(?:Error: )?Exit code (\d+)")
_CODEX_CODE = re.compile(r"^(?:Process exited with code|Exit code:) ?(-?\d+)\s*$", re.MULTILINE)
_CODEX_BEGINNINGS = ("Exit code: ", "Chunk ID: ", "Wall time: ", "Process exited with code ")
"""How Codex begins the answer of a command where it gives a header."""
_GEMINI_CODE = re.compile(r"^Exit Code: (\d+)\s*$", re.MULTILINE)
_COPILOT_CODE = re.compile(r"<(?:shellId: \S+ completed|exited) with exit code (\d+)>\s*$")
_GEMINI_FRAME = re.compile(r"\A<untrusted_context>\n|\n?</untrusted_context>\s*\Z")
_GEMINI_PARTS = re.compile(
    r"^(?:Output: |(?:Command|Directory): .*\n|(?:Error|Signal|Stderr|Background PIDs): \(none\)(?:\n|$)|Process Group PGID: .*(?:\n|$))",
    re.MULTILINE,
)
_GEMINI_UNFINISHED = re.compile(
    r"Command (was (automatically )?cancell?ed|(was )?(automatically )?timed out|moved to background|is running in)"
)
"""How Gemini CLI begins the answer of a command that did not end by itself. It gives no exit code then, nor for 0."""
_OUTPUTS = ("llmContent", "textResultForLlm", "text_result_for_llm", "output", "content", "text")
_TAIL = 262_144


def host_of(payload: dict[str, Any], said: str = "") -> str:
    """Returns the host that wrote a payload: what its keys show, else what the command line says."""
    name = str(payload.get("hook_event_name") or "")
    if "cursor_version" in payload:
        return "cursor"
    if "event_type" in payload and "hook_event_name" not in payload:
        return "openhands"
    if said in HOSTS:
        return said
    if name in ("BeforeAgent", "AfterTool", "AfterAgent", "BeforeTool"):
        return "gemini"
    if "toolName" in payload or ("sessionId" in payload and "hook_event_name" not in payload):
        return "copilot"
    return "codex" if "turn_id" in payload else "claude-code"


def event_of(payload: dict[str, Any], said: str = "", name: str = "") -> Event | None:
    """Returns the event in a hook's payload, `None` for one that is not known."""
    host = host_of(payload, said)
    event_name = str(
        payload.get("hook_event_name") or payload.get("event_type") or payload.get("hookEventName") or name or _guessed(payload)
    )
    kind = _KINDS.get(event_name.replace("_", "").replace("-", "").lower())
    session = str(
        payload.get("session_id") or payload.get("conversation_id") or payload.get("sessionId") or payload.get("sessionID") or ""
    )
    if kind is None or not session:
        return None
    cwd = payload.get("cwd") or payload.get("working_dir") or next(iter(payload.get("workspace_roots") or []), "")
    known: dict[str, Any] = {"cwd": cwd if isinstance(cwd, str) else "", "name": event_name, "at": _number(payload.get("at"))}
    if kind not in (TOOL, BEFORE):
        text = payload.get("prompt") or payload.get("message") or payload.get("initialPrompt") or ""
        return Event(kind, host, session, text=text if isinstance(text, str) else "", **known)
    tool = str(payload.get("tool_name") or payload.get("toolName") or payload.get("tool") or "")
    arguments = payload.get("tool_input", payload.get("toolArgs", payload.get("input")))
    if isinstance(arguments, str) and arguments.startswith("{"):
        arguments = _json(arguments)
    known["call"] = str(
        payload.get("tool_use_id") or payload.get("toolCallId") or payload.get("callID") or payload.get("id") or ""
    )
    ok, code, output = (None, None, "") if kind == BEFORE else _judged(host, event_name, tool, payload)
    made = tool_event(host, session, tool, arguments, ok=ok, code=code, output=output, **known)
    return made._replace(kind=kind)


def _guessed(payload: dict[str, Any]) -> str:
    """Returns the event of a payload without a name, as Copilot's are."""
    if "toolResult" in payload:
        return "postToolUse"
    if "error" in payload and "toolName" in payload:
        return "postToolUseFailure"
    return (
        "sessionStart"
        if "source" in payload
        else "sessionEnd"
        if "reason" in payload
        else "agentStop"
        if "transcriptPath" in payload
        else ""
    )


def _judged(host: str, name: str, tool: str, payload: dict[str, Any]) -> tuple[bool | None, int | None, str]:
    """Returns verdict, exit code and output of a call: by its exit status, never by words."""
    answer = next(
        (payload[key] for key in ("tool_response", "toolResult", "tool_result", "tool_output", "output") if key in payload), None
    )
    is_shell = kind_of_tool(tool) == SHELL
    if "failure" in name.lower():
        return _judged_failure(payload, is_shell=is_shell)
    if isinstance(answer, str) and answer.startswith("{"):
        answer = _json(answer) or answer
    if host == "claude-code" and isinstance(answer, dict):
        output = _streams(answer)
        if answer.get("interrupted") or answer.get("backgroundTaskId") or answer.get("returnCodeInterpretation"):
            return None, None, output
        return True, 0 if is_shell else None, output
    if host == "codex":
        place = str(payload.get("transcript_path") or ""), str(payload.get("tool_use_id") or "")
        output = text_of(answer)
        code = code_in_rollout(*place) if is_shell else None
        if code is None and is_shell and output.startswith(_CODEX_BEGINNINGS):
            code = codex_code({"output": output})
        return (verdict(code) if is_shell else None), code, output
    if not isinstance(answer, dict):
        return None, None, text_of(answer)
    output = next((text for key in _OUTPUTS if (text := text_of(answer.get(key)))), "") or _streams(answer)
    code = next((value for key in ("exit_code", "exitCode", "exit") if isinstance(value := answer.get(key), int)), None)
    if host == "gemini" and code is None and is_shell:
        if answer.get("error"):
            return None, None, output
        code = gemini_code(output)
        output = gemini_output(output)
    if host == "copilot" and code is None and is_shell and (found := _COPILOT_CODE.search(output)):
        code = int(found[1])
    if not is_shell:
        return (
            not (
                answer.get("error")
                or answer.get("is_error")
                or "failure" in (answer.get("resultType"), answer.get("result_type"))
            ),
            None,
            output,
        )
    return verdict(code), code, output


def _judged_failure(payload: dict[str, Any], *, is_shell: bool) -> tuple[bool | None, int | None, str]:
    """Returns the same of a call that the host reports as failed: what was broken off has no verdict."""
    error = str(payload.get("error") or payload.get("error_message") or "")
    if payload.get("is_interrupt") or payload.get("failure_type") in ("timeout", "permission_denied"):
        return None, None, error
    found = _CLAUDE_CODE.match(error) or _COPILOT_CODE.search(error)
    if found:
        return verdict(int(found[1])), int(found[1]), error
    is_ended = payload.get("failure_type") == "error"  # Cursor says so of a command that ended with a status other than 0
    return (None if is_shell and not is_ended else False), None, error


def _streams(answer: dict[str, Any]) -> str:
    """Returns what a command printed to its two streams."""
    return "\n".join(text for key in ("stdout", "stderr") if (text := text_of(answer.get(key)).strip("\n")))


def text_of(content: Any) -> str:
    """Returns the text of a content, which some hosts give as a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def gemini_output(text: str) -> str:
    """Returns what a command printed, without the names of the parts that Gemini CLI gives with it."""
    text = _GEMINI_FRAME.sub("", text)
    return _GEMINI_PARTS.sub("", text) if text.startswith(("Command: ", "Output: ")) else text


def gemini_code(output: str) -> int | None:
    """Returns the exit code in what Gemini CLI answers for a command, `None` for one that did not end by itself."""
    output = _GEMINI_FRAME.sub("", output)
    if _GEMINI_UNFINISHED.match(output.removeprefix("Output: ")):
        return None
    numbers = _GEMINI_CODE.findall(output[-400:])
    return int(numbers[-1]) if numbers else 0


def code_in_rollout(path: str, call: str) -> int | None:
    """Returns the exit code of a call in the tail of the host's own transcript, `None` if it is not there yet."""
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    real = os.path.realpath(path) if path else ""
    if not call or not real.startswith(os.path.realpath(home) + os.sep) or not real.endswith(".jsonl"):
        return None
    try:
        with open(real, "rb") as file:
            file.seek(max(os.path.getsize(real) - _TAIL, 0))
            lines = file.read(_TAIL).split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        if call.encode() in line and (record := _json(line.decode("utf-8", "replace"))):
            payload = record.get("payload")
            if isinstance(payload, dict) and (code := codex_code(payload)) is not None:
                return code
    return None


def codex_code(payload: dict[str, Any]) -> int | None:
    """Returns the exit code in a line of a rollout."""
    item = payload.get("item")
    for values in (payload, item if isinstance(item, dict) else {}):
        if isinstance(code := values.get("exit_code", values.get("exitCode")), int):
            return code
    output = payload.get("output")
    if isinstance(output, list):
        output = "".join(str(part.get("text") or "") for part in output if isinstance(part, dict))
    if not isinstance(output, str):
        return None
    if output.startswith("{") and (read := _json(output)):
        code = (read.get("metadata") or {}).get("exit_code") if isinstance(read.get("metadata"), dict) else None
        return code if isinstance(code, int) else None
    header = re.split(r"\n(?:Final o|O)utput:", output, maxsplit=1)
    found = _CODEX_CODE.search(header[0]) if len(header) > 1 else None
    return int(found[1]) if found else None


def takes(host: str, kind: str) -> bool:
    """Returns True if a host gives what a hook answers to an event of a kind to its model."""
    return kind in _TAKES.get(host, ())


def answer(event: Event, text: str) -> str:
    """Returns what a hook prints so that the host gives the text to its model; "" where it takes none."""
    if not text or not takes(event.host, event.kind):
        return ""
    if event.host in ("claude-code", "codex", "gemini"):
        return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})
    if event.host == "cursor":
        return json.dumps({"additional_context": text})
    return json.dumps({"context" if event.host == "opencode" else "additionalContext": text})


def _json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


__all__ = ["HOSTS", "OTHER", "answer", "code_in_rollout", "codex_code", "event_of", "gemini_code", "host_of", "takes"]
