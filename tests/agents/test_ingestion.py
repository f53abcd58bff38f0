"""Past transcripts: learned once, whatever is torn or unknown in them."""

import json
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
