"""The labelled answers of tools, and what the benchmark makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.records import DataError
from benchmarks.tool_answers import DATA, HALVES, JUDGING, KINDS, TUNING, Judged, Labelled, figures, main, read_answers

FAILED = {"tool": "search", "domain": "search", "ok": False, "answer": "Error: 503 Service Unavailable"}
WENT_WELL = {"tool": "search", "domain": "search", "ok": True, "answer": "Paris"}


def _file(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_both_halves_have_answers_enough_of_either_label_and_no_tool_in_common() -> None:
    answers = read_answers(DATA)
    tools = [{one.tool for one in answers if one.half == half} for half in HALVES]

    assert not tools[0] & tools[1]
    assert min(sum(one.half == half and one.ok is ok for one in answers) for half in HALVES for ok in (True, False)) >= 100


def test_every_kind_of_object_occurs() -> None:
    kinds = {json.loads(line).get("kind") for line in DATA.read_text(encoding="utf-8").splitlines()}

    assert kinds - {None} == set(KINDS)


def test_precision_counts_what_was_flagged_and_recall_what_failed() -> None:
    labels, verdicts = (False, False, True, True), (False, True, False, True)
    judged = [Judged(Labelled("x", "x", "", label), verdict) for label, verdict in zip(labels, verdicts, strict=True)]

    assert [gate.value for gate in figures(judged, JUDGING)] == [0.5, 0.5, 1]
    assert [gate.holds for gate in figures(judged, JUDGING)] == [False, None, None]
    assert [gate.holds for gate in figures(judged, TUNING)] == [None, None, None]


def test_a_run_writes_its_figures(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="limits missed"):  # nothing is flagged in the judging half, which has no answers
        main(["--data", str(_file(tmp_path, FAILED, WENT_WELL)), "--json", str(tmp_path / "figures.json")])

    assert json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["answers"] == 2


def test_a_record_without_a_label_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no labelled answer"):
        read_answers(_file(tmp_path, {"tool": "x", "domain": "x", "answer": ""}))
