"""Turns of conversations are ranked by meaning, words, neighbours and who speaks."""

from typing import Any

import numpy as np
import pytest

from alma.retrieval.turns import Turns, shares, turn_scores


def turns(count: int, **given: Any) -> Turns:
    usual: dict[str, Any] = {
        "conversations": np.zeros(count, dtype=np.int64),
        "cosines": np.zeros(count),
        "frequencies": np.zeros((count, 2)),
        "lengths": np.full(count, 100.0),
        "is_named": np.zeros(count, dtype=np.bool_),
        "standings": np.zeros(count),
    }
    return Turns(**{name: np.asarray(value) for name, value in {**usual, **given}.items()})


@pytest.mark.parametrize(
    "given",
    [
        {"cosines": [0.1, 0.6, 0.1, 0.1]},
        {"frequencies": [[0, 0], [1, 0], [0, 0], [0, 0]]},
        {"is_named": [False, True, False, False]},
        {"conversations": [1, 2, 3, 4], "standings": [0.0, 3.0, 0.0, 0.0]},
    ],
)
def test_meaning_words_the_speaker_and_the_conversation_lift_a_turn(given: dict[str, Any]) -> None:
    assert int(np.argmax(turn_scores(turns(4, **given)))) == 1


def test_a_neighbour_is_lifted_within_its_conversation_alone() -> None:
    scores = turn_scores(turns(4, conversations=[1, 1, 2, 2], cosines=[0.1, 0.7, 0.1, 0.1]))
    assert scores[0] > scores[2] == scores[3]


def test_a_search_that_is_left_out_has_no_say() -> None:
    given = turns(2, cosines=[0.9, 0.0], frequencies=[[0, 0], [2, 2]])

    assert np.argmax(turn_scores(given, by_words=False)) == 0
    assert np.argmax(turn_scores(given, by_meaning=False)) == 1


def test_a_rarer_word_counts_more_and_a_longer_turn_less() -> None:
    one, other, *_ = shares(turns(4, frequencies=[[1, 0], [0, 1], [0, 1], [0, 1]]))
    short, long = shares(turns(2, frequencies=[[1, 0], [1, 0]], lengths=[50.0, 900.0]))

    assert one > other
    assert short > long


def test_words_that_no_turn_holds_give_nothing() -> None:
    assert shares(turns(2)).tolist() == [0, 0]
    assert shares(turns(2, frequencies=np.zeros((2, 0)))).tolist() == [0, 0]
