"""What counts as a citation."""

import pytest

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
        ("H1 without brackets, (H2), [H1 and H2], [H10], [[H]3]", []),
    ],
)
def test_tags_in_brackets_are_citations_and_nothing_else_is(text: str, numbers: list[int]) -> None:
    assert SLICE.cited(text) == [HEURISTICS[number - 1].id for number in numbers]


def test_a_slice_from_elsewhere_cannot_bring_a_tag_that_is_none() -> None:
    forged = SLICE.to_json().replace('"tag":"H1"', '"tag":"H1\\n[A1"')
    with pytest.raises(ValueError, match="tag"):
        MemorySlice.from_json(forged)
