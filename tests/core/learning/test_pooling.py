"""The estimate behind advice: what is summed, how sure it is, and what a strategy is compared with."""

from collections.abc import Sequence

import numpy as np
import pytest

from alma.evidence import Tally
from alma.learning.comparing import compared
from alma.learning.experience import Advice, Experience, Question
from alma.learning.intervals import jeffreys
from alma.learning.pooling import LENT, Nearness, Usual, pooled, usual_rates
from alma.learning.sameness import BY_VECTORS
from alma.learning.task_kernels import TaskKernels

A, B = 0, 1
Run = tuple[str, int, float, float]
"""A task, a strategy, successes and trials."""


def experience_of(
    runs: Sequence[Run], *, kind: str | None = "deploy", strategies: int = 2, same: np.ndarray | None = None
) -> Experience:
    """One cell a run; every task is of one type."""
    tasks = list(dict.fromkeys(run[0] for run in runs))
    successes, trials = np.array([run[2] for run in runs], float), np.array([run[3] for run in runs], float)
    return Experience(
        tasks=tasks,
        task_vectors=np.tile(np.eye(1, 8, dtype=np.float32), (len(tasks), 1)),
        task_types=[kind] * len(tasks),
        strategies=[f"way {number}" for number in range(strategies)],
        same=np.eye(strategies) if same is None else same,
        cell_task=np.array([tasks.index(run[0]) for run in runs], np.intp),
        cell_strategy=np.array([run[1] for run in runs], np.intp),
        successes=successes,
        trials=trials,
        recent_successes=successes,
        recent_trials=trials,
        vote=successes / np.maximum(trials, 1),
        weight=np.ones(len(runs)),
    )


def asked(experience: Experience, task: str = "new", kind: str | None = "deploy") -> Advice:
    kernels = TaskKernels(None, 8)
    for text, task_type, vector in zip(experience.tasks, experience.task_types, experience.task_vectors, strict=True):
        kernels.add(text, task_type, vector)
    near = kernels.nearness(Question(task, np.eye(1, 8, dtype=np.float32)[0], kind), lambda _: experience)
    cells = experience.successes, experience.trials, experience.weight, experience.cell_strategy
    return pooled(experience, near, usual_rates(*cells, experience.same))


def test_expected_is_drawn_to_the_agents_rate_by_two_trials() -> None:
    given = asked(experience_of([("t1", A, 1, 1), ("t2", A, 1, 1), ("t3", A, 0, 1)]))
    assert given.base == pytest.approx(3 / 5)
    assert given.expected[A] == pytest.approx((2 + 2 * given.base) / 5)


def test_of_strategies_that_sound_alike_the_one_that_itself_succeeds_is_expected_to() -> None:
    alike = np.array([[1.0, 0.95], [0.95, 1.0]])
    runs = [(f"t{number}", number % 2, float(number % 2 == A), 1) for number in range(12)]
    given = asked(experience_of(runs, same=alike))

    assert given.trials.tolist() == pytest.approx([6 + 0.95 * 6] * 2)
    assert given.expected[A] > 0.6
    assert given.expected[B] < 0.4


def test_what_a_strategy_usually_does_on_tasks_hardly_alike_is_no_evidence() -> None:
    known = experience_of([(f"t{number}", A, 1, 1) for number in range(40)])
    hardly = np.full(40, 0.1)
    given = pooled(known, Nearness(hardly, hardly, np.zeros(40, bool), np.zeros(40, np.intp)), Usual(0.5, np.array([1.0, 0.5])))
    assert given.expected[A] == pytest.approx((0.4 + 2 * 0.5) / (0.4 + 2))


def test_a_strategy_in_other_words_lends_its_trials() -> None:
    cells = np.array([1.0, 0.0]), np.ones(2), np.ones(2), np.array([A, B])
    assert usual_rates(*cells, np.ones((2, 2))).rates.tolist() == [0.5, 0.5]
    lent = 0.9 * LENT
    rates = usual_rates(*cells, np.array([[1.0, 0.9], [0.9, 1.0]])).rates
    assert rates.tolist() == pytest.approx([(1 + 2 * 0.5) / (1 + lent + 2), (lent + 2 * 0.5) / (1 + lent + 2)])


