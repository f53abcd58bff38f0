import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.contradictions import DATA, LABELS, Pair, figures
from benchmarks.records import read_records

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_hardly_a_pair_is_called_a_contradiction_that_is_none(tmp_path: Path, run_benchmark: Run) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("contradictions", "--json", out)

    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    assert done.returncode == 0, done.stderr
    for name in DATA:
        assert measured[f"precision, {name}"] >= 0.99
        assert measured[f"recall, {name}"] > 0.5


def test_a_file_without_pairs_is_a_clear_error(tmp_path: Path, run_benchmark: Run) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"label": "agree"}\n')

    done = run_benchmark("contradictions", "--data", path)

    assert done.returncode == 1
    assert "a pair has no 'of'" in done.stderr


def test_precision_is_of_what_is_called_so_and_recall_of_what_is_so() -> None:
    pairs = [
        Pair("contradict", False, "value"),
        Pair("contradict", False, None),
        Pair("agree", False, "denial"),
        Pair("unrelated", True, None),
    ]

    assert [gate.value for gate in figures(pairs, "given")] == [0.5, 0.5]


def test_every_pair_is_there_once_with_a_known_label_and_in_one_file() -> None:
    records = {name: list(read_records(path)) for name, path in DATA.items()}
    pairs = {name: {frozenset((record["a"], record["b"])) for record in found} for name, found in records.items()}

    assert all(len(pairs[name]) == len(found) > 60 for name, found in records.items())
    assert all(record["label"] in LABELS for found in records.values() for record in found)
    assert not set.intersection(*pairs.values())
