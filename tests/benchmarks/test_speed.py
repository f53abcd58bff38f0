import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from benchmarks.hashed import HashedTexts
from benchmarks.mixtures import batches
from benchmarks.records import DataError
from benchmarks.texts import RealTexts

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]
SMALL = ("--sizes", 20, 40, "--rounds", 2, "--block", 4)


@pytest.mark.slow
def test_every_size_is_measured_and_looked_at_from_a_new_process(
    data: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    out = tmp_path / "out.json"
    picture = tmp_path / "cost.svg"
    done = run_benchmark(
        "speed", "--data", data, *SMALL, "--passages", 10, "--dir", tmp_path, "--json", out, "--picture", picture
    )

    check_verdict(done, out)
    assert re.search(r"load ([\d.]+|unknown) before and ([\d.]+|unknown) after", done.stdout)
    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    for size in ("20", "40"):
        assert measured[f"retrieve p50, {size} memories"] > 0
        assert measured[f"learn, {size} memories"] > 0
        assert measured[f"learn p50, both in turn, {size} memories"] > 0
        assert measured[f"retrieve p50, both in turn, {size} memories"] > 0
        assert measured[f"disk a memory, {size} memories"] > measured[f"of it neither text nor journal, {size} memories"] > 0
        assert measured[f"first retrieve there, {size} memories"] > 0
        for call in (
            "check",
            "strategies",
            "record_usage",
            "episode",
            "retrieve for a user",
            "retrieve, project with 100 memories",
        ):
            assert measured[f"{call} p99, {size} memories"] >= measured[f"{call} p50, {size} memories"] > 0
    assert any(what.startswith("retrieve p50, 10 passages") for what in measured)
    assert fromstring(picture.read_text()).findtext("{http://www.w3.org/2000/svg}title", "").startswith("Milliseconds")


@pytest.mark.slow
def test_no_store_is_left_behind(data: Path, tmp_path: Path, run_benchmark: Run) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    done = run_benchmark("speed", "--data", data, *SMALL, "--dir", folder)

    assert "retrieve p50" in done.stdout
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_a_python_without_the_reference_is_named_with_what_it_lacks(data: Path, run_benchmark: Run) -> None:
    done = run_benchmark("speed", "--data", data, *SMALL, "--peer", sys.executable, "--peer-size", 20)

    assert done.returncode == 1
    assert sys.executable in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_another_memory_that_is_not_there_is_named(data: Path, run_benchmark: Run) -> None:
    done = run_benchmark("speed", "--data", data, *SMALL, "--beside", f"mem0={sys.executable}", "--peer-size", 20)

    assert done.returncode == 1
    assert f"mem0, run by {sys.executable}" in done.stderr
    assert "No module named 'mem0'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("given", ["mem0", "mem0=", "alma-memory=python", "elsewhere=python"])
def test_what_is_measured_beside_has_a_known_name_and_a_python(data: Path, run_benchmark: Run, given: str) -> None:
    done = run_benchmark("speed", "--data", data, *SMALL, "--beside", given)

    assert done.returncode == 2
    assert "is not NAME=PYTHON" in done.stderr


def test_too_few_texts_for_the_sizes_are_an_error_that_says_how_many_there_are(data: Path, run_benchmark: Run) -> None:
    done = run_benchmark("speed", "--data", data, "--sizes", 1_000_000)

    assert done.returncode == 1
    assert "1,000," in done.stderr
    assert "Traceback" not in done.stderr


def test_tasks_are_distinct_short_and_the_same_every_time(data: Path) -> None:
    tasks = RealTexts(data).tasks(60)

    assert len({task.task for task in tasks}) == 60
    assert max(len(task.task) for task in tasks) <= 160
    assert tasks == RealTexts(data).tasks(60)
    assert {task.succeeded for task in tasks} == {True, False}


def test_every_piece_comes_from_what_somebody_wrote(data: Path) -> None:
    written = " ".join(
        " ".join(turn["content"].split())
        for line in data.read_text().splitlines()
        for session in json.loads(line)["haystack_sessions"]
        for turn in session
    )

    assert all(passage in written for passage in RealTexts(data).passages(30))


def test_further_texts_are_made_of_two_each_and_none_twice(data: Path) -> None:
    texts = RealTexts(data)
    real = len(texts.passages(30))
    most = next(count for count in range(100, 100_000, 10) if not _has(texts, count)) - 10
    made = texts.passages(most)

    assert most > 2 * real
    assert len(set(made)) == most
    assert max(map(len, made)) <= 600
    assert made == RealTexts(data).passages(most)


def _has(texts: RealTexts, count: int) -> bool:
    try:
        return bool(texts.passages(count))
    except DataError:
        return False


def test_mixtures_are_unit_vectors_behind_the_real_ones_and_near_one_of_them() -> None:
    drawn = np.random.default_rng(0).standard_normal((50, 32)).astype(np.float32)
    real = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float16)
    made = np.concatenate([*batches(real, 200)]).astype(np.float32)

    assert made.shape == (200, 32)
    assert np.array_equal(made[:50].astype(np.float16), real)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-2)
    assert (made[50:] @ real.T.astype(np.float32)).max(axis=1).min() > 0.6
    assert np.array_equal(np.concatenate([*batches(real, 20)]), real[:20])


@pytest.mark.slow
def test_what_codes_find_is_compared_with_an_exact_search(
    data: Path, tmp_path: Path, run_benchmark: Run, check_verdict: Check
) -> None:
    drawn = np.random.default_rng(0).standard_normal((400, 384)).astype(np.float32)
    unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    np.savez(tmp_path / "vectors.npz", sentences=unit.astype(np.float16), questions=unit[:5])
    out = tmp_path / "out.json"
    done = run_benchmark("nearest", "--data", data, "--sizes", 8_000, "--vectors", tmp_path / "vectors.npz", "--json", out)

    check_verdict(done, out)
    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    assert measured["recall, 8,000 vectors"] > 0.9
    assert measured["processor p50, 8,000 vectors"] > 0


def test_a_file_without_haystacks_has_no_texts(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"question": "?"}\n')

    with pytest.raises(DataError, match=r"other\.jsonl"):
        RealTexts(path)


def test_hashed_vectors_are_unit_rows_and_the_same_in_any_instance() -> None:
    texts = ["deploy the service", "deploy the database", "", "Bäckerei 12"]
    rows = HashedTexts().rows(texts)

    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.array_equal(rows, HashedTexts().rows(texts))
    assert rows[0] @ rows[1] > 0.3 > abs(rows[0] @ rows[3])


def test_what_hashing_takes_is_counted_apart() -> None:
    texts = HashedTexts()
    texts.rows(["a"])
    first = texts.seconds
    texts.rows(["b", "c"])

    assert 0 < first < texts.seconds
    assert texts.calls == 2
