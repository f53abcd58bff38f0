"""The demo's data is what its README says, and holds nothing that the agent could not have known."""

import gzip
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "examples" / "data"
SCRIPT = DATA / "condense_tau_airline.py"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def message(role: str, content: str | None, *, name: str = "", calls: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {"role": role, "content": content}
    if calls:
        found["tool_calls"] = [{"function": {"name": call, "arguments": "{}"}} for call in calls]
    return found | ({"name": name} if name else {})


def trajectory(task_id: int, trial: int, reward: float, *messages: dict[str, Any]) -> dict[str, Any]:
    hidden = {"task": {"instruction": "You want SECRET things", "actions": [{"name": "SECRET"}]}}
    start = [message("system", "SECRET policy"), message("user", "Please  help\nme ")]
    return {"task_id": task_id, "trial": trial, "reward": reward, "info": hidden, "traj": [*start, *messages]}


def condense(source: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(source), str(target)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    return rows(target)


def test_the_data_is_25_tasks_tried_four_times_in_time_order() -> None:
    runs = rows(DATA / "tau_airline.jsonl.gz")

    assert [(run["trial"], run["task_id"]) for run in runs] == [(trial, task) for trial in range(4) for task in range(0, 50, 2)]
    assert all(set(run) == {"task_id", "trial", "task", "strategy", "steps", "success", "error"} for run in runs)
    assert all(run["task"] and run["strategy"] and (run["error"] is None) is run["success"] for run in runs)
    assert sum(run["success"] for run in runs) == 49


def test_the_data_is_small_and_brings_its_licence() -> None:
    assert (DATA / "tau_airline.jsonl.gz").stat().st_size < 60_000
    assert "Copyright (c) 2024 Sierra" in (DATA / "LICENSE.tau-bench").read_text()
    assert "sierra-research/tau-bench" in (DATA / "README.md").read_text()


def test_condensing_keeps_what_was_done_and_nothing_that_was_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source.jsonl"
    booked = trajectory(
        7,
        1,
        0.0,
        message("assistant", None, calls=("get_user_details",)),
        message("assistant", None, calls=("search_direct_flight",)),
        message("assistant", None, calls=("book_reservation",)),
        message("tool", "Error: no  seats", name="book_reservation"),
        message("assistant", None, calls=("book_reservation",)),
        message("tool", "{}", name="book_reservation"),
    )
    refused = trajectory(9, 0, 1.0, message("assistant", None, calls=("transfer_to_human_agents",)))
    failed = trajectory(8, 1, 0.0, message("assistant", "No."))
    source.write_text("\n".join(json.dumps(run) for run in (failed, booked, refused)))

    runs = condense(source, tmp_path / "runs.gz", monkeypatch)

    assert [run["task_id"] for run in runs] == [9, 7, 8]
    assert runs[0]["strategy"] == "transfer_to_human_agents without any change"
    assert runs[1]["strategy"] == "search_direct_flight → book_reservation"
    assert (runs[1]["steps"], runs[1]["error"], runs[1]["task"]) == (4, "no seats", "Please help me")
    assert (runs[2]["strategy"], runs[2]["steps"]) == ("answered without any tool", 0)
    assert "SECRET" not in json.dumps(runs)


def test_condensing_twice_gives_the_same_bytes_from_either_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [trajectory(1, 0, 1.0), trajectory(0, 0, 0.0)]
    as_lines, as_array = tmp_path / "a.jsonl", tmp_path / "a.json.gz"
    as_lines.write_text("\n".join(map(json.dumps, runs)))
    as_array.write_bytes(gzip.compress(json.dumps(runs).encode()))

    condense(as_lines, tmp_path / "one.gz", monkeypatch)
    condense(as_array, tmp_path / "two.gz", monkeypatch)

    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
