"""What a text denies, and what contradicts what."""

import pytest

from alma.learning.denials import contradicts, denials, telling, undoes
from alma.learning.reading import words_and_numbers
from alma.learning.stems import stem


def read(text: str) -> tuple[list[str], tuple[str, ...]]:
    words, _ = words_and_numbers(text)
    return words, tuple(map(stem, words))


def contrary(one: str, other: str) -> bool:
    (words, stems), (others, their_stems) = read(one), read(other)
    return contradicts(denials(words), stems, denials(others), their_stems)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("force-push main", "never force-push main"),
        ("git push --force", "do not run git push --force"),
        ("wait with sleep", "wait for the element instead of with sleep"),
        ("offer a voucher instead of a refund", "offer a refund instead of a voucher"),
        ("retry without backoff", "retry with exponential backoff"),
        ("retry on errors without backoff", "don't retry on errors"),
        ("run the smoke tests", "skip the smoke tests"),
        ("run the tests in parallel", "run the tests without parallelism"),
        ("drop the table", "never drop the table"),
        ("skip the smoke tests", "do not skip the smoke tests"),
        ("do not run the smoke tests", "do not skip the smoke tests"),
        ("retry unless the error is permanent", "retry on permanent errors"),
    ],
)
def test_a_text_contradicts_what_denies_it(one: str, other: str) -> None:
    assert contrary(one, other)
    assert contrary(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("answer without citing a source", "cite no source in the answer"),
        ("requests without a timeout", "requests with no timeout"),
        ("poll the job", "ask for the job again and again without a pause"),
        ("stop the old server", "stop the server"),
        ("run the smoke tests", "do not skip the smoke tests"),
        ("never skip the smoke tests", "do not omit the smoke tests"),
        ("turn the nested subquery into a join", "use a join instead of the subquery"),
        ("disable the flaky test", "skip the flaky test"),
        ("offer a voucher in place of the refund", "offer store credit instead of a refund"),
        ("leave the module out of the report", "omit the module"),
        ("never deploy unless the tests pass", "never deploy before the tests pass"),
        ("retry unless the error is permanent", "retry on a connection error"),
        ("retry unless the error is a 404", "retry on server errors"),
        ("retry unless the error is a 404, then stop", "retry when the error is transient"),
        ("retry unless the call returned 404", "retry when the call returned an error"),
        ("check all pods but restart one", "check all pods, restart one"),
    ],
)
def test_the_same_denial_and_a_denial_of_something_else_contradict_nothing(one: str, other: str) -> None:
    assert not contrary(one, other)


def test_taking_something_away_undoes_it_unless_it_is_itself_taken_away() -> None:
    remove, _ = read("Remove the sleep calls")

    assert undoes(telling(remove), frozenset(read("use sleep calls")[1]))
    assert not undoes(telling(remove), frozenset(read("rm -rf the calls")[1]))


def test_speaking_of_something_is_not_doing_it() -> None:
    explain, _ = read("Explain what force-push does")

    assert undoes(telling(explain), frozenset(read("force-push")[1]))


def test_what_ends_a_clause_denies_the_words_before_it() -> None:
    assert [denial.head for denial in denials(["make", "sure", "that", "the", "default", "password", "is", "not", "used"])] == [
        "password"
    ]
    assert [denial.head for denial in denials(["force", "pushing", "is", "forbidden"])] == ["push"]
    assert denials(["use", "a", "queue", "instead"]) == ()
