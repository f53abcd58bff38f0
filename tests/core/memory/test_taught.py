"""What a project has learned, at a glance: as `overview` gives it."""

import pytest

from alma import ALMA
from alma.types.overview import LearningView
from facade import START, ManualClock

TASK = "Deploy the auth service"


def learned(alma: ALMA) -> LearningView:
    return alma.overview(verify=False).learning


def learn(alma: ALMA, outcome: str, strategy: str, times: int, *, task: str = TASK, agent: str = "victor") -> None:
    for _ in range(times):
        alma.learn(agent, task, outcome, strategy)


def rules(alma: ALMA) -> dict[str, int]:
    return {one.name: one.count for one in learned(alma).rules}


def test_nothing_was_learned_at_first(alma: ALMA) -> None:
    assert learned(alma) == LearningView()


def test_strategies_are_told_by_class_the_largest_first(alma: ALMA) -> None:
    learn(alma, "success", "blue-green deployment", 4)
    learn(alma, "failure", "rolling update", 2)
    learn(alma, "success", "empty fields first", 9, task="Test the login form", agent="helena")
    view = learned(alma)

    assert [(one.agent, one.task, one.trials, one.successes) for one in view.classes] == [
        ("helena", "Test the login form", 9, 9),
        ("victor", TASK, 6, 4),
    ]
    assert [(row.strategy, row.successes, row.trials) for row in view.classes[1].rows] == [
        ("blue-green deployment", 4, 4),
        ("rolling update", 0, 2),
    ]


def test_no_more_are_told_than_a_person_reads_and_how_many_there_are(alma: ALMA) -> None:
    for number in range(10):
        for _ in range(2):
            alma.learn("victor", f"Task {number}", "success", "by hand", task_type=f"type {number}")
    for number in range(8):
        learn(alma, "success", f"{'abcdefgh'[number] * 9} {'qrstuvwx'[number] * 9}", 3)
    view = learned(alma)

    assert (len(view.classes), view.all_classes) == (8, 11)
    assert (len(view.classes[0].rows), view.classes[0].strategies) == (6, 8)


def test_steps_of_episodes_are_neither_classes_nor_runs(alma: ALMA) -> None:
    with alma.episode(agent="victor", task=TASK) as episode:
        for _ in range(3):
            episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
        episode.succeed(strategy="blue-green deployment")
    view = learned(alma)

    assert [[row.strategy for row in one.rows] for one in view.classes] == [["blue-green deployment"]]
    assert [(group.trials, group.successes) for group in view.runs] == [(1, 1)]


def test_what_named_no_strategy_is_a_run_but_no_row(alma: ALMA) -> None:
    alma.learn("victor", TASK, "success")
    view = learned(alma)

    assert (view.classes, view.all_classes) == ((), 0)
    assert [group.trials for group in view.runs] == [1]


def test_a_rule_is_counted_on_the_day_of_the_outcome_that_made_it_while_it_follows(alma: ALMA, clock: ManualClock) -> None:
    learn(alma, "success", "blue-green deployment", 2)
    clock.advance(days=1)
    learn(alma, "success", "blue-green deployment", 3)
    assert [(one.day, one.name, one.count) for one in learned(alma).rules] == [(clock().date(), "formed", 1)]

    clock.advance(days=1)
    learn(alma, "failure", "blue-green deployment", 5)
    assert rules(alma) == {}


@pytest.mark.parametrize("purge", [False, True])
def test_a_rule_that_was_forgotten_is_not_counted(alma: ALMA, purge: bool) -> None:
    learn(alma, "success", "blue-green deployment", 4)
    (rule,) = alma.list_memories("heuristic")
    alma.forget(memory_ids=[rule.id], purge=purge)

    assert rules(alma) == {}


def test_stated_rules_are_not_among_those_that_were_formed(alma: ALMA) -> None:
    alma.add_anti_pattern("victor", "Using sleep()", "Flaky tests")
    assert rules(alma) == {}


def test_runs_are_counted_ten_by_ten_in_the_order_of_time(alma: ALMA, clock: ManualClock) -> None:
    for number in range(25):
        alma.learn("victor", f"{TASK} {number}", "success" if number >= 10 else "failure")
        clock.advance(hours=1)
    alma.learn("victor", TASK, "partial")
    alma.learn("victor", TASK, "unverified")
    groups = learned(alma).runs

    assert [(group.trials, group.successes) for group in groups] == [(10, 0), (10, 10), (6, 5.5)]
    assert groups[0].first == START
    assert groups[0].interval.upper < 0.3 < 0.7 < groups[1].interval.lower
    assert groups[2].share == pytest.approx(5.5 / 6)


def test_many_runs_make_larger_groups(alma: ALMA) -> None:
    alma.learn_many([{"agent": "victor", "task": TASK, "outcome": "success"} for _ in range(601)])
    groups = learned(alma).runs

    assert len(groups) <= 30
    assert sum(group.trials for group in groups) == 601


def test_the_largest_classes_of_all_agents_are_shown(alma: ALMA) -> None:
    for number in range(12):
        agent = f"agent-{number % 3}"
        alma.learn_many(
            {"agent": agent, "task": "Deploy", "outcome": "success", "strategy_used": "canary", "task_type": f"type {number}"}
            for _ in range(number + 1)
        )
    view = learned(alma)

    assert [(one.agent, one.task_type, one.trials) for one in view.classes] == [
        (f"agent-{number % 3}", f"type {number}", number + 1) for number in reversed(range(4, 12))
    ]
    assert view.all_classes == 12
