"""What a write costs does not grow with what others learned, and many outcomes at once are learned as one by one."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from alma import ALMA
from alma.types.strategies import StrategyRecord
from facade import ManualClock, OpenStore

pytestmark = pytest.mark.not_on("file", "postgres", reason="counts the pages that SQLite writes")

A_TICK = 10


class Ticks:
    """Counts the steps of SQLite's virtual machine, over all connections that are opened from now on."""

    def __init__(self) -> None:
        self.count = 0
        self._connect = sqlite3.connect

    def connect(self, path: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = self._connect(path, **options)
        if path != ":memory:":
            connection.set_progress_handler(self.tick, A_TICK)
        return connection

    def tick(self) -> None:
        self.count += A_TICK

    def of(self, call: Callable[[], object]) -> int:
        before = self.count
        call()
        return self.count - before


@pytest.fixture
def ticks(mocker: MockerFixture) -> Ticks:
    made = Ticks()
    mocker.patch("sqlite3.connect", made.connect)
    return made


def crowd(alma: ALMA, count: int, task_type: str | None) -> None:
    """Outcomes of many agents, each with tasks of its own."""
    alma.learn_many(
        {"agent": f"agent{number % 50}", "task": f"Task {number}", "outcome": "success", "task_type": task_type}
        for number in range(count)
    )


@pytest.mark.slow
@pytest.mark.parametrize("task_type", [None, "chores"])
def test_an_agent_that_comes_in_reads_as_much_beside_thousands_of_outcomes_as_beside_a_few(
    ticks: Ticks, open_store: OpenStore, task_type: str | None
) -> None:
    steps = []
    for size in (100, 2_000):
        with open_store(f"{size}") as alma:
            crowd(alma, size, task_type)
        with open_store(f"{size}") as alma:
            alma.learn("first", "Open the ledger", "success", "by hand", task_type=task_type)
            steps.append(
                ticks.of(lambda alma=alma: alma.learn("newcomer", "Feed the cat", "success", "by hand", task_type=task_type))
            )
    assert steps[1] < 1.5 * steps[0]


ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "agent": st.sampled_from(["ann", "bob"]),
            "task": st.sampled_from(
                ["Deploy the service", "Deploy a service", "Write the tests", "Feed the cat", "feed the cat!"]
            ),
            "task_type": st.sampled_from([None, None, "chores", "Chores"]),
            "strategy_used": st.sampled_from([None, "By hand", "by hand!", "Use a script", "Using scripts", "Ask Ann"]),
            "outcome": st.sampled_from(["success", "failure", "partial", "unverified"]),
        }
    ),
    min_size=2,
    max_size=20,
)


IDS = {"id": "", "heuristic_id": None, "anti_pattern_id": None, "outcome_ids": ()}


def tried(alma: ALMA, agent: str) -> list[StrategyRecord]:
    """All that an agent tried, as one table and by task."""
    tables = [alma.strategies(agent=agent, limit=100)]
    tables += [alma.strategies(task, agent, limit=100) for task in ("Deploy the service", "Write the tests", "Feed the cat")]
    return [row for table in tables for row in table]


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(before=ITEMS, items=ITEMS)
def test_many_outcomes_at_once_are_counted_as_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, before: list[dict[str, Any]], items: list[dict[str, Any]]
) -> None:
    found = []
    for at_once in (True, False):
        folder = tmp_path_factory.mktemp("store")
        with ALMA.open(folder, project_id="shop", embedding_provider="hash", clock=ManualClock()) as alma:
            alma.learn_many(before)
        with ALMA.open(folder, project_id="shop", embedding_provider="hash", clock=ManualClock()) as alma:
            if at_once:
                alma.learn_many(items)
            else:
                for item in items:
                    alma.learn(**item)
            assert alma.verify().ok
            found.append([[row.model_copy(update=IDS) for row in tried(alma, agent)] for agent in ("ann", "bob")])
    assert found[0] == found[1]