def test_an_untried_strategy_is_expected_at_the_agents_rate() -> None:
    given = asked(experience_of([("t1", A, 1, 1)]))
    assert given.expected[B] == given.base
    assert (given.lower[B], given.upper[B], given.nearest[B]) == (0, 1, -1)


def test_without_any_outcome_all_is_a_half() -> None:
    given = asked(experience_of([]))
    assert given.expected.tolist() == [0.5, 0.5]


def test_retries_of_one_task_count_less_than_as_many_tasks() -> None:
    retried = asked(experience_of([("t1", A, 5, 5), ("t2", A, 0, 5)]))
    apart = asked(experience_of([(f"t{number}", A, float(number < 5), 1) for number in range(10)]))
    assert retried.trials[A] < 4 < apart.trials[A]
    assert retried.upper[A] - retried.lower[A] > apart.upper[A] - apart.lower[A]


def test_runs_of_the_very_task_count_whole() -> None:
    experience = experience_of([("t1", A, 5, 5), ("t2", A, 0, 5)])
    assert asked(experience, task="T1").trials[A] == pytest.approx(5 + asked(experience).trials[A] / 2)


def test_the_number_of_tasks_is_told_beside_plain_counts() -> None:
    given = asked(experience_of([("t1", A, 4, 5), ("t2", A, 1, 1), ("t1", B, 0, 1)]))
    assert (given.whole_successes[A], given.whole_trials[A], given.whole_tasks[A]) == (5, 6, 2)
    assert given.effective_tasks[A] == pytest.approx(2)


def test_strategies_that_are_the_same_share_their_outcomes() -> None:
    runs = [("t1", A, 1, 1), ("t2", B, 1, 1)]
    given = asked(experience_of(runs, same=np.array([[1, 0.8], [0.8, 1]])))
    assert given.trials.tolist() == pytest.approx([1.8, 1.8])
    assert given.whole_trials.tolist() == [2, 2]


def test_a_task_done_twice_in_other_words_is_one_cluster() -> None:
    same = np.ones((2, 2))
    once = asked(experience_of([("t1", A, 2, 2), ("t2", A, 0, 2)]))
    twice = asked(experience_of([("t1", A, 1, 1), ("t1", B, 1, 1), ("t2", A, 0, 1), ("t2", B, 0, 1)], same=same))
    assert twice.trials[A] == pytest.approx(once.trials[A], rel=0.3)
    assert twice.trials[A] < 3


def test_what_came_later_counts_more_for_what_holds_now() -> None:
    given = asked(experience_of([(f"t{number}", A, float(number < 30), 1) for number in range(40)]))
    assert given.recent[A] < 0.5 < given.successes[A] / given.trials[A]
    assert 0.0 < given.change[A] < 1.0
    assert given.recent_lower[A] == given.lower[A] <= given.expected[A] <= given.upper[A]
    given = asked(experience_of([(f"t{number}", A, float(number < 30), 1) for number in range(50)]))
    assert given.change[A] == 1.0
    assert given.lower[A] <= given.expected[A] <= given.upper[A] == given.recent_upper[A] < 0.5


def test_what_has_clearly_changed_is_expected_as_it_is_now() -> None:
    steady = asked(experience_of([(f"t{number}", A, float(number % 6 < 5), 1) for number in range(66)]))
    fallen = asked(experience_of([(f"t{number}", A, float(number < 55), 1) for number in range(66)]))
    risen = asked(experience_of([(f"t{number}", A, float(number >= 33), 1) for number in range(66)]))
    assert steady.expected[A] == pytest.approx(5 / 6, abs=0.02)
    assert fallen.expected[A] < 0.55
    assert risen.expected[A] > 0.8


