"""The benchmark of proofs: agents choose as they say, and what is false is found."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks import null_worlds
from benchmarks.playing import CHOOSING, Play
from benchmarks.proving import World, any_proven, powers
from benchmarks.proving import null_worlds as played

from alma.learning.proof import LEVEL, Votes

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]


def play(*rates: float, worlds: int = 200) -> Play:
    return Play(np.tile(np.array(rates), (worlds, 1, 1)), np.random.default_rng(0))


@pytest.mark.slow
def test_a_quick_run_writes_all_figures(tmp_path: Path, run_benchmark: Run, check_verdict: Check) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("null_worlds", "--quick", "--json", out)

    check_verdict(done, out)
    body = json.loads(out.read_text())
    assert {row["world"] for row in body["null_worlds"]} == {world.name for world in null_worlds.QUICK}
    assert {row["choosing"] for row in body["null_worlds"]} == set(CHOOSING)
    assert all(
        0 <= row["interval"]["lower"] <= row["proven"] / row["worlds"] <= row["interval"]["upper"] for row in body["null_worlds"]
    )


@pytest.mark.parametrize("choosing", CHOOSING)
def test_each_step_is_one_outcome_of_a_strategy_at_its_rate(choosing: str) -> None:
    worlds = play(1.0, 0.0, 0.0)
    for _ in range(30):
        worlds.step(CHOOSING[choosing])
    assert (worlds.votes.trials.sum(axis=-1) == 30).all()
    assert (worlds.failures[..., 0] == 0).all()
    assert (worlds.successes[..., 1:] == 0).all()


@pytest.mark.parametrize(("choosing", "least"), [("greedy", 0.8), ("win-stay", 0.8), ("Thompson", 0.5)])
def test_agents_that_learn_prefer_what_works(choosing: str, least: float) -> None:
    worlds = play(0.9, 0.1)
    for _ in range(30):
        worlds.step(CHOOSING[choosing])
    assert worlds.votes.trials[..., 0].mean() / 30 > least


def test_a_world_is_counted_where_anything_is_proven() -> None:
    successes, failures = np.array([[[20.0, 0.0]], [[10.0, 9.0]]]), np.array([[[0.0, 20.0]], [[10.0, 11.0]]])
    assert any_proven(Votes(successes, failures)).tolist() == [True, False]


def test_where_nothing_differs_few_worlds_ever_have_a_proof() -> None:
    world = World("3 × 20", strategies=3, types=1, outcomes=60, every=1, worlds=60)
    found = played(world, "random", [1])
    assert sum(one.proven for one in found) / sum(one.worlds for one in found) <= LEVEL


def test_what_is_much_better_is_proven_in_the_end() -> None:
    found = powers(0.95, 0.2, 2, "random", 20, 120, [1])
    assert (found.ever, found.false) == (1.0, 0.0)
    assert 5 < found.median < 60
