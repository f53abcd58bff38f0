"""Past transcripts as events, line by line: Claude Code, Codex, Gemini CLI, Copilot CLI, OpenHands. What is not known is counted, not lost."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from alma_agents.events import PROMPT, SHELL, TOOL, Event, kind_of_tool, tool_event
from alma_agents.hosts import _CLAUDE_CODE, _COPILOT_CODE, _json, codex_code, gemini_code, gemini_output, text_of
from alma_agents.shell import verdict


def records(lines: Iterable[bytes]) -> Iterator[dict[str, Any] | None]:
    """Yields each line as an object, `None` for one that is torn or none."""
    for line in lines:
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            yield None
            continue
        yield value if isinstance(value, dict) else None


def format_of(head: list[dict[str, Any]]) -> str:
    """Returns the host that wrote a file, by the structure of its first records; "" for an unknown one."""
    votes = {"claude-code": 0, "codex": 0, "gemini": 0, "copilot": 0, "openhands": 0}
    for one in head:
        votes["claude-code"] += "sessionId" in one and ("uuid" in one or "message" in one)
        votes["codex"] += isinstance(one.get("payload"), dict) and one.get("type") in _CODEX
        votes["gemini"] += "projectHash" in one or (one.get("type") == "gemini") or "$rewindTo" in one
        votes["copilot"] += isinstance(one.get("data"), dict) and "." in str(one.get("type"))
        votes["openhands"] += str(one.get("kind", "")).endswith("Event")
    if not any(votes.values()) and all(
        isinstance(one.get("message"), dict) and one.get("role") in ("user", "assistant") for one in head
    ):
        return "cursor" if head else ""
    best = max(votes, key=lambda name: votes[name])
    return best if votes[best] else ""


_BACKGROUND_CODE = re.compile(r"\(exit code (\d+)\)")
_RUNNING = re.compile(r"^Process running with session ID (\d+)\s*$", re.MULTILINE)
_LONGEST_OUTPUT = 20_000
_CODEX = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")


def events(host: str, found: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """Yields the events in the records of a transcript."""
    return {"claude-code": _claude, "codex": _codex, "gemini": _gemini, "copilot": _copilot, "openhands": _openhands}[host](found)


def _at(record: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(record.get("timestamp")).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _claude(found: Iterable[dict[str, Any]]) -> Iterator[Event]:
    calls: dict[str, tuple[str, Any]] = {}
    running: dict[str, Event] = {}
    for record in found:
        if record.get("type") == "queue-operation":
            yield from _ended_later(running, record)
            continue
        message = record.get("message")
        if (
            not isinstance(message, dict)
            or record.get("isCompactSummary")
            or record.get("isApiErrorMessage")
            or record.get("isMeta")
        ):
            continue
        session = str(record.get("sessionId") or "")
        known: dict[str, Any] = {"cwd": str(record.get("cwd") or ""), "at": _at(record)}
        content = message.get("content")
        if (
            isinstance(content, str)
            and record.get("type") == "user"
            and not content.lstrip().startswith("<")
            and not record.get("isSidechain")
        ):
            yield Event(PROMPT, "claude-code", session, text=content, **known)
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                calls[str(block.get("id"))] = str(block.get("name")), block.get("input")
            elif block.get("type") == "tool_result" and (call := str(block.get("tool_use_id"))) in calls:
                name, arguments = calls.pop(call)
                ok, code, output = _claude_verdict(record.get("toolUseResult"), block, name)
                made = tool_event("claude-code", session, name, arguments, call=call, ok=ok, code=code, output=output, **known)
                result = record.get("toolUseResult")
                if isinstance(result, dict) and isinstance(task := result.get("backgroundTaskId"), str):
                    running[task] = made
                else:
                    yield made
    yield from running.values()


def _ended_later(running: dict[str, Event], record: dict[str, Any]) -> Iterator[Event]:
    """Yields the command in the background whose end a record notes."""
    content = record.get("content")
    if not isinstance(content, str) or not content.lstrip().startswith("<task-notification>"):
        return
    for task in [task for task in running if f">{task}<" in content]:
        code = int(found[1]) if (found := _BACKGROUND_CODE.search(content)) else None
        made = running.pop(task)
        yield made._replace(ok=verdict(code), code=code, at=_at(record) or made.at)


def _claude_verdict(result: Any, block: dict[str, Any], name: str) -> tuple[bool | None, int | None, str]:
    output = text_of(block.get("content"))
    if kind_of_tool(name) != SHELL:
        return not block.get("is_error"), None, output
    if block.get("is_error"):
        code = int(found[1]) if (found := _CLAUDE_CODE.match(output)) else None
        return verdict(code), code, output
    if isinstance(result, dict) and (
        result.get("interrupted") or result.get("backgroundTaskId") or result.get("returnCodeInterpretation")
    ):
        return None, None, output
    return (True, 0, output) if block.get("is_error") is False else (None, None, output)


def _codex(found: Iterable[dict[str, Any]]) -> Iterator[Event]:
    session, cwd = "", ""
    calls: dict[str, tuple[str, Any]] = {}
    running: dict[str, Event] = {}
    for record in found:
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        kind = payload.get("type")
        item = payload.get("item")
        if record.get("type") == "session_meta" and not session:
            session, cwd = str(payload.get("id") or ""), str(payload.get("cwd") or "")
        elif kind == "user_message" and isinstance(payload.get("message"), str):
            yield Event(PROMPT, "codex", session, cwd=cwd, at=_at(record), text=payload["message"])
        elif kind == "item_completed" and isinstance(item, dict) and str(item.get("type")).lower() == "commandexecution":
            yield _codex_item(session, cwd, _at(record), item)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            calls[str(payload.get("call_id"))] = str(payload.get("name") or "local_shell"), _codex_arguments(payload)
        elif kind in ("function_call_output", "custom_tool_call_output") and (call := str(payload.get("call_id"))) in calls:
            name, arguments = calls.pop(call)
            code = codex_code(payload)
            output = payload.get("output")
            answer = (_json(output).get("output") or output) if isinstance(output, str) else text_of(output)
            header, _, rest = str(answer).partition("\nOutput:\n")
            ok = verdict(code)
            made = tool_event(
                "codex", session, name, arguments, cwd=cwd, at=_at(record), call=call, ok=ok, code=code, output=rest or header
            )
            if name == "write_stdin":
                begun = running.get(str(arguments.get("session_id")) if isinstance(arguments, dict) else "")
                if begun is None:
                    continue
                made = begun._replace(at=made.at, ok=ok, code=code, output=f"{begun.output}\n{made.output}"[-_LONGEST_OUTPUT:])
            if made.tool == SHELL and code is None and (number := _RUNNING.search(header)):
                running[number[1]] = made
                continue
            running = {key: each for key, each in running.items() if each.call != made.call}
            yield made
    yield from running.values()


def _codex_arguments(payload: dict[str, Any]) -> Any:
    arguments = payload.get("arguments", payload.get("input", payload.get("action")))
    return _json(arguments) if isinstance(arguments, str) and arguments.startswith("{") else arguments


def _codex_item(session: str, cwd: str, at: float, item: dict[str, Any]) -> Event:
    """Returns the event of a command in a file of paginated mode."""
    command = item.get("command")
    arguments = {"command": command, "workdir": item.get("cwd")}
    code = codex_code({"item": item})
    output = str(item.get("aggregated_output") or item.get("aggregatedOutput") or "")
    call = str(item.get("id") or "")
    return tool_event(
        "codex", session, "exec_command", arguments, cwd=cwd, at=at, call=call, ok=verdict(code), code=code, output=output
    )


def _gemini(found: Iterable[dict[str, Any]]) -> Iterator[Event]:
    session = ""
    messages: dict[str, list[Event]] = {}
    for number, record in enumerate(found):
        session = session or str(record.get("sessionId") or "")
        if isinstance(rewound := record.get("$rewindTo"), str):
            keys = list(messages)
            for key in keys[keys.index(rewound) :] if rewound in keys else ():
                del messages[key]
        elif isinstance(new := record.get("$set"), dict) and isinstance(new.get("messages"), list):
            messages = {str(one.get("id")): _gemini_events(session, one) for one in new["messages"] if isinstance(one, dict)}
        elif isinstance(whole := record.get("messages"), list):
            messages |= {str(one.get("id")): _gemini_events(session, one) for one in whole if isinstance(one, dict)}
        elif "type" in record:
            messages[str(record.get("id", number))] = _gemini_events(session, record)
    for made in messages.values():
        yield from made


def _gemini_events(session: str, message: dict[str, Any]) -> list[Event]:
    """Returns the events of a message, cut to what is learned from: later records may replace or drop the message."""
    calls = [call for call in message.get("toolCalls") or () if isinstance(call, dict)]
    made = [_gemini_call(session, _at(message), call) for call in calls]
    if message.get("type") == "user":
        made.append(Event(PROMPT, "gemini", session, at=_at(message), text=text_of(message.get("content"))))
    return [event._replace(output=event.output[-_LONGEST_OUTPUT:] if event.ok is False else "") for event in made]


def _gemini_call(session: str, at: float, call: dict[str, Any]) -> Event:
    response = [
        ((part.get("functionResponse") or {}).get("response") or {})
        for part in call.get("result") or ()
        if isinstance(part, dict)
    ]
    output = "\n".join(str(each.get("output") or each.get("error") or "") for each in response)
    name, status = str(call.get("name")), call.get("status")
    code = None
    ok: bool | None = status == "success" if status in ("success", "error") else None
    if kind_of_tool(name) == SHELL:
        code = gemini_code(output) if status == "success" and response else None
        ok = verdict(code)
        output = gemini_output(output)
    return tool_event(
        "gemini", session, name, call.get("args"), at=at, call=str(call.get("id") or ""), ok=ok, code=code, output=output
    )


def _copilot(found: Iterable[dict[str, Any]]) -> Iterator[Event]:
    session, cwd = "", ""
    calls: dict[str, tuple[str, Any]] = {}
    for record in found:
        data = record.get("data")
        if not isinstance(data, dict):
            continue
        call = str(data.get("toolCallId") or "")
        if record.get("type") == "user.message" and isinstance(data.get("content"), str):
            yield Event(PROMPT, "copilot", session, cwd=cwd, at=_at(record), text=data["content"])
        elif record.get("type") == "session.start":
            session, cwd = str(data.get("sessionId") or ""), str((data.get("context") or {}).get("cwd") or "")
        elif record.get("type") == "tool.execution_start":
            calls[call] = str(data.get("toolName")), data.get("arguments")
        elif record.get("type") == "tool.execution_complete" and call in calls:
            name, arguments = calls.pop(call)
            output = str((data.get("result") or {}).get("content") or "")
            code = int(read[1]) if (read := _COPILOT_CODE.search(output)) else None
            ok = verdict(code) if kind_of_tool(name) == SHELL else bool(data.get("success"))
            yield tool_event(
                "copilot", session, name, arguments, cwd=cwd, at=_at(record), call=call, ok=ok, code=code, output=output
            )


def _openhands(found: Iterable[dict[str, Any]]) -> Iterator[Event]:
    calls: dict[str, tuple[str, Any]] = {}
    for record in found:
        call, session = str(record.get("tool_call_id") or ""), str(record.get("session_id") or "openhands")
        if record.get("kind") == "MessageEvent" and record.get("source") == "user":
            said = record.get("llm_message")
            text = text_of(said.get("content")) if isinstance(said, dict) else ""
            yield Event(PROMPT, "openhands", session, at=_at(record), text=text)
        elif record.get("kind") == "ActionEvent":
            calls[call] = str(record.get("tool_name")), record.get("action")
        elif record.get("kind") == "ObservationEvent" and call in calls and isinstance(seen := record.get("observation"), dict):
            name, arguments = calls.pop(call)
            code = seen.get("exit_code")
            ok = verdict(code) if kind_of_tool(name) == SHELL else not seen.get("is_error")
            output = text_of(seen.get("content"))
            number = code if isinstance(code, int) else None
            yield tool_event("openhands", session, name, arguments, at=_at(record), call=call, ok=ok, code=number, output=output)


__all__ = ["TOOL", "events", "format_of", "records"]
