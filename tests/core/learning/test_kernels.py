"""How near tasks are: what fits the kernels, and what nearness promises."""

import numpy as np
import pytest

from alma.learning.experience import Experience, Question
from alma.learning.kernels import MEASURED, UNTYPED, Calibration, by_type
from alma.learning.names import names_in
from alma.learning.pooling import Nearness
from alma.learning.task_kernels import TaskKernels
from alma.learning.task_space import Sight
from alma.text import words

CALIBRATION = MEASURED
SERVICES = ("billing", "search", "checkout", "the media store", "ledger", "inventory")
WORDINGS = ("deploy {} to production", "please restart {} now", "who may log in to {} today")
DIMENSION = 64


def experience_of(tasks: int) -> Experience:
    """One strategy, tried once on each task, with success."""
    ones, places = np.ones(tasks), np.arange(tasks)
    return Experience(
        tasks=[""] * tasks,
        task_vectors=np.zeros((tasks, DIMENSION), np.float32),
        task_types=[None] * tasks,
        strategies=["canary"],
        same=np.eye(1),
        cell_task=places,
        cell_strategy=np.zeros(tasks, np.intp),
        successes=ones,
        trials=ones,
        recent_successes=ones,
        recent_trials=ones,
        vote=ones,
        weight=ones,
    )


def kernels_of(
    tasks: list[str], types: list[str | None] | None = None, calibration: Calibration | None = CALIBRATION
) -> TaskKernels:
    kernels = TaskKernels(calibration, DIMENSION)
    for task, task_type in zip(tasks, types or [None] * len(tasks), strict=True):
        kernels.add(task, task_type, vector_of(task))
    return kernels


def near(kernels: TaskKernels, asked: Question) -> Nearness:
    return kernels.nearness(asked, experience_of)


