"""What a retrieval returns, as a value."""

import json
import random

import pytest
from hypothesis import given
from pydantic import ValidationError

from alma.types import AntiPattern, DomainKnowledge, Heuristic, MemorySlice, Outcome, UserPreference
from memory_strategies import slice_of, slices

RULE = Heuristic(condition="On deploy", strategy="Go blue-green")
OTHER_RULE = Heuristic(condition="On login", strategy="Try empty fields")
WARNING = AntiPattern(pattern="Sleep", why_bad="Flaky")
EVENT = Outcome(task_description="Deploy")
FACT = DomainKnowledge(domain="auth", fact="JWT")
WISH = UserPreference(user_id="u", category="style", preference="strict")
EVERYTHING = [FACT, RULE, WARNING, EVENT, OTHER_RULE, WISH]


@given(slices())
def test_a_slice_survives_json(found: MemorySlice) -> None:
    assert MemorySlice.from_json(found.to_json()) == found


@given(slices())
def test_the_plain_values_of_a_slice_survive_json(found: MemorySlice) -> None:
    assert MemorySlice.from_json(json.dumps(found.to_dict())) == found


def test_what_is_no_slice_is_refused() -> None:
    with pytest.raises(ValidationError):
        MemorySlice.from_json('{"recalled": [{"tag": "H1"}]}')


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
