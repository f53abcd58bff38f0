"""Calls run a few statements, however many memories they are about, and a write runs all of its own on one connection."""

from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from typing import Any

import pytest

from alma import ALMA
from alma.protocols import ListsProjects
from facade import ManualClock, OpenStore
from meetings import MEETING
from statements import Statement, Trace, beside_writes, traced

pytestmark = pytest.mark.not_on("file", "postgres", reason="counts SQLite's statements")

TASK = "Deploy the service"
STRATEGIES = ("blue-green", "canary first", "all at once")
LEARN, NEWCOMER, USAGE, USAGE_OF_RULES, END, END_WITH_RULES, RECENT = 8, 10, 6, 8, 10, 14, 3
"""What calls may run, beside what begins and ends their transactions. Where learned rules were used, their records are read and stored, too."""


@pytest.fixture
def trace() -> Iterator[Trace]:
    with traced() as made:
        yield made


@pytest.fixture
def shop(trace: Trace, open_store: OpenStore) -> ALMA:
    """An agent with rules on a type of tasks, and on a task without a type."""
    alma = open_store()
    for number in range(20):
        for kind in ("deploying", None):
            alma.learn("dev", f"{TASK} {number}" if kind else TASK, number % 4 != 3, STRATEGIES[number % 2], task_type=kind)
    assert alma.list_memories("heuristic")
    return alma


def shown(alma: ALMA, count: int) -> list[str]:
    return [memory.id for memory in alma.list_memories("outcome", limit=count)]


@pytest.mark.parametrize("task_type", ["deploying", None])
@pytest.mark.parametrize("strategy", [*STRATEGIES, None])
@pytest.mark.parametrize("outcome", ["success", "failure", "unverified"])
def test_learning_one_outcome_of_a_task_like_known_ones(
    shop: ALMA, trace: Trace, task_type: str | None, strategy: str | None, outcome: str
) -> None:
    for number in range(6):
        task = f"{TASK} anew {number}" if task_type else TASK
        assert 0 < trace.count(partial(shop.learn, "dev", task, outcome, strategy, task_type=task_type)) <= LEARN


def test_learning_the_first_outcome_of_a_task(shop: ALMA, trace: Trace) -> None:
    assert trace.count(lambda: shop.learn("dev", "Paint the kitchen wall green", "success", "With a brush")) <= LEARN
    assert trace.count(lambda: shop.learn("newcomer", "Feed the cat", "failure", "By hand", task_type="chores")) <= NEWCOMER


@pytest.mark.parametrize("used", [0, 4, 10])
def test_recording_the_use_of_ten_memories(shop: ALMA, trace: Trace, used: int) -> None:
    ids = shown(shop, 10)
    for _ in range(2):  # the second time there are counts to add to
        assert trace.count(lambda: shop.record_usage(ids, ids[:used], agent="dev")) <= USAGE


def learned_rules(alma: ALMA) -> list[str]:
    """Learns until there are several rules, shows them, and returns their ids."""
    for number in range(12):
        alma.learn("dev", f"{TASK} {number}", number % 2 > 0, ("roll forward", "by hand")[number % 2])
    found = alma.retrieve(f"{TASK} once more", agent="dev")
    return [memory.id for memory in found if memory.metadata.get("learned")]


def test_recording_the_use_of_memories_and_learned_rules(shop: ALMA, trace: Trace) -> None:
    rules = learned_rules(shop)
    assert len(rules) >= 3
    ids = [*rules, *shown(shop, 10 - len(rules))]
    for number in range(3):  # after the first time the rules have records
        assert trace.count(lambda: shop.record_usage(ids, ids[::2], agent="dev")) <= USAGE_OF_RULES
        assert trace.count(lambda: shop.record_usage([*ids[:1], *ids[-1:]], ids[:1], agent="dev")) == USAGE_OF_RULES
        shop.learn("dev", f"{TASK} anew {number}", "success", STRATEGIES[0])


def test_the_use_of_many_memories_takes_as_many_statements_as_that_of_few(shop: ALMA, trace: Trace) -> None:
    few, many = shown(shop, 2), shown(shop, 30)
    assert trace.count(lambda: shop.record_usage(many, many[:9], agent="dev")) == trace.count(
        lambda: shop.record_usage(few, few[:1], agent="dev")
    )


@pytest.mark.parametrize("task_type", ["deploying", None])
@pytest.mark.parametrize("used", [None, 0, 4])
def test_ending_an_episode_after_nine_steps(shop: ALMA, trace: Trace, task_type: str | None, used: int | None) -> None:
    episode = shop.episode("dev", f"{TASK} once more", task_type=task_type)
    for number in range(9):
        episode.step(f"Do part {number}", ok=number % 3 != 1, tool=f"tool {number % 2}")
    assert len(episode.memories) >= 5
    if used is not None:
        episode.used(episode.memories.ids[:used])
    count = trace.count(lambda: episode.succeed(strategy=STRATEGIES[0]))
    assert count <= (END if used is None else END_WITH_RULES)


def test_ending_an_episode_that_was_shown_several_rules(shop: ALMA, trace: Trace) -> None:
    rules = learned_rules(shop)
    for _ in range(2):
        episode = shop.episode("dev", f"{TASK} once more")
        for number in range(9):
            episode.step(f"Do part {number}", ok=number % 3 != 1)
        episode.used(rules[:3])
        assert trace.count(partial(episode.succeed, strategy=STRATEGIES[0])) <= END_WITH_RULES


