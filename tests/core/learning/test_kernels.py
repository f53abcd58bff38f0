"""How near tasks are: what fits the kernels, and what nearness promises."""

import numpy as np
import pytest

from alma.learning.experience import Experience, Question
from alma.learning.kernels import CALIBRATED, fitted, grown, nearness
from alma.learning.names import names_in
from alma.text import words

CALIBRATION = CALIBRATED["all-MiniLM-L6-v2", 384]
SERVICES = ("billing", "search", "checkout", "the media store", "ledger", "inventory")
WORDINGS = ("deploy {} to production", "please restart {} now", "who may log in to {} today")
DIMENSION = 64


def experience_of(tasks: list[str], types: list[str | None] | None = None, votes: list[float] | None = None) -> Experience:
    """One strategy, tried once on each task."""
    ones = np.ones(len(tasks))
    worth = np.array(votes) if votes else ones
    places = np.arange(len(tasks))
    return Experience(
        tasks=tasks,
        task_vectors=np.stack([vector_of(task) for task in tasks]),
        task_types=types or [None] * len(tasks),
        strategies=["canary"],
        same=np.eye(1),
        cell_task=places,
        cell_strategy=np.zeros(len(tasks), np.intp),
        successes=worth,
        trials=ones,
        recent_successes=worth,
        recent_trials=ones,
        vote=worth,
        weight=ones,
    )


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


def test_verbs_at_the_beginning_are_no_names() -> None:
    tasks = [f"{verb} {service}" for verb in ("deploy", "restart", "stop") for service in SERVICES]
    assert set(names_in(tasks).numbers).isdisjoint({("deploy",), ("restart",), ("stop",)})


def test_the_longest_name_of_a_text_counts() -> None:
    names = names_in(all_tasks())
    assert names.within("Restart the media store") == [names.numbers["media", "store"]]


def test_without_names_tasks_of_one_wording_are_nearer() -> None:
    tasks = all_tasks()
    kernels = fitted(experience_of(tasks), CALIBRATION)
    asked = question("deploy billing to production")
    plain = kernels.vectors @ asked.vector
    _, cosines = nearness(kernels, asked)
    other = tasks.index("deploy inventory to production")
    assert cosines[other] > plain[other] + 0.1


def test_the_same_words_are_the_same_task() -> None:
    kernels = fitted(experience_of(["Water the plants!", "count the stock"]), CALIBRATION)
    weights, cosines = nearness(kernels, question("water the plants"))
    assert (weights[0], cosines[0]) == (1, 1)


def test_of_two_types_only_the_same_counts() -> None:
    kernels = fitted(experience_of(["a b", "c d", "c d e"], ["x", "y", None]), CALIBRATION)
    weights, cosines = nearness(kernels, question("c d", "x"))
    assert weights[:2].tolist() == cosines[:2].tolist() == [1, 0]
    assert 0 < weights[2] < 1


def test_a_type_that_is_not_known_is_no_other() -> None:
    kernels = fitted(experience_of(["a b"], ["x"]), CALIBRATION)
    weights, _ = nearness(kernels, question("a b", "new"))
    assert weights.tolist() == [0]


def test_the_same_task_of_another_type_is_another_task() -> None:
    kernels = fitted(experience_of(["fix the bug"], ["frontend"]), CALIBRATION)
    weights, _ = nearness(kernels, question("fix the bug", "backend"))
    assert weights.tolist() == [0]


def test_without_calibration_only_the_same_task_and_type_count() -> None:
    kernels = fitted(experience_of(["a b c", "a b d", "e f"], [None, None, "x"]), None)
    untyped, _ = nearness(kernels, question("A b c"))
    typed, _ = nearness(kernels, question("g", "x"))
    assert (untyped.tolist(), typed.tolist()) == ([1, 0, 0], [0, 0, 1])


def test_grown_kernels_know_the_tasks_that_came_since() -> None:
    tasks = all_tasks()
    before = experience_of(tasks)
    after = experience_of([*tasks, "restart the ledger at night"])
    kernels = grown(fitted(before, CALIBRATION), after)
    weights, cosines = nearness(kernels, question("Restart the ledger at night"))
    assert len(weights) == len(tasks) + 1
    assert (weights[-1], cosines[-1]) == (1, pytest.approx(1, abs=1e-5))


def test_growing_leaves_what_was_known_as_it_is() -> None:
    tasks = all_tasks()
    kernels = fitted(experience_of(tasks), CALIBRATION)
    asked = question("deploy search to production")
    before, _ = nearness(kernels, asked)
    after, _ = nearness(grown(kernels, experience_of([*tasks, "count stock"])), asked)
    assert after[:-1] == pytest.approx(before)


def test_the_fit_is_the_same_every_time() -> None:
    one, other = (fitted(experience_of(all_tasks()), CALIBRATION) for _ in range(2))
    assert np.array_equal(one.profiles, other.profiles)
    assert one.profile_share == other.profile_share


def test_an_empty_experience_has_nothing_near() -> None:
    tasks: list[str] = []
    empty = experience_of(["a"])
    empty = Experience(
        tasks, np.zeros((0, DIMENSION), np.float32), [], ["a"], np.eye(1), *([np.zeros(0, np.intp)] * 2), *([np.zeros(0)] * 6)
    )
    weights, cosines = nearness(fitted(empty, CALIBRATION), question("a"))
    assert len(weights) == len(cosines) == 0
