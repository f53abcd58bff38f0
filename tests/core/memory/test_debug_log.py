"""One line of the logger `alma` at level DEBUG for each call that searches or writes: counts, ids and milliseconds, no text."""

import logging
import re

import pytest

from alma import ALMA

WORDS = ("Żeglarz", "blue-green", "readiness probe", "hal", "maria", "Tokens")
LINE = re.compile(r"(\S+) in project 'shop': (\d+) memories in \d+\.\d ms ?([0-9a-f -]*)")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture):
    """The lines since the last call, as (method, count, ids)."""
    caplog.set_level(logging.DEBUG, "alma")

    def read() -> list[tuple[str, int, list[str]]]:
        told = [record.getMessage() for record in caplog.records if record.name == "alma" and record.levelno == logging.DEBUG]
        caplog.clear()
        assert not [word for line in told for word in WORDS if word in line]
        found = [LINE.fullmatch(line) for line in told]
        assert all(found), told
        return [(match[1], int(match[2]), match[3].split()) for match in found if match]

    return read


def test_each_call_is_one_line_with_the_ids_of_its_memories(alma: ALMA, lines) -> None:
    learned = alma.learn("hal", "Deploy for Żeglarz", "failure", "blue-green", error_message="readiness probe", user_id="maria")
    assert lines() == [("learn", 1, [learned.id])]

    found = alma.retrieve("Deploy for Żeglarz", "hal", user_id="maria")
    assert lines() == [("retrieve", len(found), list(found.ids))]

    many = alma.learn_many({"agent": "hal", "task": f"Deploy {n}", "outcome": "success"} for n in range(3))
    assert lines() == [("learn_many", 3, [one.id for one in many])]

    fact = alma.add_domain_knowledge("hal", "auth", "Tokens last 24 hours")
    alma.strategies(agent="hal")
    assert [(method, ids) for method, _, ids in lines()] == [("add_domain_knowledge", [fact.id]), ("strategies", [])]


def test_an_episode_is_a_line_for_what_is_shown_each_lesson_and_its_end(alma: ALMA, lines) -> None:
    with alma.episode(agent="hal", task="Deploy for Żeglarz") as episode:
        episode.step("blue-green", ok=False, error="readiness probe")
        episode.succeed(strategy="blue-green")

    assert [method for method, _, _ in lines()] == ["episode", "episode.step", "episode.end"]


def test_what_finds_nothing_is_a_line_too(alma: ALMA, lines) -> None:
    alma.retrieve("Deploy", "hal")

    assert lines() == [("retrieve", 0, [])]


def test_nothing_is_written_above_debug(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "alma")
    alma.learn("hal", "Deploy", "success")
    alma.retrieve("Deploy", "hal")

    assert not caplog.records
