"""A retrieval asks the database once for what cannot change while it runs."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from alma import ALMA
from alma.storage.sqlite.store import SQLStorage
from meetings import MEETING, notes
from statements import next_connection

MOST_CALLS = 1000
"""Functions in Python that a question may call that finds five of forty outcomes. Versions of Python and numpy differ by a few."""


@pytest.fixture
def shop(alma: ALMA) -> ALMA:
    """Two agents; one has memories of a registered kind."""
    alma.register_memory_type(MEETING)
    alma.learn("dev", "Deploy the service", "success")
    alma.add("meeting_note", agent="secretary", **notes())
    return alma


def tables_read(alma: ALMA, task: str, agent: str) -> Counter[str]:
    """How often one retrieval, of which all is warm, reads the partitions and the small records."""
    alma.retrieve(task, agent)
    asked = statements(alma, lambda: alma.retrieve(task, agent))
    return Counter(table for sql in asked for table in ("partition", "record") if f"FROM {table}" in sql)


def statements(alma: ALMA, call: Callable[[], object]) -> list[str]:
    """What a call asks the database."""
    storage = alma.storage
    assert isinstance(storage, SQLStorage)
    asked: list[str] = []
    connection = next_connection(storage.database)
    connection.set_trace_callback(asked.append)
    try:
        call()
    finally:
        connection.set_trace_callback(None)
    return asked


@pytest.mark.parametrize("agent", ["dev", "stranger", "devv"])
@pytest.mark.not_on("file", "postgres", reason="counts SQLite's statements")
def test_partitions_are_read_once_and_no_definition_of_what_the_reader_cannot_see(shop: ALMA, agent: str) -> None:
    assert tables_read(shop, "Deploy the service", agent) == {"partition": 1}


@pytest.mark.not_on("file", "postgres", reason="counts SQLite's statements")
def test_a_kind_that_the_reader_sees_is_weighed_and_read_by_its_definition(shop: ALMA) -> None:
    assert tables_read(shop, "Which database for the invoices?", "secretary") == {"partition": 1, "record": 2}


@pytest.mark.not_on("file", "postgres", reason="counts SQLite's statements")
def test_what_was_learned_is_read_once(alma: ALMA) -> None:
    def asked_after(outcomes: int) -> Counter[str]:
        alma.learn_many(
            {"agent": "dev", "task": f"Deploy the service {number}", "outcome": "success", "strategy_used": "blue-green"}
            for number in range(outcomes)
        )
        alma.retrieve("Which was deployed?", "dev")
        return Counter(sql.split(" WHERE ")[0] for sql in statements(alma, lambda: alma.retrieve("Which was deployed?", "dev")))

    assert asked_after(10) == asked_after(500)


def test_a_definition_that_has_grown_is_seen_at_once(shop: ALMA) -> None:
    task = "Which database for the invoices?"
    (before,) = shop.retrieve(task, "secretary").custom["meeting_note"]
    grown = type(MEETING)("meeting_note", {**MEETING.fields, "mood": str | None}, ["summary", "action_items"])
    shop.register_memory_type(grown)
    (after,) = shop.retrieve(task, "secretary").custom["meeting_note"]
    assert "mood" not in before.definition.fields
    assert "mood" in after.definition.fields


@pytest.mark.not_on("file", "postgres", reason="looking at the files, and a driver in Python, count as well")
def test_a_usual_question_makes_few_calls(alma: ALMA) -> None:
    alma.learn_many({"agent": "dev", "task": f"Deploy the service {number}", "outcome": "success"} for number in range(40))
    alma.retrieve("How to deploy the service?", "dev")
    assert calls(lambda: alma.retrieve("Which service was deployed?", "dev")).total() <= MOST_CALLS


def test_a_question_makes_few_calls_whatever_was_learned(alma: ALMA) -> None:
    def asked_after(outcomes: int) -> int:
        alma.learn_many(
            {
                "agent": "dev",
                "task": f"Deploy the service {number}",
                "outcome": number % 3 > 0,
                "strategy_used": f"way {number % 4}",
            }
            for number in range(outcomes)
        )
        alma.retrieve("How to deploy the service?", "dev")
        return calls(lambda: alma.retrieve("Which service was deployed?", "dev")).total()

    assert asked_after(400) <= 1.2 * asked_after(40)


def calls(call: Callable[[], object]) -> Counter[str]:
    """The functions written in Python that a call makes this thread enter, by file and name, and how often."""
    made: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            made[f"{Path(frame.f_code.co_filename).name} {frame.f_code.co_name}"] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return made
