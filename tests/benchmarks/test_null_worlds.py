"""The benchmark of proofs: agents choose as they say, and what is false is found."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks import null_worlds
from benchmarks.null_worlds import CHOOSING, Play, Size, judge_power, measure_null_worlds, null_figures
from numpy.typing import NDArray
from rich.progress import Progress

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[subprocess.CompletedProcess[str], Path], None]


def play(*rates: float) -> Play:
    return Play(rates, np.random.default_rng(0))


@pytest.mark.slow
def test_a_quick_run_writes_all_figures(tmp_path: Path, run_benchmark: Run, check_verdict: Check) -> None:
    out = tmp_path / "out.json"
    done = run_benchmark("null_worlds", "--quick", "--json", out)

    check_verdict(done, out)
    body = json.loads(out.read_text())
    assert {row["size"] for row in body["null_worlds"]} == {
        *(size.name for size in (*null_worlds.QUICK_SIZES, null_worlds.QUICK_WHOLE)),
        *(f"{ways} × ? × 100" for ways in null_worlds.WORDS_WAYS),
    }
    assert {row["choosing"] for row in body["null_worlds"]} == set(CHOOSING)
    assert all(0 <= row["proven"] <= row["worlds"] for row in body["null_worlds"])


@pytest.mark.parametrize("choosing", CHOOSING)
def test_each_step_is_one_outcome_of_a_way_at_its_rate(choosing: str) -> None:
    world = play(1.0, 0.0, 0.0)
    seen = list(world.steps(CHOOSING[choosing], 30))

    assert sum(map(len, world.votes)) == len(seen) == 30
    assert all(won == (way == 0) for way, won in seen)


@pytest.mark.parametrize(("choosing", "least"), [("greedy", 0.7), ("win-stay", 0.7), ("Thompson", 0.5)])
def test_agents_that_learn_prefer_what_works(choosing: str, least: float) -> None:
    chance = np.random.default_rng(0)
    seen = [way for _ in range(20) for way, _ in Play((0.9, 0.1), chance).steps(CHOOSING[choosing], 30)]

    assert seen.count(0) / len(seen) > least


@pytest.mark.parametrize("is_proven", [null_worlds.is_proven_by_votes, null_worlds.is_proven_in_rows])
def test_a_world_is_counted_where_anything_is_proven(is_proven: Callable[..., bool]) -> None:
    size = Size(2, 1, 40, 1)

    assert is_proven(play(1.0, 0.0), CHOOSING["random"], size)
    assert not is_proven(play(0.5, 0.5), CHOOSING["random"], size)


def test_a_world_in_words_is_counted_where_anything_is_proven() -> None:
    assert null_worlds.is_proven_in_words(play(1.0, 0.0), draw_alike)
    assert not null_worlds.is_proven_in_words(play(0.5, 0.5), draw_alike)


def draw_alike(texts: Sequence[str]) -> NDArray[np.float32]:
    """Returns vectors by which all tasks are of one kind."""
    drawn = null_worlds.draw_vectors(texts) / 4
    drawn[:, 0] += np.float32(1.0) if "ticket" in texts[0] else np.float32(0.0)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


def test_where_nothing_differs_few_worlds_ever_have_a_proof() -> None:
    found = measure_null_worlds([Size(3, 1, 60, 5)], Size(2, 1, 6, 1), 1, Progress(disable=True))

    assert null_figures(found)[-1].holds


def test_what_is_much_better_is_proven_in_the_end() -> None:
    assert judge_power(play(0.95, 0.2), 120) == (True, False)
    assert judge_power(play(0.2, 0.95), 120) == (False, True)
