"""Which texts tell one strategy."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alma.learning.matching import NEAR_STRATEGY, conflict, same_strategy
from alma.learning.wording import wording

VERY_NEAR = 0.99
FAR = 0.1


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Increase the connection timeout", "Decrease the connection timeout", "opposites"),
        ("Enabled the query cache", "Disabling the query cache", "opposites"),
        ("Scale the workers up", "Scale the workers down", "opposites"),
        ("Use mutable state", "Use immutable state", "opposites"),
        ("Call it synchronously", "Call it asynchronously", "opposites"),
        ("Retry failed payments", "Do not retry failed payments", "denies"),
        ("Use sudo in the container", "Don't use sudo in the container", "denies"),
        ("Deploy with a maintenance window", "Deploy without a maintenance window", "denies"),
        ("Trust the timestamps", "Stop trusting the timestamps", "denies"),
        ("Prefer composition to inheritance", "Prefer inheritance to composition", "deny different"),
        ("Retry failed calls", "Retry only failed calls", "restricted"),
        ("Timeout of 30s", "Timeout of 60s", "numbers"),
        ("Batch size of 10", "Batch size of 100", "numbers"),
        ("Retry three times", "Retry five times", "numbers"),
        ("Give a 15 € voucher", "Give a 15 % voucher", "numbers"),
        ("Give a £15 voucher", "Give a $15 voucher", "numbers"),
        ("Deploy to dev", "Deploy to prod", "of a kind"),
        ("Deploy to development", "Deploy to staging", "of a kind"),
        ("Deploy on Mondays", "Deploy on Friday", "of a kind"),
        ("Cut the price by 10 %", "Cut the price to 10 %", "relation"),
        ("Cache for 5 minutes", "Cache for 5 hours", "numbers"),
        ("Build with Python 3.11", "Build with Python 3.12", "numbers"),
        ("Upgrade one node at a time", "Upgrade all nodes at the same time", "numbers"),
        ("Call the v1 endpoint", "Call the v2 endpoint", "versions"),
        ("Use Postgres for the log", "Use MySQL for the log", "something else"),
        ("Blue-green deployment", "Canary deployment", "something else"),
        ("Validate before saving", "Validate after saving", "other order"),
        ("Encrypt the file, then compress it", "Compress the file, then encrypt it", "other order"),
        ("Convert the JSON to XML", "Convert the XML to JSON", "other order"),
        ("Raise the batch size and lower the rate", "Lower the batch size and raise the rate", "way round"),
        ("Start with the price and close with a question", "Start with a question and close with the price", "way round"),
        ("Group the notes by theme, count each theme", "Group the notes by person, count each theme", "something else"),
        ("Let the critic correct the writer", "Let the writer correct the critic", "each other's place"),
    ],
)
def test_near_vectors_do_not_make_one_strategy_of_two(one: str, other: str, why: str) -> None:
    assert why in (conflict(one, other) or "")
    assert why in (conflict(other, one) or "")
    assert not same_strategy(one, other, VERY_NEAR)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Run the migration first, then deploy", "Deploy after running the migration first"),
        ("Before dropping the column, back up the table", "Back up the table before dropping the column"),
        ("Compare price, support and security", "Compare security, support and price"),
        ("Tested empty fields, invalid email", "Testing invalid e-mail and empty field"),
        ("Retry the call with exponential backoff", "Re-trying the request using exponential back-off"),
        ("Use explicit waits instead of sleep", "Using explicit waits rather than sleeps"),
        ("Never deploy on Fridays", "Don't deploy on Fridays"),
        ("Set the timeout to 60 seconds", "Set the timeout to 1 minute"),
        ("Retry 3 times", "Retry three times"),
        ("Built the image, kept the cache", "Build the image and keep the cache"),
        ("Validate the input", "Input validation"),
        ("Rolled out by region", "Rollout by region"),
        ("Parameterized queries", "Parameterised query"),
        ("Split the pull request", "Split the PR"),
        ("It no longer scans the table", "It does not scan the table any more"),
        ("Starting with A, closing with B", "Opening with A, ending with B"),
        ("Roll back order #4711", "Roll back order #4712"),
        ("Took a single sample", "Take a sample"),
        ("Deploy to dev", "Deploy to development"),
        ("Give a €15 voucher", "Give a 15 EUR voucher"),
    ],
)
def test_the_same_told_otherwise_is_one_strategy_when_the_vectors_are_near(one: str, other: str) -> None:
    assert conflict(one, other) is None
    assert same_strategy(one, other, 0.9)


def test_equal_words_are_one_strategy_whatever_the_vectors_say() -> None:
    assert same_strategy("Use blue-green deployment.", "use Blue Green deployment", FAR)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Blue-green", "Used a blue/green deployment"),
        ("Rolling update", "Did a rolling-update deployment"),
        ("The approach was to batch the writes", "Batching writes"),
    ],
)
def test_equal_telling_words_are_one_strategy_whatever_the_vectors_say(one: str, other: str) -> None:
    assert same_strategy(one, other, FAR)


def test_texts_without_words_are_the_same_only_if_they_are_equal() -> None:
    assert same_strategy("🎉", "🎉", FAR)
    assert not same_strategy("🎉", "🔥", FAR)


def test_what_names_the_same_things_in_words_unlike_needs_near_vectors() -> None:
    assert not same_strategy("Do it", "That will do", NEAR_STRATEGY - 0.01)
    assert same_strategy("Do it", "That will do", NEAR_STRATEGY)


def test_what_names_more_must_be_nearer() -> None:
    assert not same_strategy("Refund the customer", "Refund the customer with a voucher", 0.85)
    assert same_strategy("Refund the customer", "Refund the valued customer", 0.95)
    assert not same_strategy("Use the index on the date", "Drop the index on the date", 0.99)


PIECES = (
    "do",
    "not",
    "use",
    "the",
    "cache",
    "before",
    "after",
    "deploying",
    "3",
    "v1",
    "v2",
    ",",
    "and",
    "retry",
    "increase",
    "decrease",
    "only",
    "30s",
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(PIECES),
        max_size=8,
    ).map(" ".join),
)


@given(one=TEXTS, other=TEXTS, cosine=st.floats(-1, 1))
def test_it_does_not_matter_which_comes_first(one: str, other: str, cosine: float) -> None:
    assert (conflict(one, other) is None) == (conflict(other, one) is None)
    assert same_strategy(one, other, cosine) == same_strategy(other, one, cosine)


@given(text=TEXTS)
@example("increase the cache, decrease the cache")
def test_a_text_is_always_the_same_as_itself(text: str) -> None:
    assert conflict(text, text) is None
    assert same_strategy(text, text, -1.0)


def test_a_text_that_was_read_before_is_compared_alike() -> None:
    one, other = "Retry 3 times", "Retry 5 times"

    assert conflict(wording(one), wording(other)) == conflict(one, other) == "numbers: 3 / 5"
