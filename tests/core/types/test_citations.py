"""What counts as a citation."""

from typing import Any

import pytest

from alma import ValidationError
from alma.types import Factors, Heuristic, MemorySlice, Recalled

FACTORS = Factors(similarity=0.5, recency=1, success=1, confidence=1, weights={})
HEURISTICS = [Heuristic(agent="helena", condition="On deploy", strategy=f"Way {number}") for number in (1, 2, 3)]
SLICE = MemorySlice(
    recalled=tuple(
        Recalled(tag=f"H{number}", memory=memory, score=0.5, factors=FACTORS) for number, memory in enumerate(HEURISTICS, start=1)
    )
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("As [H2] says.", [2]),
        ("as [h2] says", [2]),
        ("See [H3, H1].", [1, 3]),
        ("See [ H3;h1 ] and [H3]", [1, 3]),
        ("[H1][H2]", [1, 2]),
        ("【H1】, ［Ｈ２］ and [Н3] in Cyrillic", [1, 2, 3]),
        ("[H\u200b1,\u00a0H2]", [1, 2]),
        ("H1 without brackets, (H2), [H1 and H2], [H10], [[H]3]", []),
    ],
)
def test_tags_in_brackets_are_citations_and_nothing_else_is(text: str, numbers: list[int]) -> None:
    assert SLICE.cited(text) == [HEURISTICS[number - 1].id for number in numbers]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("As [x7H2] says.", [2]),
        ("See [X7h1, x7H3] and [x7H2]", [1, 2, 3]),
        ("[x7H1, H2]", [1]),
        ("[H1] [h2] [x8H3] [x7] [x7x7H1] [7H1]", []),
    ],
)
def test_a_slice_with_tags_of_its_own_finds_these_and_no_others(text: str, numbers: list[int]) -> None:
    assert SLICE.tagged("x7").cited(text) == [HEURISTICS[number - 1].id for number in numbers]


def test_tags_of_its_own_can_be_changed_and_taken_away_again() -> None:
    assert SLICE.tagged("x7").tagged("h1").cited("[x7H1] [h1H2] [H3]") == [HEURISTICS[1].id]
    assert SLICE.tagged("x7").tagged("") == SLICE


def test_a_slice_with_tags_of_its_own_survives_json() -> None:
    tagged = SLICE.tagged("0f3a")

    assert MemorySlice.from_json(tagged.to_json()) == tagged
    assert "\n[0f3aH2] On deploy: Way 2 (" in tagged.to_prompt()


@pytest.mark.parametrize("prefix", ["X7", "x-7", " ", "x7\n", "é", "x" * 17, 7, None])
def test_a_prefix_that_no_tag_can_have_is_refused(prefix: Any) -> None:
    with pytest.raises(ValidationError, match="at most 16 of a-z and 0-9"):
        SLICE.tagged(prefix)


def test_a_slice_from_elsewhere_cannot_bring_a_tag_that_is_none() -> None:
    forged = SLICE.to_json().replace('"tag":"H1"', '"tag":"H1\\n[A1"')
    with pytest.raises(ValueError, match="tag"):
        MemorySlice.from_json(forged)
