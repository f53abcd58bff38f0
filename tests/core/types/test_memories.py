"""The kinds of memory, and the passages they are searched by."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from pydantic import ValidationError

from alma.text import PASSAGE_CHARS
from alma.types import (
    AntiPattern,
    AnyMemory,
    DomainKnowledge,
    Heuristic,
    Memory,
    Outcome,
    Passage,
    UserPreference,
    memory_from_json,
)
from alma.types.memories import embedded, passages_of
from memory_strategies import memories

BERLIN_WINTER = timezone(timedelta(hours=1))


@pytest.mark.slow
@given(memories)
def test_a_memory_survives_json(memory: AnyMemory) -> None:
    back = memory_from_json(memory.model_dump_json())

    assert back == memory
    assert type(back) is type(memory)


@pytest.mark.slow
@given(memories.filter(lambda memory: memory.text.strip()))
def test_the_passages_of_a_memory_hold_its_whole_text_and_its_keywords_once(memory: AnyMemory) -> None:
    passages = passages_of(memory)

    assert "".join("".join(passage.text for passage in passages).split()) == "".join(memory.text.split())
    assert [passage.keywords for passage in passages] == [memory.keywords] + [""] * (len(passages) - 1)
    assert [passage.position for passage in passages] == list(range(len(passages)))


def test_a_long_text_becomes_passages_that_a_model_can_take_in_whole() -> None:
    passages = passages_of(DomainKnowledge(domain="d", fact="A sentence of some words. " * 400))

    assert len(passages) > 10
    assert max(len(passage.text) for passage in passages) <= PASSAGE_CHARS


def test_own_passages_are_embedded_and_others_only_where_none_is_own() -> None:
    own, other = Passage(text="mine"), Passage(text="theirs", is_own=False)

    assert embedded([other, own, other]) == [own]
    assert embedded([other, other]) == [other, other]


def test_a_naive_time_is_taken_as_utc_and_an_aware_one_brought_there() -> None:
    naive = Outcome(task_description="t", timestamp=datetime(2026, 1, 1, 12))  # noqa: DTZ001 - that is the point
    aware = Outcome(task_description="t", timestamp=datetime(2026, 1, 1, 12, tzinfo=BERLIN_WINTER))

    assert naive.timestamp == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert aware.timestamp == datetime(2026, 1, 1, 11, tzinfo=UTC)
    assert naive.timestamp.tzinfo is aware.timestamp.tzinfo is UTC


@pytest.mark.parametrize(
    ("memory", "record"),
    [
        (Heuristic(condition="c", strategy="s", occurrence_count=10, success_count=8), (8.0, 10.0)),
        (AntiPattern(pattern="p", why_bad="w", occurrence_count=3), (0.0, 3.0)),
        (Outcome(task_description="t", outcome="success"), (1.0, 1.0)),
        (Outcome(task_description="t", outcome="failure"), (0.0, 1.0)),
        (Outcome(task_description="t", outcome="partial"), (0.5, 1.0)),
        (Outcome(task_description="t", outcome="unverified"), (None, None)),
        (DomainKnowledge(domain="d", fact="f"), (None, None)),
        (UserPreference(user_id="u", category="c", preference="p"), (None, None)),
    ],
    ids=lambda value: value.kind if isinstance(value, Memory) else "",
)
def test_each_kind_tells_its_record(memory: Memory, record: tuple[float | None, float | None]) -> None:
    assert (memory.successes, memory.trials) == record


def test_a_success_rate_of_nothing_tried_is_nought() -> None:
    assert Heuristic(condition="c", strategy="s").success_rate == 0.0
    assert Heuristic(condition="c", strategy="s", occurrence_count=10, success_count=8).success_rate == 0.8


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 1.5},
        {"confidence": float("nan")},
        {"outcome": "won"},
        {"duration_ms": -1},
        {"surprise": 1},
        {"timestamp": "soon"},
    ],
    ids=str,
)
def test_wrong_values_and_unknown_fields_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Outcome.model_validate({"task_description": "t", **wrong})