def vector_of(task: str) -> np.ndarray:
    """A sum of one direction a word."""
    total = np.sum([np.random.default_rng(list(word.encode())).normal(size=DIMENSION) for word in words(task)], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


def question(task: str, task_type: str | None = None) -> Question:
    return Question(task, vector_of(task), task_type)


def all_tasks() -> list[str]:
    return [wording.format(name) for name in SERVICES for wording in WORDINGS] + [f"hello {name}" for name in ("tom", "ann")]


def test_names_are_what_fills_several_frames() -> None:
    assert set(names_in(all_tasks()).numbers) >= {
        ("billing",),
        ("search",),
        ("checkout",),
        ("media", "store"),
        ("ledger",),
        ("inventory",),
    }


def test_a_name_may_have_several_words() -> None:
    names = ("order 10482 of Mr Lehmann", "case 93 for Northwind", "ticket 7 from Priya Nair")
    known = names_in([wording.format(name) for name in names for wording in WORDINGS])

    assert all(known.within(f"cancel {name} today") for name in names)
    assert len(known.within("deploy case 93 for Northwind to production")) == 1


def test_verbs_at_the_beginning_are_no_names() -> None:
    tasks = [f"{verb} {service}" for verb in ("deploy", "restart", "stop") for service in SERVICES]
    assert set(names_in(tasks).numbers).isdisjoint({("deploy",), ("restart",), ("stop",)})


def test_the_longest_name_of_a_text_counts() -> None:
    names = names_in(all_tasks())
    assert names.within("Restart the media store") == [names.numbers["media", "store"]]


def test_without_names_tasks_of_one_wording_are_nearer() -> None:
    tasks = all_tasks()
    kernels = kernels_of(tasks)
    asked = question("deploy billing to production")
    plain = kernels.vectors @ asked.vector
    other = tasks.index("deploy inventory to production")
    assert near(kernels, asked).cosines[other] > plain[other] + 0.1


def test_the_same_words_are_the_same_task() -> None:
    found = near(kernels_of(["Water the plants!", "count the stock"]), question("water the plants"))
    assert (found.weights[0], found.cosines[0]) == (1, 1)
    assert found.is_own.tolist() == [True, False]


def test_of_two_types_only_the_same_counts() -> None:
    found = near(kernels_of(["a b", "c d", "c d e"], ["x", "y", None]), question("c d", "x"))
    assert found.weights[:2].tolist() == found.cosines[:2].tolist() == [1, 0]
    assert 0 < found.weights[2] < 1


def test_a_type_that_is_not_known_is_no_other() -> None:
    assert near(kernels_of(["a b"], ["x"]), question("a b", "new")).weights.tolist() == [0]


def test_the_same_task_of_another_type_is_another_task() -> None:
    assert near(kernels_of(["fix the bug"], ["frontend"]), question("fix the bug", "backend")).weights.tolist() == [0]


def test_a_task_that_was_always_of_one_type_is_asked_about_as_of_that_type() -> None:
    kernels = kernels_of(["fix the bug", "paint the door"], ["frontend", "frontend"])
    assert near(kernels, question("fix the bug")).weights.tolist() == [1, 1]


def test_without_calibration_only_the_same_task_and_type_count() -> None:
    kernels = kernels_of(["a b c", "a b d", "e f"], [None, None, "x"], calibration=None)
    untyped, typed = near(kernels, question("A b c")), near(kernels, question("g", "x"))
    assert (untyped.weights.tolist(), typed.weights.tolist()) == ([1, 0, 0], [0, 0, 1])


def test_kernels_know_the_tasks_that_came_since_they_were_fitted() -> None:
    tasks = all_tasks()
    kernels = kernels_of(tasks)
    near(kernels, question("count stock"))
    kernels.add("restart the ledger at night", None, vector_of("restart the ledger at night"))
    found = near(kernels, question("Restart the ledger at night"))
    assert len(found.weights) == len(tasks) + 1
    assert (found.weights[-1], found.cosines[-1]) == (1, pytest.approx(1, abs=1e-5))


def test_growing_leaves_what_was_known_as_it_is() -> None:
    kernels = kernels_of(all_tasks())
    asked = question("deploy search to production")
    before = near(kernels, asked).weights
    kernels.add("count stock", None, vector_of("count stock"))
    assert near(kernels, asked).weights[:-1] == pytest.approx(before)


def test_the_fit_is_the_same_whenever_it_is_asked_for() -> None:
    asked = question("deploy search to production")
    at_once = kernels_of([*all_tasks(), "count stock"])
    grown = kernels_of(all_tasks())
    near(grown, asked)
    grown.add("count stock", None, vector_of("count stock"))
    assert near(at_once, asked).weights == pytest.approx(near(grown, asked).weights)


def test_an_empty_experience_has_nothing_near() -> None:
    found = near(kernels_of([]), question("a"))
    assert len(found.weights) == len(found.cosines) == 0


def test_tasks_at_both_ends_of_a_row_of_near_ones_are_alike() -> None:
    angles = np.deg2rad(np.arange(12) * 14)
    rows = [
        np.outer(np.cos(angles), one) + np.outer(np.sin(angles), other)
        for one, other in np.eye(6, dtype=np.float32).reshape(3, 2, 6)
    ]
    first = Sight.of(np.concatenate(rows).astype(np.float32))
    once = first.profiles(first.landmarks)
    twice = Sight.of(once).profiles(once)
    assert first.landmarks[0] @ first.landmarks[10] < -0.7
    assert once[0] @ once[10] < 0.1 < 0.5 < twice[0] @ twice[10]
    assert max(twice[0] @ twice[12:].T) < 0


def test_a_question_without_a_type_is_compared_with_the_tasks_of_the_type_that_it_is_probably_of() -> None:
    deploys = [f"deploy the {name} service" for name in ("billing", "search", "ledger")]
    logins = [f"who may log in to {name}" for name in ("billing", "search", "ledger")]
    types = ["deployment"] * 3 + ["access"] * 3
    typed, untyped = kernels_of([*deploys, *logins], types), kernels_of([*deploys, *logins])
    asked = question("deploy the mail service")

    weights, without = near(typed, asked).weights, near(untyped, asked).weights

    assert (weights[:3] > without[:3]).all()
    assert (weights[3:] < without[3:]).all()
    assert near(typed, question("paint kitchen walls")).weights.max() < 0.1


def test_a_single_type_parts_nothing() -> None:
    tasks = [f"deploy the {name} service" for name in ("billing", "search", "ledger")]
    asked = question("deploy the mail service")
    assert np.array_equal(near(kernels_of(tasks, ["deployment"] * 3), asked).weights, near(kernels_of(tasks), asked).weights)


def test_the_means_of_types_follow_vectors_that_come_later() -> None:
    tasks, types = ["deploy billing", "deploy search", "log in", "log out"], ["deployment", "deployment", "access", "access"]
    late = TaskKernels(CALIBRATION, DIMENSION)
    for task, task_type in zip(tasks, types, strict=True):
        late.add(task, task_type, np.zeros(DIMENSION, np.float32))
    asked = question("deploy mail")
    near(late, asked)
    for number, task in enumerate(tasks):
        late.complete(number, task, vector_of(task))
    assert near(late, asked).weights == pytest.approx(near(kernels_of(tasks, types), asked).weights)


def test_tasks_without_a_type_are_not_of_one_type() -> None:
    codes, places = np.array([0, 0, UNTYPED, UNTYPED]), np.arange(4)
    assert by_type(codes)(places, places).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0] * 4, [0] * 4]
