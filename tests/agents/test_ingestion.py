"""Past transcripts: learned once, whatever is torn or unknown in them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ValidationError
from alma_agents.ingestion import ingest_conversations


def claude(path: Path) -> Path:
    lines: list[dict[str, object]] = []
    for number, (command, error) in enumerate(
        [("pytest", "Exit code 2\nKeyError: 'shop'"), ("pip install shop", ""), ("pytest", "")]
    ):
        shared = {"sessionId": "s", "cwd": "/p", "uuid": f"u{number}", "timestamp": "2026-01-01T00:00:00Z"}
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": bool(error), "content": error or "ok"}
        lines += [{**shared, "type": "assistant", "message": {"content": [use]}}, {**shared, "message": {"content": [result]}}]
    path.write_text("\n".join([*map(json.dumps, lines), '{"type": "new"}', '{"torn']))
    return path


def codex(path: Path) -> Path:
    lines: list[dict[str, object]] = [{"type": "session_meta", "payload": {"id": "c", "cwd": "/p"}}]
    for number, (command, code) in enumerate([("make", 2), ("touch a.h", 0), ("make", 0)]):
        call = {
            "type": "function_call",
            "name": "exec_command",
            "call_id": f"k{number}",
            "arguments": json.dumps({"cmd": command}),
        }
        output = f"Wall time: 1\nProcess exited with code {code}\nOutput:\nerror: x"
        lines += [{"type": "response_item", "payload": call}]
        lines += [
            {"type": "response_item", "payload": {"type": "function_call_output", "call_id": f"k{number}", "output": output}}
        ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.parametrize(
    ("write", "agent", "way"), [(claude, "claude-code", "run pip install shop"), (codex, "codex", "run touch a.h")]
)
def test_a_repair_is_learned_once(write, agent: str, way: str, tmp_path: Path) -> None:
    file = write(tmp_path / "old.jsonl")
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        first = ingest_conversations(file, alma=alma)
        again = ingest_conversations([file], alma=alma)
        (one,) = alma.list_memories("outcome")
    assert (first.saved, again.saved, again.known) == (1, 0, 1)
    assert (one.agent, one.success, one.strategy_used, one.verdict_source) == (agent, True, way, "imported")


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with (
        ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma,
        pytest.raises(ValidationError, match="does not exist"),
    ):
        ingest_conversations(tmp_path / "no", alma=alma)


def opencode(path: Path) -> Path:
    """A database with both versions' tables; the second has a copy of a call of the first."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE session (id TEXT, directory TEXT, parent_id TEXT)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
        database.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        database.execute("CREATE TABLE session_message (session_id TEXT, type TEXT, seq INTEGER, data TEXT)")
        database.execute("INSERT INTO session VALUES ('one', '/p', NULL), ('two', '/p', NULL)")

        def state(command: str, code: int, **more: object) -> dict[str, object]:
            known = {"status": "completed", "input": {"command": command}, "metadata": {"exit": code}}
            return {**known, "output": f"Error: Cannot find module 'x{code}'", **more}

        calls = [("a", state("npm test", 1)), ("b", state("npm install x1", 0)), ("c", state("npm test", 0))]
        for name, each in calls:
            part = {"type": "tool", "tool": "bash", "callID": name, "state": each}
            database.execute("INSERT INTO part VALUES (?, 'm', 'one', ?)", (name, json.dumps(part)))
        database.execute("INSERT INTO part VALUES ('d', 'm', 'one', 'torn {')")
        second = [*calls[:1], ("e", {"status": "error", "input": {"command": "npm run e2e"}, "error": "denied"})]
        content = [{"type": "tool", "id": f"2{name}", "name": "shell", "state": each} for name, each in second]
        database.execute("INSERT INTO session_message VALUES ('two', 'assistant', 1, ?)", (json.dumps({"content": content}),))
        database.execute("INSERT INTO session_message VALUES ('two', 'user', 0, ?)", (json.dumps({"text": "run"}),))
    database.close()
    return path


def test_the_database_of_opencode_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    file = opencode(tmp_path / "opencode.db")
    before = file.read_bytes()
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        first = ingest_conversations(tmp_path / "opencode.db", alma=alma)
        again = ingest_conversations(file, alma=alma)
        found = {(one.agent, one.success, one.strategy_used) for one in alma.list_memories("outcome")}

    assert found == {("opencode", True, "run npm install x1"), ("opencode", False, "")}
    assert (first.saved, again.saved, first.sessions) == (2, 0, 2)
    assert file.read_bytes() == before


def test_a_database_of_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        report = ingest_conversations(tmp_path, alma=alma)
    assert "no database of opencode" in report.skipped[str(tmp_path / "opencode.db")]


def test_a_transcript_of_cursor_is_named(tmp_path: Path) -> None:
    lines = [{"role": role, "message": {"content": [{"type": "text", "text": "run tests"}]}} for role in ("user", "assistant")]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        report = ingest_conversations(tmp_path / "c.jsonl", alma=alma)
    assert "no results of tools" in str(report.skipped)
