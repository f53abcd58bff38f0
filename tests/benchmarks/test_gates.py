import json
import math
from pathlib import Path

import pytest
from benchmarks.gates import Gate, enforce, show, write_json
from benchmarks.screen import wide_console


@pytest.mark.parametrize(
    ("value", "limit", "more_is_better", "holds"),
    [
        (2.0, 3.0, False, True),
        (3.0, 3.0, False, True),
        (3.1, 3.0, False, False),
        (4.0, 4.0, True, True),
        (3.9, 4.0, True, False),
        (1.0, None, False, None),
        (math.nan, 3.0, False, None),
    ],
)
def test_a_gate_holds_on_the_right_side_of_its_limit(
    value: float, limit: float | None, more_is_better: bool, holds: bool | None
) -> None:
    assert Gate("x", value, "ms", limit=limit, more_is_better=more_is_better).holds is holds


def test_times_better_is_above_one_for_less_time_and_for_more_work() -> None:
    assert Gate("time", 2.0, "ms", reference=8.0).times_better == 4
    assert Gate("rate", 800.0, "/s", reference=200.0, more_is_better=True).times_better == 4
    assert Gate("alone", 2.0, "ms").times_better is None


def test_a_gate_that_fails_is_told_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    show(wide_console(), [Gate("learn", 9.0, "ms", limit=3.0, reference=4.2)], "Speed")

    line = next(line for line in capsys.readouterr().out.splitlines() if "learn" in line)
    assert line.split() == ["learn", "9", "ms", "≤", "3", "NO", "4.2", "(published)", "0.5"]


def test_the_json_has_what_was_measured_and_no_nan(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_json(path, [Gate("a", 1.5, "s", limit=2.0), Gate("b", math.nan, "MB")], machine="m")

    body = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert body["machine"] == "m"
    assert [(row["what"], row["value"], row["holds"]) for row in body["gates"]] == [("a", 1.5, True), ("b", None, None)]


def test_limits_that_are_missed_end_the_process_and_are_named() -> None:
    kept = [Gate("kept", 1.0, "ms", limit=3.0), Gate("no limit", 9.0, "ms"), Gate("not measured", math.nan, "MB", limit=1.0)]
    enforce(kept)
    with pytest.raises(SystemExit, match=r"^limits missed: learn \(9 ms\); rate \(2 /s\)$"):
        enforce([*kept, Gate("learn", 9.0, "ms", limit=3.0), Gate("rate", 2.0, "/s", limit=4.0, more_is_better=True)])