def test_reading_ten_episodes_takes_as_many_statements_as_reading_one(shop: ALMA, trace: Trace, clock: ManualClock) -> None:
    for number in range(10):
        clock.advance(seconds=1)
        with shop.episode("dev", f"Task {number}") as episode:
            for step in range(number):
                episode.step(f"Do part {step}", ok=True)
            episode.succeed(strategy="by hand")
    for limit in (1, 10):
        assert trace.count(partial(shop.recent_episodes, limit)) == RECENT
    assert [len(episode.steps) for episode in shop.recent_episodes(10)] == list(range(9, -1, -1))


def test_an_episode_of_very_many_steps_is_read_whole(alma: ALMA) -> None:
    with alma.episode("dev", "A long one", episode_id="long") as episode:
        for number in range(70):
            episode.step(f"Do part {number}", ok=True)
    assert [step.action for step in alma.get_episode("long").steps] == [f"Do part {number}" for number in range(70)]


def test_keys_of_many_items_are_looked_up_together(shop: ALMA, trace: Trace) -> None:
    def items(count: int) -> list[dict[str, Any]]:
        return [
            {"agent": "dev", "task": f"Send mail {number}", "outcome": "success", "idempotency_key": f"k{number}"}
            for number in range(count)
        ]

    shop.learn_many(items(20))
    assert trace.count(lambda: shop.learn_many(items(20))) == trace.count(lambda: shop.learn_many(items(2))) <= 3


def learn_much(alma: ALMA) -> None:
    """Outcomes that make rules and undo them, one at a time and many at once."""
    for number in range(24):
        outcome = "failure" if number // 6 % 2 else "success"
        alma.learn("dev", f"{TASK} {number}", outcome, STRATEGIES[number % 3], error_message=f"Error {number % 5}")
    alma.learn_many(
        {
            "agent": f"agent{number % 7}",
            "task": f"{TASK} {number}",
            "outcome": number % 3 > 0,
            "strategy_used": STRATEGIES[number % 2],
        }
        for number in range(60)
    )


def attempt(alma: ALMA) -> None:
    for ending in ("success", "failure"):
        episode = alma.episode("dev", TASK, episode_id=f"e-{ending}")
        episode.step("Try", ok=False, error="Not yet")
        episode.step("Try", ok=True)
        episode.used(episode.memories.ids[:2])
        episode.end(ending, strategy=STRATEGIES[0])
    alma.settle("e-failure", "success")
    alma.episode("dev", TASK, episode_id="waits").suspend()
    alma.resume_episode("waits").abandon()


def use(alma: ALMA) -> None:
    ids = shown(alma, 5)
    alma.record_usage(ids, ids[:2], agent="dev")
    alma.record_feedback(ids[0], signal="thumbs_up", agent="dev")


def add(alma: ALMA) -> None:
    alma.register_memory_type(MEETING)
    alma.add_heuristic("dev", "On deploy", "Go blue-green")
    alma.learn("dev", TASK, "success", idempotency_key="once")
    alma.learn("dev", TASK, "success", idempotency_key="once")


def let_go(alma: ALMA) -> None:
    ids = shown(alma, 6)
    alma.forget("dev", memory_ids=ids[:2])
    alma.undo(alma.get_stats().journal_records - 1)
    alma.forget("dev", memory_ids=ids[2:4], purge=True)
    alma.maintain()


def take_in(alma: ALMA) -> None:
    file = BytesIO()
    alma.export(file)
    file.seek(0)
    alma.for_project("another").import_from(file)


@pytest.mark.parametrize("call", [learn_much, attempt, use, add, let_go, take_in])
def test_a_write_reads_through_its_own_connection_alone(shop: ALMA, trace: Trace, call: Callable[[ALMA], None]) -> None:
    """So it cannot wait for a connection that it holds itself, however few a pool gives out."""
    statements = trace.of(lambda: call(shop))
    assert sum(statement.sql.startswith("BEGIN IMMEDIATE") for statement in statements) >= 1
    assert beside_writes(statements) == []


def test_what_runs_beside_a_write_is_noticed() -> None:
    ran = [("BEGIN IMMEDIATE", 1), ("SELECT 1", 1), ("SELECT 2", 2), ("COMMIT", 1), ("SELECT 3", 2)]
    assert [each.sql for each in beside_writes([Statement(*each) for each in ran])] == ["SELECT 2"]


def test_a_call_that_finds_nothing_to_count_leaves_no_project_behind(alma: ALMA) -> None:
    other = alma.for_project("another")
    assert other.record_usage(["nobody"], ["nobody"], agent="dev").unknown == ("nobody",)
    assert isinstance(alma.storage, ListsProjects)
    assert list(alma.storage.project_names()) == []


def test_an_overview_runs_as_many_statements_however_many_rules_and_classes_there_are(shop: ALMA, trace: Trace) -> None:
    def look() -> int:
        shop.overview(verify=False)  # reads what is read once
        return trace.count(lambda: shop.overview(verify=False))

    few = look()
    shop.learn_many(
        {
            "agent": "dev",
            "task": f"{TASK} {kind}",
            "outcome": "success",
            "strategy_used": f"way {kind}",
            "task_type": f"type {kind}",
        }
        for kind in range(30)
        for _ in range(3)
    )
    assert len(shop.list_memories("heuristic")) >= 20
    assert look() <= few + 1
