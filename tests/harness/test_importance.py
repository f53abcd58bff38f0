"""Importance is judged by wording and use, and raises a score by a bounded factor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ImportanceDetector, ValidationError

PLAIN = "The deploy window is thirty minutes on Fridays."


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("Please remember this: the window is thirty minutes.", "remember"),
        ("Don't forget the window on Fridays.", "remember"),
        ("We decided to move the window to Fridays.", "decision"),
        ("Let's go with Fridays.", "decision"),
        ("NEVER EVER deploy on a Friday!", "emphasis"),
        ("This is very important for the release.", "emphasis"),
    ],
)
def test_wording_makes_a_text_important(text: str, signal: str) -> None:
    found = ImportanceDetector().detect(text)
    assert found.signals[signal] > 0
    assert found.score > ImportanceDetector().detect(PLAIN).score == 0


def test_references_and_use_make_a_text_important() -> None:
    scores = [ImportanceDetector().detect(PLAIN, references=count, uses=count).score for count in (0, 1, 5, 1_000_000)]
    assert scores == sorted(set(scores))
    assert scores[-1] < 1


@pytest.mark.parametrize("most", [0.0, 0.1, 1.0])
def test_the_factor_is_bounded(most: float) -> None:
    loud = "REMEMBER THIS!!! Don't forget, we decided, it is very important. " * 500
    factor = ImportanceDetector(most=most).detect(loud, references=10**9, uses=10**9).factor

    assert 1 <= factor <= 1 + most
    assert ImportanceDetector(most=most).detect(PLAIN).factor == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: ImportanceDetector(most=2),
        lambda: ImportanceDetector(most=float("nan")),
        lambda: ImportanceDetector(weights={"shouting": 1.0}),
        lambda: ImportanceDetector(weights={"use": -1.0}),
        lambda: ImportanceDetector().detect(7),  # type: ignore[arg-type]
        lambda: ImportanceDetector().detect("text", uses=-1),
        lambda: ImportanceDetector().detect("text", references=True),
    ],
)
def test_bad_input_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ValidationError):
        call()


def test_a_slice_is_reordered_only_where_it_is_asked_for(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        plain = alma.add_domain_knowledge("dev", "deploy", "The deploy window of the shop is Friday")
        told = alma.add_domain_knowledge("dev", "deploy", "Remember this! The deploy window of the shop: noon")
        found = alma.retrieve("deploy window of the shop Friday", "dev")

    assert found.ids == [plain.id, told.id]
    lifted = ImportanceDetector(most=1.0).reordered(found)
    assert lifted.ids == [told.id, plain.id]
    assert {item.tag: item.memory.id for item in lifted.recalled} == {item.tag: item.memory.id for item in found.recalled}
    assert ImportanceDetector(most=0.0).reordered(found) == found
