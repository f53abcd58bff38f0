"""Stored sessions of opencode: a SQLite database that a running opencode may be writing, read without changing it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from alma_agents.events import PROMPT, SHELL, Event, kind_of_tool, tool_event
from alma_agents.shell import verdict

HOST = "opencode"
_FIRST = "SELECT session_id, data FROM part ORDER BY session_id, id"
_SECOND = "SELECT session_id, type, data FROM session_message ORDER BY session_id, seq"


def events_in(path: Path) -> Iterator[Event]:
    """Yields the events of both versions' tables, session by session. `sqlite3.Error` for a file that is no such database."""
    with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, timeout=5.0)) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        folders = _folders(database) if "session" in names else {}
        if "session_message" in names:
            for session, kind, data in database.execute(_SECOND):
                yield from _second(str(session), str(kind), _object(data), folders.get(session, ""))
        if "part" in names:
            for session, data in database.execute(_FIRST):
                yield from _first(str(session), _object(data), folders.get(session, ""))


def is_database(head: bytes) -> bool:
    """Returns True for the first bytes of a SQLite database."""
    return head.startswith(b"SQLite format 3\0")


def _folders(database: sqlite3.Connection) -> dict[Any, str]:
    columns = {str(row[1]) for row in database.execute("PRAGMA table_info(session)")}
    if not {"id", "directory"} <= columns:
        return {}
    return {session: str(folder or "") for session, folder in database.execute("SELECT id, directory FROM session")}


def _first(session: str, part: dict[str, Any], folder: str) -> Iterator[Event]:
    if part.get("type") == "tool":
        yield from _call(session, str(part.get("callID") or ""), str(part.get("tool") or ""), part.get("state"), folder)


def _second(session: str, kind: str, data: dict[str, Any], folder: str) -> Iterator[Event]:
    if kind == "user" and isinstance(data.get("text"), str):
        yield Event(PROMPT, HOST, session, cwd=folder, text=data["text"])
    content = data.get("content")
    for part in content if kind == "assistant" and isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool":
            yield from _call(session, str(part.get("id") or ""), str(part.get("name") or ""), part.get("state"), folder)


def _call(session: str, call: str, tool: str, state: Any, folder: str) -> Iterator[Event]:
    """Yields a call that has ended. Its exit code judges a command; an error of the tool itself, such as a refusal, does not."""
    if not isinstance(state, dict) or state.get("status") not in ("completed", "error"):
        return
    metadata = state.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    given = known.get("exit")
    code = (
        given
        if isinstance(given, int) and not isinstance(given, bool) and not known.get("timeout") and not known.get("signal")
        else None
    )
    is_done = state["status"] == "completed"
    ok = (verdict(code) if is_done else None) if kind_of_tool(tool) == SHELL else is_done
    yield tool_event(HOST, session, tool, state.get("input"), cwd=folder, call=call, ok=ok, code=code, output=_output(state))


def _output(state: dict[str, Any]) -> str:
    content = state.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    output = state.get("output")
    return output if isinstance(output, str) else ""


def _object(data: Any) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
