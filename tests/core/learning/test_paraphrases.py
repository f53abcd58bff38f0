"""Sentences that say the same, by their words and a cosine."""

import pytest

from alma.learning.paraphrases import LIMITS, is_contrary, is_paraphrase, saying


def paraphrased(one: str, other: str, cosine: float) -> bool:
    return is_paraphrase(saying(one), saying(other), cosine, LIMITS)


def test_all_but_one_word_alike_is_another_thing_however_near_it_is() -> None:
    assert not paraphrased("Dropping rows with missing values", "Dropping columns with missing values", 0.95)


def test_reworded_in_several_places_it_is_the_same_from_afar() -> None:
    assert paraphrased("Raise the timeout of flaky tests", "If a flaky test fails, give it a longer timeout", 0.8)
    assert not paraphrased("Raise the timeout of flaky tests", "If a flaky test fails, give it a longer timeout", 0.5)


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        ("Disable certificate verification", "Turn off the verification of certificates", 0.89),
        ("Bake the credentials into the container image", "Put credentials inside the container image", 0.88),
    ],
)
def test_another_verb_for_the_same_things_is_the_same(one: str, other: str, cosine: float) -> None:
    assert paraphrased(one, other, cosine)
    assert not paraphrased(one, other, cosine - 0.2)


def test_a_text_with_all_telling_words_of_another_need_hardly_be_near() -> None:
    assert paraphrased("Rolling update", "Do a rolling update of the deployment with a readiness probe", 0.5)


def test_a_single_telling_word_must_be_nearer() -> None:
    assert not paraphrased("Polling", "Ask in the meeting whether polling or voting is meant", 0.5)


def test_one_word_exchanged_for_a_synonym_is_the_same_and_for_another_word_is_not() -> None:
    assert paraphrased("Refund the customer at once", "Reimburse the customer at once", 0.96)
    assert not paraphrased("Refund the customer at once", "Praise the customer at once", 0.96)


def test_what_shares_no_word_has_to_be_near_whatever_else_it_says() -> None:
    assert not paraphrased("Polling", "Ask every second, over and over, whether the job has come to its end", 0.65)


def test_words_that_say_little_count_where_nothing_else_differs() -> None:
    assert not paraphrased("Ask for the first name", "Ask for the full name", 0.77)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Run PostgreSQL 13", "Run PostgreSQL 16"),
        ("Retry 5 times", "Retry 3 times"),
        ("Change one thing at a time", "Change several things"),
        ("Give each test a session of its own", "Use one session for the tests"),
        ("Increase the timeout", "Decrease the timeout"),
        ("Keep the old version", "Stop the old version"),
        ("Move from REST to GraphQL", "Move from GraphQL to REST"),
        ("Copy the files", "Copy only the files"),
        ("Deploy v1 of the API", "Deploy v2 of the API"),
        ("Use sleep to wait", "Remove the sleep"),
    ],
)
def test_numbers_opposites_order_and_denials_speak_against_it(one: str, other: str) -> None:
    assert is_contrary(saying(one), saying(other))


def test_the_arguments_of_a_call_are_no_numbers_of_the_sentence() -> None:
    assert not is_contrary(saying("Waiting with sleep(5000)"), saying("Wait by sleep(100)"))