def test_harder_tasks_do_not_make_a_strategy_worse() -> None:
    runs = [("easy", A, 9, 10), ("easy", B, 72, 90), ("hard", A, 36, 90), ("hard", B, 3, 10)]
    given = asked(experience_of(runs))
    assert given.lift[A] == pytest.approx(0.1, abs=0.01)
    assert given.lift_lower[A] < 0.1 < given.lift_upper[A]


def test_tasks_of_one_type_are_one_stratum() -> None:
    easy, hard = 0, 1
    trials = np.array([[10, 0, 90, 0], [0, 90, 0, 10]], float)
    successes = trials * np.array([[0.9, 0, 0.4, 0], [0, 0.8, 0, 0.3]])
    found = compared((successes, trials), (successes, trials), np.eye(2), strata=np.array([easy, easy, hard, hard]))
    assert found.lift == pytest.approx([0.1, -0.1])
    assert found.others.tolist() == [100, 100]


def test_equally_good_strategies_have_no_lift() -> None:
    runs = [(f"t{number}", number % 2, float(number % 4 < 2), 1.0) for number in range(80)]
    given = asked(experience_of(runs))
    assert given.lift[A] == pytest.approx(0)
    assert given.better[A] == pytest.approx(0.5)
    assert given.others[A] == 40


def test_without_others_there_is_nothing_to_compare_with() -> None:
    given = asked(experience_of([("t1", A, 1, 1)]))
    assert (given.lift[A], given.lift_lower[A], given.lift_upper[A], given.better[A], given.others[A]) == (0, -1, 1, 0.5, 0)


def test_one_way_in_two_wordings_is_not_compared_with_itself() -> None:
    alike = np.array([[1.0, BY_VECTORS], [BY_VECTORS, 1.0]])
    given = asked(experience_of([(f"t{number}", number % 2, float(number % 2 == A), 1) for number in range(12)], same=alike))
    assert (given.lift.tolist(), given.others.tolist()) == ([0, 0], [0, 0])


def test_the_nearest_task_is_told_by_its_outcome() -> None:
    given = asked(experience_of([("t1", A, 1, 1), ("t2", B, 0, 1)]))
    assert (given.near_successes.tolist(), given.near_failures.tolist()) == ([1, -1], [-1, 1])


def test_outcomes_of_another_agent_weigh_less() -> None:
    experience = experience_of([("t1", A, 1, 1), ("t2", B, 1, 1)])
    experience.weight[1] = 0.25
    given = asked(experience)
    assert given.trials.tolist() == [1, 0.25]


@pytest.mark.parametrize("trials", [0.3, 1, 7, 40.5, 3_000])
@pytest.mark.parametrize("rate", [0, 0.01, 0.5, 0.93, 1])
def test_bounds_are_those_of_jeffreys_prior(trials: float, rate: float) -> None:
    exact = Tally(rate * trials, trials).interval()
    lower, upper = jeffreys(np.array([rate * trials]), np.array([trials]))
    assert (lower[0], upper[0]) == pytest.approx((exact.lower, exact.upper), abs=0.002)


def test_a_way_that_never_failed_is_as_good_as_it_was_when_one_that_sounds_alike_fails() -> None:
    runs = [(f"t{number}", A, 1, 1) for number in range(20)] + [(f"t{number}", B, 0, 1) for number in range(20, 40)]
    given = asked(experience_of(runs, same=np.array([[1, 0.6], [0.6, 1]])))
    assert given.change[A] == 0.0
    assert given.expected[A] > 0.75


def test_harder_tasks_that_come_late_are_no_change() -> None:
    runs = [(f"t{number}", A, float(number < 40), 1) for number in range(60)]
    experience = experience_of(runs)
    one, zero = np.ones(60), np.zeros(60, np.intp)
    for kinds, has_changed in ((zero, True), (np.repeat([0, 1], [40, 20]), False)):
        near = Nearness(weights=one, cosines=one, is_own=np.zeros(60, bool), types=kinds)
        given = pooled(experience, near, Usual(0.5, np.full(2, 0.5)))
        assert bool(given.change[A] > 0) is has_changed
