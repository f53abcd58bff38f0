import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.memory import slope
from benchmarks.phrases import Phrases
from benchmarks.statements import traced

from alma import ALMA

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]
SMALL = ("--stored", 60, 120, "--many", 20, "--crowd", 60, "--learns", 80, "--retrieves", 80, "--rounds", 2, "--block", 3)


@pytest.mark.slow
def test_all_that_may_grow_is_measured(tmp_path: Path, run_benchmark: Run, check_verdict: Check) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("growth", *SMALL, "--dir", tmp_path, "--json", out)

    check_verdict(done, out)
    measured = {row["what"]: row["value"] for row in json.loads(out.read_text())["gates"]}
    assert 0 < measured["statements: record_usage of 10"] < measured["with BEGIN and COMMIT: record_usage of 10"]
    for world in ("one class", "20 classes", "20 agents", "20 strategies"):
        assert measured[f"learn_many, {world}, 60 stored"] > 0
        assert measured[f"learn_many, {world}, 120 stored"] > 0
    assert measured["retrieve p50, 120 over 6 identical outcomes"] > 0
    assert measured["retrieve p50, 20 agents over one"] > 0
    assert measured["after 80 learns"] > measured["resident memory before"] > 0
    assert math.isfinite(measured["a learn, second half"])
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_statements_are_counted_on_every_connection_with_and_without_those_of_transactions(tmp_path: Path) -> None:
    with traced() as trace, ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        alma.learn("dev", "Deploy", "success")
        some, everything = trace.of(lambda: alma.learn("dev", "Deploy", "success"))
        assert everything - some == 2
        assert trace.of(lambda: None) == (0, 0)


def test_phrases_are_distinct_and_the_same_every_time() -> None:
    tasks = Phrases().tasks(500)

    assert len(set(tasks)) == 500
    assert tasks == Phrases().tasks(500)
    assert tasks != Phrases(seed=1).tasks(500)
    assert {len(strategy.split()) for strategy in Phrases().strategies(20)} == {6}


def test_a_slope_is_that_of_the_second_half() -> None:
    calls = list(range(10, 110, 10))
    assert slope(calls, [1000.0 * min(call, 50) for call in calls]) == pytest.approx(0, abs=1e-6)
    assert slope(calls, [7.0 * call for call in calls]) == pytest.approx(7)
