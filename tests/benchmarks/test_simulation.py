import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulation import choosing, poison
from benchmarks.simulation.worlds import STRATEGIES, in_turn, luck, store
from rich.progress import Progress

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]

SILENT = Progress(disable=True)


@pytest.mark.slow
def test_a_quick_run_writes_all_figures(tmp_path: Path, run_benchmark: Run, check_verdict: Check) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("simulation", "--quick", "--json", out)

    check_verdict(done, out)
    body = json.loads(out.read_text())
    measured = {row["what"]: row["value"] for row in body["gates"]}
    assert measured["100 false outcomes of another agent: calls that answer otherwise"] == 0
    assert set(body["regrets"]) >= {"ALMA, surest", "Thompson sampling", "no memory"}


def test_strategies_of_a_world_are_kept_apart() -> None:
    with store() as memory:
        memory.learn_all("one", [(name, True) for name in STRATEGIES])

        assert {row.strategy for row in memory.table("one")} == set(STRATEGIES)


@pytest.mark.slow
def test_policies_decide_with_the_same_luck_and_the_best_has_no_regret() -> None:
    regrets = choosing.measured(0, 2, 12, SILENT)

    assert {len(values) for values in regrets.values()} == {2}
    assert all(value > -1e-9 for values in regrets.values() for value in values)
    assert regrets == choosing.measured(0, 2, 12, SILENT)


def test_a_placebo_that_helps_is_caught() -> None:
    regrets = {name: [10.0, 12.0, 11.0] for name in (choosing.BY_RULES, choosing.TOLD, choosing.NONE)}
    helping = choosing.figures({**regrets, choosing.PLACEBO: [5.0, 6.0, 5.0]}, 100, 0)
    idle = choosing.figures({**regrets, choosing.PLACEBO: [10.0, 13.0, 11.0]}, 100, 0)

    assert [helping[-1].holds, idle[-1].holds] == [False, True]


@pytest.mark.slow
def test_what_false_outcomes_do_is_told_by_how_many_it_takes() -> None:
    another, *own_name = poison.figures()
    to_fall, to_return = own_name[::2], own_name[1::2]

    assert another.holds
    assert {gate.value for gate in to_fall} == {poison.TRUE_TRIALS}, "outcomes count whole, also those of one task"
    assert all(0 < gate.value < poison.FALSE_OUTCOMES for gate in to_return)
    assert len(to_fall) == len(poison.FLOODS)


def test_luck_has_the_rates_and_every_strategy_its_turn() -> None:
    chance = np.random.default_rng(0)
    assert luck(chance, [0.2, 0.9], 4000).mean(axis=0) == pytest.approx([0.2, 0.9], abs=0.03)
    assert sorted(place for place, _ in in_turn(chance, [0.5] * 3, 4)) == [0] * 4 + [1] * 4 + [2] * 4
