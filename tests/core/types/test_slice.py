"""What a retrieval returns, as a value."""

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from alma.errors import ValidationError as AlmaValidationError
from alma.types import AntiPattern, DomainKnowledge, Heuristic, MemorySlice, Outcome, UserPreference
from memory_strategies import slice_of, slices

RULE = Heuristic(condition="On deploy", strategy="Go blue-green")
OTHER_RULE = Heuristic(condition="On login", strategy="Try empty fields")
WARNING = AntiPattern(pattern="Sleep", why_bad="Flaky")
EVENT = Outcome(task_description="Deploy")
FACT = DomainKnowledge(domain="auth", fact="JWT")
WISH = UserPreference(user_id="u", category="style", preference="strict")
EVERYTHING = [FACT, RULE, WARNING, EVENT, OTHER_RULE, WISH]


@pytest.mark.slow
@given(slices())
def test_a_slice_survives_json(found: MemorySlice) -> None:
    assert MemorySlice.from_json(found.to_json()) == found


@pytest.mark.slow
@given(slices())
def test_the_plain_values_of_a_slice_survive_json(found: MemorySlice) -> None:
    assert MemorySlice.from_json(json.dumps(found.to_dict())) == found


@pytest.mark.parametrize(
    "data", ['{"recalled": [{"tag": "H1"}]}', "", "null", b"\xff", "\ud800", None, "[" * 10_000, '{"' + "x" * 9999]
)
def test_what_is_no_slice_is_refused_in_a_short_sentence(data: Any) -> None:
    with pytest.raises(AlmaValidationError, match="not a slice") as told:
        MemorySlice.from_json(data)
    assert len(str(told.value)) < 400


@pytest.mark.parametrize("budget", [None, "x", math.nan, True, 2.5, -1])
def test_a_budget_that_is_no_count_is_refused(budget: Any) -> None:
    for found in (MemorySlice(), slice_of(RULE)):
        with pytest.raises(AlmaValidationError, match="max_tokens"):
            found.to_prompt(max_tokens=budget)
        with pytest.raises(AlmaValidationError, match="max_tokens"):
            found.fitting(max_tokens=budget)


@pytest.mark.parametrize("text", [None, 5, b"[H1]"])
def test_citations_are_looked_for_in_a_text_only(text: Any) -> None:
    with pytest.raises(AlmaValidationError, match="needs a text"):
        slice_of(RULE).cited(text)


def test_iterating_gives_the_memories_in_rank_order() -> None:
    found = slice_of(*EVERYTHING)

    assert list(found) == EVERYTHING
    assert found.ids == [memory.id for memory in EVERYTHING]
    assert len(found) == found.total_items == 6


def test_each_kind_has_a_list_of_its_own_in_rank_order() -> None:
    found = slice_of(*EVERYTHING)

    assert found.heuristics == [RULE, OTHER_RULE]
    assert (found.anti_patterns, found.outcomes, found.domain_knowledge) == ([WARNING], [EVENT], [FACT])
    assert (found.preferences, found.custom) == ([WISH], {})


def test_tags_count_within_their_kind() -> None:
    assert [item.tag for item in slice_of(*EVERYTHING).recalled] == ["K1", "H1", "A1", "O1", "H2", "P1"]


def test_cited_gives_the_ids_of_the_tags_in_a_text_in_rank_order() -> None:
    assert slice_of(*EVERYTHING).cited("By [H2], then [K1], and [H2] again.") == [FACT.id, OTHER_RULE.id]


@pytest.mark.parametrize("text", ["", "[H3]", "[H9] [X1]", "H1", "(H1)", "[H01]", "[H1", "[H1x]", "[H99999999999999]"])
def test_nothing_else_counts_as_a_citation(text: str) -> None:
    assert slice_of(*EVERYTHING).cited(text) == []


def test_a_slice_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        slice_of(RULE).query = "other"  # type: ignore[misc]


def test_an_empty_slice_says_nothing() -> None:
    assert not MemorySlice()
    assert MemorySlice().to_prompt() == ""


def test_a_slice_of_many_gives_every_memory_its_own_tag() -> None:
    many = [random.Random(number).choice(EVERYTHING) for number in range(60)]
    tags = [item.tag for item in slice_of(*many).recalled]

    assert len(set(tags)) == 60
