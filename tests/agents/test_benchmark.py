"""The benchmark keeps its limits, and would notice if they were missed."""

from pathlib import Path

import pytest
from benchmarks import coding_agents, coding_agents_repeats


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_every_limit_holds(seed: int, tmp_path: Path) -> None:
    missed = [gate.what for gate in coding_agents.figures(seed, tmp_path) if gate.holds is False]
    assert missed == []


@pytest.mark.slow
def test_warnings_are_right_and_most_repeats_are_warned_of(tmp_path: Path) -> None:
    figures = coding_agents_repeats.figures(2, tmp_path)
    assert [gate.what for gate in figures if gate.holds is False] == []
    assert [gate.what for gate in figures if gate.holds] != []


def test_every_label_occurs_and_every_format_is_read() -> None:
    rows = list(coding_agents.verdicts())
    assert {label for _, _, label, _ in rows} == {True, False, None}
    assert {written for written, _, _, verdict in rows if verdict is False} == {
        made.__name__.strip("_") for made in coding_agents.FORMATS
    }


def test_judging_by_words_would_miss_the_limit() -> None:
    given = [(label, "error" not in output and "fail" not in output) for _, _, output, label in coding_agents.LINES]
    assert sum(label is verdict for label, verdict in given) / len(given) < 0.98
