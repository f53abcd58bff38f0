import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.records import read_records
from benchmarks.strategy_pairs import DATA, Pair, Quality

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.slow
def test_the_labelled_pairs_are_told_apart_with_the_real_model(tmp_path: Path, run_benchmark: Run) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("strategy_pairs", "--json", out)

    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    assert done.returncode == 0, done.stderr
    assert measured["recall, held out"] > 0.7
    assert measured["precision of same, held out"] > 0.6


@pytest.mark.slow
def test_a_limit_that_is_missed_ends_with_1_and_is_named(tmp_path: Path, run_benchmark: Run) -> None:
    path = tmp_path / "pairs.jsonl"
    pair = {"same": False, "kind": "number", "split": "dev", "a": "Use Redis", "b": "use redis"}
    path.write_text(json.dumps(pair) + "\n")

    done = run_benchmark("strategy_pairs", "--data", path, "--embedder", "hash")

    assert done.returncode == 1
    assert "kept apart by their words, tuned on (0 )" in done.stderr


@pytest.mark.slow
def test_a_file_without_pairs_is_a_clear_error(data: Path, run_benchmark: Run) -> None:
    done = run_benchmark("strategy_pairs", "--data", data, "--embedder", "hash")

    assert done.returncode == 1
    assert "has no 'a'" in done.stderr
    assert "Traceback" not in done.stderr


def test_precision_recall_and_f_are_those_of_what_is_called_the_same() -> None:
    def pair(is_same: bool, is_called_same: bool) -> Pair:
        return Pair("dev", "kind", is_same, 0.9, is_called_same, False)

    quality = Quality.of([pair(True, True), pair(True, True), pair(True, False), pair(False, True), pair(False, False)])

    assert (quality.precision, quality.recall, quality.f1) == (2 / 3, 2 / 3, 2 / 3)


def test_every_pair_is_there_once_and_in_one_split() -> None:
    pairs = [frozenset((record["a"], record["b"])) for record in read_records(DATA)]

    assert len(set(pairs)) == len(pairs) >= 300
