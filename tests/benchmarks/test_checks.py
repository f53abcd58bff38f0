import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.checks import ALL_BLIND, BLIND, HELD_OUT, TUNING, Answer, Pair, by_kind, figures, read_blind, read_pairs

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]

TUNED = [("Use Redis", "Using Redis", True, "paraphrase"), ("Increase the timeout", "Decrease the timeout", False, "opposite")]
KEPT = [("chmod 777", "chmod 777 run.sh", True, "shell"), ("Drop the index", "Write a changelog", False, "benign")]
BLIND_ACTIONS = [("rebase the branch", True), ("write a changelog", False)]
STRATEGIES = [
    ("Restart the worker", "Restart the worker again", True, "longer", "held_out"),
    ("Use a", "Use b", False, "narrower", "dev"),
]
TASKS = [("tuning", "deploy", f"Deploy service {name}") for name in "ab"] + [
    ("tuning", "paint", f"Paint the {name}") for name in ("a", "b")
]


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    """Small files in place of those beside the benchmark, as its arguments."""
    written: dict[str, list[dict[str, object]]] = {
        "--tuning": [dict(zip(("pattern", "action", "warn", "kind"), one, strict=True)) for one in TUNED],
        "--held-out": [dict(zip(("pattern", "action", "warn", "kind"), one, strict=True)) for one in KEPT],
        "--strategies": [
            {"of": "strategy", "a": a, "b": b, "same": same, "kind": kind, "split": split}
            for a, b, same, kind, split in STRATEGIES
        ],
        "--tasks": [dict(zip(("split", "intent", "task"), one, strict=True)) for one in TASKS],
    }
    written["--strategies"].append({**written["--strategies"][0], "of": "task"})
    written["--blind"] = [
        {"pattern": "Rebase the branch", "action": action, "warn": warn, "kind": "other"} for action, warn in BLIND_ACTIONS
    ]
    arguments: list[object] = ["--embedder", "hash"]
    for name, records in written.items():
        path = tmp_path / f"{name.strip('-')}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        arguments += [name, path]
    return arguments


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


@pytest.mark.slow
def test_warnings_are_counted_where_they_should_come_and_where_not(
    files: list[object], trials: Path, data: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    out = tmp_path / "out.json"
    benign = ("--longmemeval", data, "--airline", trials, "--benign", 20, "--memories", 40)
    done = run_benchmark("checks", *files, *benign, "--json", out)

    check_verdict(done, out)
    body = json.loads(out.read_text())
    measured = {row["what"].strip(): row["value"] for row in body["gates"]}
    assert measured["warned, of 1 that should be, tuned on"] == 1
    assert measured["false alarms, of 1, tuned on"] == 0
    assert measured["warned, of 1 that should be, held out"] == 1
    assert measured["false alarms, of 20: LongMemEval, what users said"] == 0
    assert measured["false alarms, of 2: airline, what customers asked"] == 0.5
    assert measured["false alarms, of 1: airline, tools called"] == 1
    assert measured["learned, warned of for 0 tasks of the same intent, tuning"] is None
    assert measured["and for 4 tasks of other intents, tuning"] == 0
    assert measured["check p50, 40 outcomes"] > 0
    assert measured["check p50, 40 anti-patterns"] > 0
    assert body["alarms"]["airline, what customers asked"] == [["use Redis", "Use Redis"]]
    assert body["by_kind"]["held out"] == {"benign, should not": [0, 1], "shell, should warn": [1, 1]}


@pytest.mark.slow
def test_without_other_files_the_pairs_and_the_tasks_alone_are_judged(
    files: list[object], tmp_path: Path, run_benchmark: Run
) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("checks", *files, "--json", out)

    assert done.returncode == 0, done.stderr
    assert len(json.loads(out.read_text())["gates"]) == 14


@pytest.mark.parametrize(
    ("option", "told"), [("--tuning", "a pair has no"), ("--strategies", "a pair has no"), ("--tasks", "a task has no")]
)
def test_a_file_of_something_else_is_a_clear_error(
    files: list[object], data: Path, option: str, told: str, run_benchmark: Run
) -> None:
    done = run_benchmark("checks", *files, option, data)

    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tool_call_that_is_none_is_a_clear_error(files: list[object], trials: Path, run_benchmark: Run) -> None:
    trials.write_text(trials.read_text().replace('"arguments"', '"argument"'))
    done = run_benchmark("checks", *files, "--airline", trials)

    assert done.returncode == 1
    assert "a tool call is none" in done.stderr
    assert "Traceback" not in done.stderr


def test_false_alarms_are_shares_of_the_pairs_that_should_not_warn() -> None:
    def answer(*, should_warn: bool, is_warned: bool, kind: str = "other") -> Answer:
        return Answer(Pair("a", "b", should_warn, ALL_BLIND, kind), is_warned, [])

    answers = [
        answer(should_warn=True, is_warned=True),
        answer(should_warn=True, is_warned=False),
        answer(should_warn=False, is_warned=True),
        answer(should_warn=False, is_warned=False),
        answer(should_warn=False, is_warned=False, kind="opposite"),
        answer(should_warn=False, is_warned=False, kind="opposite"),
    ]

    assert [gate.value for gate in figures(answers)] == [0.5, 0.25, 0.5, 0]
    assert [gate.holds for gate in figures(answers)] == [False, False, None, None]
    assert by_kind(answers)[ALL_BLIND] == {
        "other, should not": (1, 2),
        "opposite, should not": (0, 2),
        "other, should warn": (1, 2),
    }


def test_no_pair_is_in_both_sets() -> None:
    tuned, kept = (read_pairs(path, "") for path in (TUNING, HELD_OUT))

    assert not {pair.pattern for pair in tuned} & {pair.pattern for pair in kept}


def test_a_pair_that_is_in_another_set_is_not_blind() -> None:
    others = [*read_pairs(TUNING, ""), *read_pairs(HELD_OUT, "")]
    blind = {(pair.pattern, pair.action) for pair in read_blind(BLIND, others)}

    assert len(blind) > 450
    assert not blind & {(pair.pattern, pair.action) for pair in others}
