import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.checks import Answer, Pair, false_by_kind, figures

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]

PAIRS = [
    ("Use Redis", "Using Redis", True, "label", "dev"),
    ("Restart the worker", "Restart the worker again", True, "longer", "held_out"),
    ("Increase the timeout", "Decrease the timeout", False, "opposite", "dev"),
    ("Drop the index", "Write a changelog", False, "other", "held_out"),
]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Two pairs of strategies that are the same, two that are not, and a pair of tasks, which is no strategy."""
    path = tmp_path / "pairs.jsonl"
    records = [
        {"of": "strategy", "a": a, "b": b, "same": same, "kind": kind, "split": split} for a, b, same, kind, split in PAIRS
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in [*records, {**records[0], "of": "task"}]))
    return path


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    """An airline's trials: one customer wants what one pattern warns of, and so does a tool."""
    path = tmp_path / "trials.jsonl"
    call = {"function": {"name": "drop", "arguments": '{"what": "the index"}'}}
    records = [
        {
            "task_id": task,
            "trial": trial,
            "reward": trial % 2,
            "info": {"task": {"instruction": opening}},
            "traj": [{"role": "user", "content": opening}, {"role": "assistant", "content": "", "tool_calls": [call]}],
        }
        for task, opening in enumerate(("book a seat please", "use Redis"))
        for trial in (0, 1, 2)
    ]
    path.write_text(json.dumps(records))
    return path


def test_warnings_are_counted_where_they_should_come_and_where_not(
    pairs: Path, trials: Path, data: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    out = tmp_path / "out.json"
    benign = ("--longmemeval", data, "--airline", trials, "--benign", 20, "--memories", 40)
    done = run_benchmark("checks", "--data", pairs, *benign, "--embedder", "hash", "--json", out)

    check_verdict(done, out)
    body = json.loads(out.read_text())
    measured = {row["what"].strip(): row["value"] for row in body["gates"]}
    assert measured["warned, of 1 same in other words, tuned on"] == 1
    assert measured["false alarms, of 1 that only look alike, tuned on"] == 0
    assert measured["false alarms, of 20: LongMemEval, what users said"] == 0
    assert measured["false alarms, of 2: airline, what customers asked"] == 0.5
    assert measured["false alarms, of 1: airline, tools called"] == 1
    assert measured["check p50, 40 outcomes"] > 0
    assert measured["check p50, 40 anti-patterns"] > 0
    assert body["alarms"]["airline, what customers asked"] == [["use Redis", "Use Redis"]]


def test_without_other_files_the_pairs_alone_are_judged(pairs: Path, tmp_path: Path, run_benchmark: Run) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("checks", "--data", pairs, "--embedder", "hash", "--json", out)

    assert done.returncode == 0, done.stderr
    assert len(json.loads(out.read_text())["gates"]) == 6


def test_a_file_without_pairs_is_a_clear_error(data: Path, run_benchmark: Run) -> None:
    done = run_benchmark("checks", "--data", data, "--embedder", "hash")

    assert done.returncode == 1
    assert "a pair has no" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tool_call_that_is_none_is_a_clear_error(pairs: Path, trials: Path, run_benchmark: Run) -> None:
    trials.write_text(trials.read_text().replace('"arguments"', '"argument"'))
    done = run_benchmark("checks", "--data", pairs, "--airline", trials, "--embedder", "hash")

    assert done.returncode == 1
    assert "a tool call is none" in done.stderr
    assert "Traceback" not in done.stderr


def test_false_alarms_are_shares_of_the_pairs_that_differ() -> None:
    def answer(*, is_same: bool, is_warned: bool, kind: str = "number") -> Answer:
        return Answer(Pair("a", "b", is_same, "dev", kind), is_warned, [])

    answers = [
        answer(is_same=True, is_warned=True),
        answer(is_same=True, is_warned=False),
        answer(is_same=False, is_warned=True),
        answer(is_same=False, is_warned=False),
        answer(is_same=False, is_warned=False, kind="opposite"),
        answer(is_same=False, is_warned=False, kind="opposite"),
    ]

    assert [gate.value for gate in figures(answers)[:3]] == [0.5, 0.25, 0]
    assert false_by_kind(answers) == {"number": (1, 2), "opposite": (0, 2)}
