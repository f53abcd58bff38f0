"""What a write costs does not grow with what others learned, and many outcomes at once are learned as one by one."""

import sqlite3
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from alma import ALMA
from facade import ManualClock, OpenStore
from learned import counts, evidence

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
            found.append({one.id: (one.lifetime, one.unverified) for one in evidence(alma)})
    assert found[0] == found[1]


@pytest.mark.slow
def test_more_tasks_than_are_held_come_twice_and_once_more_after_reopening(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alma.learning.ledger.MOST_CELLS", 500)
    alma = open_store()
    tasks = ["".join(letters) for letters in permutations("bdgklmrt", 5)][:540]
    told = [{"agent": "dev", "task": task, "outcome": "success", "strategy_used": "by hand"} for task in tasks]
    alma.learn_many([*told, *told])
    alma.close()
    alma = open_store()
    alma.learn_many(told[:60])
    assert alma.verify().ok
    trials = {one.task: one.lifetime.trials for one in evidence(alma)}
    assert trials == {task: 3 if place < 60 else 2 for place, task in enumerate(tasks)}


@pytest.mark.parametrize("is_settled", [False, True])
def test_what_is_too_old_to_be_held_of_a_held_task_is_read_before_it_counts_again(
    open_store: OpenStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, is_settled: bool
) -> None:
    monkeypatch.setattr("alma.learning.ledger.MOST_CELLS", 4)
    with open_store() as alma:
        with alma.episode("dev", "Deploy the shop", episode_id="old") as episode:
            episode.end("success", strategy="by hand")
        for number in range(4):
            alma.learn("dev", "Deploy the shop", "failure", "by bot")
            clock.advance(minutes=1)
            alma.learn("dev", f"Feed cat {number // 2}", "success", f"way {number}")
        alma.learn("dev", "Deploy the shop", "failure", "by bot")
    with open_store() as alma:
        if is_settled:
            alma.settle("old", "failure")
        else:
            alma.learn("dev", "Deploy the shop", "success", "by hand")
        assert counts(alma)["by hand"] == ((0, 1) if is_settled else (2, 2))
        assert alma.verify().ok


def test_the_rules_of_users_rest_on_what_is_too_old_to_be_held(
    open_store: OpenStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alma.learning.ledger.MOST_CELLS", 4)
    for number in range(24):
        with open_store() as alma:
            clock.advance(minutes=1)
            task = ("Deploy the shop", "Deploy the shop again", "Feed the cat")[number % 3]
            user = (None, "ann", "bob")[number % 4 % 3]
            alma.learn("dev", task, number % 5 > 1, f"way {number % 2}", user_id=user)
    with open_store() as alma:
        assert sum(one.lifetime.trials for one in evidence(alma)) == 24
        assert alma.verify().ok


def test_the_evidence_of_one_agent_that_goes_on_learning_is_bounded(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("MOST_CELLS", 20), ("MOST_HELD", 40), ("MOST_GROWN", 40)):
        monkeypatch.setattr(f"alma.learning.ledger.{name}", size)
    held = []
    with open_store() as alma:
        for number in range(200):
            alma.learn("dev", f"Task {number}", number % 3 > 0, f"way {number % 2}")
            ledger = alma._room.ledger
            assert ledger is not None
            held.append(sum(book.held for book in ledger.books.values()))
        assert 40 < max(held) <= 20 + 40 + 10  # it is looked at after ten learns
        assert sum(one.lifetime.trials for one in evidence(alma)) == 200
        assert alma.verify().ok
        here = {row.strategy for row in alma.strategies(agent="dev").rows}
    with open_store() as alma:
        assert {row.strategy for row in alma.strategies(agent="dev").rows} == here == {"way 0", "way 1"}


def test_all_agents_stay_in_hand_while_there_is_room(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("MOST_BOOKS", 40), ("MOST_HELD", 160)):
        monkeypatch.setattr(f"alma.learning.ledger.{name}", size)
    items = [
        {"agent": f"agent{number}", "task": "Clean up", "outcome": "success", "strategy_used": "by hand"} for number in range(38)
    ]
    for _ in range(4):
        alma.learn_many(items)
    ledger = alma._room.ledger
    assert ledger is not None
    assert len(ledger.books) == 38
    alma.learn_many({**item, "agent": f"{item['agent']} too"} for item in items)
    assert alma._room.ledger is not None
    assert len(alma._room.ledger.books) == 30  # three quarters, so that the next call does not evict again


@pytest.mark.slow
def test_what_is_kept_in_hand_between_calls_is_bounded(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    most_books, most_held = 256, 2_048  # an eighth of what is usual
    for name, size in (("MOST_BOOKS", most_books), ("MOST_HELD", most_held), ("MOST_GROWN", 1_024)):
        monkeypatch.setattr(f"alma.learning.ledger.{name}", size)
    many = 2 * most_books + 30
    told = {"task": "Clean up", "outcome": "success"}
    alma.learn_many(
        {**told, "agent": f"agent{number}", "task_type": f"type {number}", "strategy_used": "by hand"}
        for number in [*range(many), *range(many)]
    )
    alma.learn_many({**told, "agent": f"agent{number}"} for number in range(many))
    alma.learn_many(
        {"agent": "dev", "task": f"Task {number}", "outcome": "success", "strategy_used": f"Strategy {number}", "task_type": kind}
        for number in range(180)
        for kind in ("one", None)
    )
    ledger = alma._room.ledger
    assert ledger is not None
    assert len(ledger.books) <= most_books
    assert sum(book.held for book in ledger.books.values()) <= most_held
    assert len(ledger.kept_vectors) <= most_held
