"""How probable it is that two strategies are one way."""

import numpy as np
import pytest

from alma.learning.alike import MOST_KNOWN, AlikeStrategies, same_weights
from alma.learning.sameness import BY_VECTORS
from alma.learning.scale import OWN
from alma.learning.ways import ways


def vectors_at(cosine: float) -> np.ndarray:
    return np.array([[1, 0], [cosine, np.sqrt(1 - cosine**2)]], np.float32)


@pytest.mark.parametrize(("cosine", "weight"), [(0.2, 0), (0.25, 0), (0.34, 0.3), (0.4, 0.5), (0.52, BY_VECTORS)])
def test_other_words_are_the_same_way_as_far_as_vectors_are_near(cosine: float, weight: float) -> None:
    texts = ["canary on a small share first", "widen step by step after watching one machine"]
    assert same_weights(texts, vectors_at(cosine))[0, 1] == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("increase the timeout", "decrease the timeout"),
        ("retry three times", "retry five times"),
        ("cache the results", "do not cache the results"),
        ("migrate before the deploy", "deploy before the migration"),
        ("ask the customer for the booking code", "ask the customer for the passport code"),
    ],
)
def test_what_clearly_differs_is_another_way_however_near(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.97)).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stop and start the process while tailing the log", "Bounce it, then keep an eye on the log output"),
        ("Have a scripted CI job carry out the work without manual steps", "Write a script and let the pipeline execute it"),
        ("Two people type the documented steps together", "follow the runbook by hand with a colleague beside you"),
        ("Relaunch the process and monitor the log", "Stop and start the process while tailing the log"),
    ],
)
def test_opposites_denials_and_numbers_of_texts_in_other_words_say_nothing(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.5))[0, 1] == BY_VECTORS


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retry failing calls 3 times", "attempt it again up to 5 times in all before an alert"),
        ("increase the timeout so that slow calls of partners pass", "cut the timeout to make hanging requests fail early"),
        ("run the whole job without a cache on every worker", "keep what was computed in a cache for later requests"),
        ("target the new python3 runtime for everything", "stay on what python2 offers until the vendor is ready"),
    ],
)
def test_what_is_said_of_the_same_word_parts_texts_in_other_words(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.9))[0, 1] == 0


def test_the_same_words_are_the_same_way() -> None:
    assert same_weights(["Blue-green deployment", "blue-green deployment"], vectors_at(0.1)).tolist() == [[1, 1], [1, 1]]


def test_without_calibration_vectors_alone_say_nothing() -> None:
    texts = ["canary on a small share first", "widen step by step after watching one machine"]
    assert same_weights(texts, vectors_at(0.7), scale=None)[0, 1] == 0


def test_what_was_computed_before_stays_what_it_would_be_anew() -> None:
    texts = [f"{verb} the {thing}" for verb in ("drain", "inspect", "copy") for thing in ("queue", "index", "archive")]
    vectors = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = same_weights(texts, vectors)
    known = AlikeStrategies(OWN)
    known.weights(range(6), texts[:6], vectors[:6])
    assert np.array_equal(known.weights(range(9), texts, vectors), whole)
    assert np.array_equal(whole, whole.T)


def test_wordings_in_a_row_of_near_ones_are_one_way_and_a_contradiction_parts_them() -> None:
    angles = np.deg2rad([0, 35, 70])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    chain = [
        "bounce it and read the log",
        "relaunch the process while watching",
        "cycle the service under observation of its output",
    ]
    assert same_weights(chain, vectors)[0, 2] == BY_VECTORS
    opposite = [
        "increase the timeout of the whole call",
        "give the call more room to answer",
        "decrease the timeout of the whole call",
    ]
    assert same_weights(opposite, vectors)[0, 2] == 0


@pytest.mark.parametrize(("size", "groups"), [(2, 2), (6, 1)])
def test_a_way_joins_a_group_from_further_off_than_a_single_way(size: int, groups: int) -> None:
    cosines = np.full((size, size), 0.9)
    cosines[0, 1:] = cosines[1:, 0] = 0.46
    assert len(set(ways(cosines, np.zeros((size, size))).tolist())) == groups


@pytest.mark.parametrize(
    ("one", "other"),
    [("blue-green deployment", "canary deployment"), ("book_reservation", "update_reservation"), ("UNION", "UNION ALL")],
)
def test_names_that_share_a_word_are_two_ways(one: str, other: str) -> None:
    assert same_weights([one, other], vectors_at(0.7))[0, 1] == 0


def test_strategies_beyond_those_that_are_compared_are_never_one_in_other_words() -> None:
    texts = ["bounce it and read the log", "relaunch the process while watching"]
    near = AlikeStrategies(OWN).weights([0, 1], texts, vectors_at(0.9))
    late = AlikeStrategies(OWN).weights([MOST_KNOWN, MOST_KNOWN + 1], texts, vectors_at(0.9))
    assert (near[0, 1], late[0, 1]) == (BY_VECTORS, 0)


def test_what_is_remembered_of_pairs_groups_them_as_at_first() -> None:
    cosines = np.array([[1.0, 0.6, 0.55], [0.6, 1.0, 0.2], [0.55, 0.2, 1.0]])
    texts = [
        "canary on a small share first",
        "widen step by step after watching one machine",
        "let few customers try before everybody gets new code",
    ]
    known = AlikeStrategies(OWN)
    first, again = (known.weights(range(3), texts, np.linalg.cholesky(cosines).astype(np.float32)) for _ in range(2))
    assert first[1, 2] == BY_VECTORS  # by the one between them
    assert np.array_equal(first, again)
