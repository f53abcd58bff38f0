"""What of two strategies is read as the same, and what as a contradiction."""

from math import inf

import pytest

from alma.learning.sameness import by_words

NEAR = 0.9


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("double the limit", "double limits"),
        ("double timeouts", "double the timeouts"),
        ("double memory", "double the memory"),
        ("deploy to dev", "deploy to development"),
        ("give a €15 voucher", "give a 15 EUR voucher"),
        ("pay the invoice in €", "pay the invoice in euros"),
        ("npm -w web i", "npm -w web install"),
        ("npm --prefix web i", "npm --prefix web install"),
        ("kubectl -n web get po", "kubectl -n web get pods"),
    ],
)
def test_other_spellings_are_the_same(one: str, other: str) -> None:
    assert by_words(one, other, NEAR) == by_words(other, one, NEAR) == inf


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cut the price by 10 €", "cut the price by 10 %"),
        ("give a 15 € voucher", "give a 15 % voucher"),
        ("give a 15 € voucher", "give a 15 £ voucher"),
        ("pay the invoice in €", "pay the invoice in £"),
        ("use 5 % 2", "use 5 2"),
        ("kubectl -n no get pods", "kubectl -n node get pods"),
        ("kubectl delete pod ns", "kubectl delete pod namespace"),
        ("kubectl apply -f deploy/", "kubectl apply -f deployment/"),
    ],
)
def test_other_units_signs_and_names_are_not_the_same(one: str, other: str) -> None:
    assert by_words(one, other, NEAR) < inf
    assert by_words(other, one, NEAR) < inf


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("roll out in stages", "roll out to production gradually"),
        ("stage the files and commit", "commit the files to production"),
        ("develop the fix on a branch", "test the fix on staging"),
        ("compare product prices", "compare prices on staging"),
        ("retry unless the error is a 404", "retry on server errors"),
        ("retry unless the error is a 404", "retry when the error is transient"),
        ("retry unless it failed 3 times", "retry 3 times"),
        ("reply to mail", "reply by mail"),
        ("import orders by CSV", "import orders to CSV"),
    ],
)
def test_verbs_exceptions_and_ways_to_a_thing_contradict_nothing(one: str, other: str) -> None:
    assert by_words(one, other, NEAR) > -inf
    assert by_words(other, one, NEAR) > -inf


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deploy to dev", "deploy to prod"),
        ("deploy to staging", "deploy to production"),
        ("retry unless the error is permanent", "retry on permanent errors"),
        ("retry unless the error is a 404", "retry if the error is a 404"),
        ("retry unless the call returned 404, then stop", "retry on a 404"),
        ("cut the price by 10 %", "cut the price to 10 %"),
        ("copy the rows from redis", "copy the rows to redis"),
    ],
)
def test_places_exceptions_and_amounts_that_exclude_each_other_contradict(one: str, other: str) -> None:
    assert by_words(one, other, NEAR) == by_words(other, one, NEAR) == -inf
