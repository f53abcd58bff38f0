"""Which time a question names. The list was written before the grammar was run on it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.retrieval import named_time as grammar
from alma.retrieval.named_time import named_time

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
"""A Wednesday."""


def days(question: str) -> tuple[str, str] | None:
    found = named_time(question, NOW)
    return None if found is None else (found.start.date().isoformat(), found.end.date().isoformat())


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What did I buy ten days ago?", ("2026-03-07", "2026-03-09")),
        ("What did I buy 10 days ago?", ("2026-03-07", "2026-03-09")),
        ("Who called a week ago?", ("2026-03-08", "2026-03-15")),
        ("Who called five weeks ago?", ("2026-02-06", "2026-02-16")),
        ("Where was I two months ago?", ("2026-01-06", "2026-01-26")),
        ("Where was I a couple of years back?", ("2024-01-18", "2024-05-17")),
        ("What did I cook yesterday?", ("2026-03-16", "2026-03-18")),
        ("Which film did we see last weekend?", ("2026-03-09", "2026-03-17")),
        ("Which film did we see last Saturday?", ("2026-03-13", "2026-03-15")),
        ("Which film did we see last Wednesday?", ("2026-03-10", "2026-03-12")),
        ("What broke last month?", ("2026-01-15", "2026-03-11")),
        ("How many books did I read in the past two weeks?", ("2026-03-04", "2026-03-18")),
        ("How often did I run over the last year?", ("2025-03-18", "2026-03-18")),
        ("What happened on 8 May 2023?", ("2023-05-07", "2023-05-15")),
        ("What happened on May 8th, 2023?", ("2023-05-07", "2023-05-15")),
        ("What happened on the 3rd of March?", ("2026-03-02", "2026-03-10")),
        ("What happened on 20 December?", ("2025-12-19", "2025-12-27")),
        ("What did I plant in May?", ("2025-05-01", "2025-06-06")),
        ("What did I plant in february 2024?", ("2024-02-01", "2024-03-06")),
        ("Which trips did I make in 2024?", ("2024-01-01", "2025-01-01")),
        ("It’s from 2 days ago: which one?", ("2026-03-15", "2026-03-17")),
    ],
)
def test_a_named_time_is_an_interval(question: str, wanted: tuple[str, str]) -> None:
    assert days(question) == wanted


@pytest.mark.parametrize(
    "question",
    [
        "What is my sister's name?",
        "May I use the sauce again?",
        "How did the march on the capital end?",
        "What did I buy on 31 February?",
        "Was it ten days ago or two weeks ago?",
        "Room 2024 is booked",
        "How many days did it take?",
        "What did I say about the last week of the trial version, and last month?",
        "What happened 999 years ago before 3 years ago?",
        "",
    ],
)
def test_no_time_or_several_are_no_interval(question: str) -> None:
    assert named_time(question, NOW) is None


def test_a_time_before_all_calendars_is_none() -> None:
    assert named_time("999 years ago", datetime.min.replace(tzinfo=UTC)) is None


def test_the_last_year_of_the_calendar_has_times_before_it() -> None:
    found = named_time("2 days ago", datetime.max.replace(tzinfo=UTC))
    assert found is not None
    assert found.end.date().isoformat() == "9999-12-30"


PIECES = [*"123 8 31 2023 a an the two few in on over since may sept december monday ago back".split(), *" .,’-x_"]  # noqa: SIM905 - a list of words reads best as words


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
def test_a_text_without_a_clue_names_no_time(text: str) -> None:
    if not grammar._clue().search(text):
        assert not [*grammar._relative(text, NOW), *grammar._absolute(text, NOW)]
