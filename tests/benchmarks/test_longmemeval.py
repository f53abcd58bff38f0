import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.longmemeval import report
from benchmarks.longmemeval.questions import Question

Run = Callable[..., subprocess.CompletedProcess[str]]


def figures(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["mode"], row["group"]): row["measures"] for row in json.loads(path.read_text())["rows"]}


def question(*, kind: str = "temporal", gold: set[int], is_abstention: bool = False, missing: int = 0) -> Question:
    return Question("?", kind, is_abstention, (), frozenset(gold), missing)


@pytest.mark.slow
def test_the_evidence_is_found_through_the_public_api_in_every_mode(data: Path, tmp_path: Path, run_benchmark: Run) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("longmemeval", "--data", data, "--embedder", "hash", "--json", out)

    assert done.returncode == 0, done.stderr
    found = figures(out)
    assert found[("hybrid", "all questions")]["any@1"] == found[("bm25", "all questions")]["any@1"] == 1
    assert found[("dense", "all questions")]["any@5"] == 1
    assert found[("", "attainable")]["NDCG@10"] == 1
    assert "attainable" in done.stdout
    assert "without abstention" in done.stdout


@pytest.mark.slow
def test_the_runner_is_known_by_its_other_name_and_takes_one_mode_and_a_limit(
    data: Path, tmp_path: Path, run_benchmark: Run
) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark(
        "longmemeval.runner", "--data", data, "--embedder", "hash", "--mode", "bm25", "--limit", 2, "--json", out
    )

    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["rows"]
    assert {row["mode"] for row in rows} == {"", "bm25"}
    assert rows[0]["questions"] == 2


@pytest.mark.slow
def test_asking_for_the_words_of_the_evidence_id_finds_nothing(data: Path, tmp_path: Path, run_benchmark: Run) -> None:
    records = [json.loads(line) for line in data.read_text().splitlines()]
    asking = [{**record, "question": record["answer_session_ids"][0]} for record in records]
    leaky = tmp_path / "leaky.json"
    leaky.write_text(json.dumps(asking))
    out = tmp_path / "out.json"
    done = run_benchmark("longmemeval", "--data", leaky, "--embedder", "hash", "--mode", "bm25", "--json", out)

    assert done.returncode == 0, done.stderr
    assert figures(out)[("bm25", "all questions")]["any@10"] == 0


def test_a_file_that_is_no_data_ends_with_a_message(tmp_path: Path, run_benchmark: Run) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("[")
    done = run_benchmark("longmemeval", "--data", broken, "--embedder", "hash")

    assert done.returncode == 1
    assert "broken.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_rows_stand_for_all_for_answerable_ones_and_for_each_type() -> None:
    questions = [question(gold={0}), question(gold={1}, is_abstention=True), question(kind="user", gold={2})]
    rows = {row.group: row for row in report.rows("hybrid", questions, [[0], [0], [0]])}

    assert {group: (row.count, row.means["any@1"]) for group, row in rows.items()} == {
        "all questions": (3, pytest.approx(1 / 3)),
        "without abstention": (2, 0.5),
        "temporal": (2, 0.5),
        "user": (1, 0),
    }


def test_the_ceiling_tells_what_nobody_can_find() -> None:
    six = question(gold=set(range(6)))
    halved = question(gold={0}, missing=1)

    means = report.ceiling([six, halved]).means
    assert (means["any@5"], means["all@5"], means["all@10"]) == (1, 0, 0.5)


def test_evidence_that_is_missing_is_held_against_the_ranking() -> None:
    (row, *_) = report.rows("hybrid", [question(gold={0}, missing=1)], [[0, 1]])

    assert (row.means["any@5"], row.means["all@5"]) == (1, 0)
    assert row.means["NDCG@10"] < 1


def test_a_gain_is_the_mean_of_differences_question_by_question() -> None:
    questions = [question(gold={0}), question(gold={1})]
    (gain,) = report.gains("hybrid", ["dense"], questions, {"hybrid": [[0], [1]], "dense": [[0], [0]]})

    assert gain.means["any@1"] == 0.5
    assert gain.intervals["any@1"] == (0, 1)


def test_searches_together_have_to_find_more_than_each_alone_while_there_is_more_to_find() -> None:
    questions = [question(gold={0}), question(gold={1})]
    found = {"hybrid": [[0], [0]], "dense": [[0], [0]], "bm25": [[5], [5]]}
    result = [report.ceiling(questions), *(row for mode in found for row in report.rows(mode, questions, found[mode]))]

    assert report.unbeaten("hybrid", ["dense", "bm25"], result) == [
        "hybrid does not beat dense in any@5 (0.500 against 0.500)",
        "hybrid does not beat dense in NDCG@10 (0.500 against 0.500)",
    ]


def test_who_finds_all_that_can_be_found_need_not_find_more() -> None:
    questions = [question(gold={0, 1})]
    found = {"hybrid": [[1, 0]], "dense": [[0, 1]]}
    result = [report.ceiling(questions), *(row for mode in found for row in report.rows(mode, questions, found[mode]))]

    assert report.unbeaten("hybrid", ["dense"], result) == []
