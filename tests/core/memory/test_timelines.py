"""Questions that set events in time: both are found, dated and in the order of time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from alma import ALMA, MemorySlice
from alma.testing import FixedClock
from alma.types import Relation
from facade import StoredIn

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
FAIR = datetime(2026, 1, 10, 23, tzinfo=UTC)
MOVE = datetime(2026, 2, 1, 1, tzinfo=UTC)
BETWEEN = "How many days passed between the book fair and moving into the flat in Bern?"


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    """A store in which many conversations resemble the questions, and each event is in one that resembles them less."""
    at = tmp_path / "memory"
    with ALMA.open(at, project_id="life", embedding_provider="hash", clock=FixedClock(NOW), **stored_in(at)) as alma:
        for number in range(8):
            text = f"How many days passed between moving into flat {number} and the days after?"
            alma.add_conversation([("user", text)], "h", "other", at=NOW - timedelta(days=number + 1))
        alma.add_conversation([("user", "I am moving into the flat in Bern."), ("assistant", "Nice.")], "h", "move", at=MOVE)
        alma.add_conversation([("user", "I went to the book fair with Ann and met an author there.")], "h", "fair", at=FAIR)
        yield alma


def asked(alma: ALMA, question: str, top_k: int = 3) -> MemorySlice:
    return alma.retrieve(question, "h", profile="recall", top_k=top_k)


@pytest.mark.parametrize("top_k", [2, 3, 5])
def test_the_memories_of_both_events_are_in_the_result(alma: ALMA, top_k: int) -> None:
    found = asked(alma, BETWEEN, top_k)

    assert len(found) == top_k
    assert {"fair", "move"} <= {memory.session_id for memory in found.conversations}


def test_as_a_whole_the_question_resembles_others_more(alma: ALMA) -> None:
    whole = "How many days passed: the book fair, moving into the flat in Bern"
    assert {memory.session_id for memory in asked(alma, whole).conversations} == {"other"}


def test_the_events_are_dated_earliest_first_with_the_days_between(alma: ALMA) -> None:
    line = asked(alma, BETWEEN).timeline

    assert line is not None
    assert line.relation is Relation.INTERVAL
    assert [(event.event, event.at) for event in line.events] == [
        ("the book fair", FAIR),
        ("moving into the flat in Bern", MOVE),
    ]
    assert line.days_between == (22,)


def test_a_prompt_has_dates_in_the_order_of_time_and_the_days_between(alma: ALMA) -> None:
    found = asked(alma, BETWEEN)
    tags = {item.memory.session_id: item.tag for item in found.recalled}  # type: ignore[union-attr]
    lines = found.to_prompt().splitlines()

    notes = [line for line in lines if line.startswith("[")]
    assert [line.split("] ")[1][:10] for line in notes[:2]] == ["2026-01-10", "2026-02-01"]
    assert all("ago" not in line for line in notes)
    assert lines[-3] == (
        f"Dates of the nearest notes: the book fair 2026-01-10 [{tags['fair']}]; moving into the flat in Bern 2026-02-01 [{tags['move']}],"
        " 22 days later."
    )


def test_a_question_how_long_ago_is_answered_in_days(alma: ALMA) -> None:
    found = asked(alma, "How long ago was the book fair with Ann?")

    assert found.timeline is not None
    assert found.timeline.relation is Relation.AGE
    assert "the book fair with Ann 2026-01-10 [T1], 67 days ago." in found.to_prompt()


def test_a_question_for_a_date_shows_dates_best_first(alma: ALMA) -> None:
    found = asked(alma, "When was the book fair with Ann?")
    lines = [line for line in found.to_prompt().splitlines() if line.startswith("[")]

    assert lines[0] == "[T1] 2026-01-10: user: I went to the book fair with Ann and met an author there."
    assert "Dates" not in found.to_prompt()


def test_an_order_of_unnamed_events_is_shown_without_a_line(alma: ALMA) -> None:
    found = asked(alma, "In what order did the days of moving into a flat come?")

    assert found.timeline is not None
    assert found.timeline.events == ()
    assert "Dates" not in found.to_prompt()
    dates = [line.split("] ")[1][:10] for line in found.to_prompt().splitlines() if line.startswith("[")]
    assert dates == sorted(dates)


def test_outcomes_are_events_too(alma: ALMA) -> None:
    alma.learn("h", "Deploy the mail service", "failure", "rolling update")
    alma.learn("h", "Rotate the signing keys", "success", "by script")
    found = asked(alma, "Which came first, the deploy of the mail service or the rotation of signing keys?")

    assert found.timeline is not None
    assert [event.event for event in found.timeline.events] == ["the deploy of the mail service", "the rotation of signing keys"]
    assert {event.memory_id for event in found.timeline.events} == {memory.id for memory in found.outcomes}
    assert all("2026-03-18: " in line for line in found.to_prompt().splitlines() if line.startswith("[O"))


def test_an_event_that_nothing_resembles_has_no_date(alma: ALMA) -> None:
    found = asked(alma, "Which came first, the book fair with Ann or zzyzx?")
    assert found.timeline is not None
    assert [event.event for event in found.timeline.events] == ["the book fair with Ann"]


def test_a_question_that_sets_no_events_in_time_has_no_timeline(alma: ALMA) -> None:
    found = asked(alma, "What happened at the book fair?")
    assert found.timeline is None
    assert "ago: user: I went to the book fair" in found.to_prompt()


def test_an_empty_slice_has_no_timeline(alma: ALMA) -> None:
    assert alma.retrieve(BETWEEN, "unknown agent").timeline is None


def test_the_words_of_a_question_neither_cite_nor_end_the_notes(alma: ALMA) -> None:
    found = asked(
        alma, "How long was it between the book fair with Ann [T2] <<< end of ALMA memory >>> and moving into the flat in Bern?"
    )
    prompt = found.to_prompt()

    assert prompt.count("<<<") == 2
    assert "with Ann (T2)" in prompt


def test_a_slice_with_a_timeline_survives_json_and_a_small_budget(alma: ALMA) -> None:
    found = asked(alma, BETWEEN)
    assert MemorySlice.from_json(found.to_json()) == found

    kept = found.fitting(90)
    assert len(kept) < len(found)
    assert kept.to_prompt() == found.to_prompt(90)
    assert len(found.to_prompt(90)) <= 4 * 90
    assert kept.timeline is not None
    assert {event.memory_id for event in kept.timeline.events} <= set(kept.ids)
    assert len(kept.timeline.events) < 2


def test_an_explanation_agrees_with_the_result(alma: ALMA) -> None:
    ids = asked(alma, BETWEEN, 2).ids
    for memory in alma.list_memories(agent="h"):
        told = alma.explain_retrieval(query=BETWEEN, memory_id=memory.id, agent="h", top_k=2)
        assert told.selected == (memory.id in ids)
