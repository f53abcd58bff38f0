"""Maintenance and keys among processes: done once, and none the worse for a process that is killed in the middle."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from alma import ALMA, Outcome
from alma.memory.admin.maintaining import PART
from facade import START, Place
from other_process import OtherProcess

pytestmark = pytest.mark.any_store

SETUP = """
from alma import ALMA
alma = {opening}
"""

KILLED_AFTER_A_PART = """
import os, signal
from alma import ALMA
from alma.types.identity import utc_now
def clock():
    if stored and stored.head() > head:
        os.kill(os.getpid(), signal.SIGKILL)
    return utc_now()
stored = None
alma = ALMA.open({folder!r}, project_id="shop", embedding_provider="hash", clock=clock, **{options!r})
stored = alma.storage.project("shop")
head = stored.head()
"""
"""A process that dies when it next reads its clock after it has written something."""


@pytest.fixture
def newest(place: Place) -> Place:
    """A store that keeps the newest outcome alone."""
    return replace(place, options={**place.options, "forgetting": {"outcome": {"window": 1}}})


def _other(place: Place) -> OtherProcess:
    return OtherProcess(SETUP.format(opening=place.opening))


def _fill(alma: ALMA, count: int) -> None:
    alma.add_many(
        Outcome(agent="a", task_description=f"Task {number}", task_type="testing", timestamp=START) for number in range(count)
    )


@pytest.mark.slow
def test_of_two_processes_for_which_it_is_due_one_runs(newest: Place) -> None:
    with newest.open() as alma:
        _fill(alma, 40)
        with _other(newest) as first, _other(newest) as second, ThreadPoolExecutor(2) as threads:
            asked = "(lambda report: (report.ran, report.total))(alma.maintain(due_only=True))"
            told = list(threads.map(lambda process: process.ask(asked), (first, second)))
        assert sorted(told) == ["(False, 0)", "(True, 39)"]
        assert alma.get_stats().by_kind == {"outcome": 1}
        assert alma.verify().ok


@pytest.mark.slow
def test_a_process_killed_between_two_parts_leaves_the_rest_to_the_next_run(newest: Place) -> None:
    with newest.open() as alma:
        _fill(alma, PART + 8)
        with OtherProcess(KILLED_AFTER_A_PART.format(folder=str(newest.folder), options=newest.options)) as other:
            assert other.ask("alma.maintain()") == ""
        assert alma.get_stats().by_kind == {"outcome": 8}
        assert alma.verify().ok
        assert not alma.maintain(due_only=True).ran
        assert alma.maintain().total == 7


@pytest.mark.slow
def test_a_key_that_two_processes_send_counts_once(newest: Place) -> None:
    with newest.open() as alma:
        with _other(newest) as first, _other(newest) as second, ThreadPoolExecutor(2) as threads:
            asked = "alma.learn('dev', 'Deploy the service', 'success', 'blue-green', idempotency_key='run 7').id"
            told = list(threads.map(lambda process: process.ask(asked), (first, second)))
        assert told[0] == told[1]
        assert alma.get_stats().by_kind == {"outcome": 1}
        assert alma.verify().ok
