"""How a text is read before it is compared."""

from time import thread_time

import pytest

from alma.learning.reading import numbers_apart, words_and_numbers
from alma.learning.stems import mean_the_same, opposites, stem
from alma.learning.wording import wording


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying deployment deployments",
        "retry retries retried retrying",
        "cache caches cached caching",
        "validate validates validated validating validation",
        "apply applies applied applying",
        "install installs installed installing installation",
        "write writes wrote written writing",
        "summarise summarize summarising summarized",
        "build builds built building",
        "migrate migrated migration migrations",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(("one", "other"), [("cache", "catch"), ("caller", "callee"), ("java", "javascript"), ("test", "text")])
def test_unlike_words_have_unlike_stems_and_meanings(one: str, other: str) -> None:
    assert stem(one) != stem(other)
    assert not mean_the_same(stem(one), stem(other))


def test_opposites_hold_both_ways_for_every_stem() -> None:
    for word in ("increase", "enable", "before", "sync", "up", "ascending"):
        assert opposites(stem(word))
        assert all(stem(word) in opposites(other) for other in opposites(stem(word)) if opposites(other))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("30s", ["30s"]),
        ("thirty seconds", ["30s"]),
        ("1 minute", ["60s"]),
        ("1,500 rows", ["1500"]),
        ("5 %", ["5%"]),
        ("5 percent", ["5%"]),
        ("learning rate 1e-3", ["1e-3"]),
        ("numpy 1.26.4", ["1.26.4"]),
        ("retries=3, timeout=10s", ["3", "10s"]),
        ("bug #12", []),
        ("v2 and k8s", []),
        ("two 3", ["2", "3"]),
        ("10k rows at a time", ["10000"]),
        ("2 more days", ["172800s"]),
        ("half a minute", ["30s"]),
        ("2x the p99, three times", ["2", "3"]),
        ("double the limit", ["2"]),
        ("double quotes, double-click, single quotes", []),
        ("double timeouts, triple memory", ["2", "3"]),
        ("10 €, £15, 12.50€, $1,500", ["10EUR", "15GBP", "12.5EUR", "1500USD"]),
        ("5 % 2", ["5", "2"]),
        ("a single call, doubled", ["1", "2"]),
        ("thrice, a dozen, forty", ["3", "12", "40"]),
        ("wait a minute", ["60s"]),
        ("5 requests a minute", ["5"]),
        ("512Mi", ["5.12e+08B"]),
    ],
)
def test_numbers_are_read_with_their_units(text: str, numbers: list[str]) -> None:
    assert words_and_numbers(text)[1] == numbers


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("sleep(5)", "wait 5 seconds", True),
        ("timeout=5000", "a timeout of 5 s", True),
        ("1 GB", "1024 MB", True),
        ("twice the p99", "2x the p99", True),
        ("0.1 of the traffic", "10 % of the traffic", True),
        ("sleep(5)", "wait 5 minutes", False),
        ("5 s", "5 MB", False),
        ("512 MB", "4 GB", False),
        ("a heap of 512", "512 MB", True),
        ("a timeout of 1", "1000 s", False),
        ("a share of 1000", "10 %", False),
        ("100 MB", "95 MB", False),
        ("500 MB", "540 MB", False),
    ],
)
def test_numbers_that_may_be_one_amount_are_not_apart(one: str, other: str, is_one: bool) -> None:
    apart = numbers_apart(words_and_numbers(one)[1], words_and_numbers(other)[1])
    assert (apart == ([], [])) is is_one


def test_words_written_apart_or_with_a_hyphen_are_one() -> None:
    assert words_and_numbers("Roll out with back-off")[0] == ["rollout", "with", "backoff"]


def test_what_is_denied_is_known_by_the_word_that_follows() -> None:
    assert wording("Don't use global state without locks").denied == ("global", "lock")
    assert wording("Stop the server").denied == ()
    assert wording("never").denied == ("",)
    assert wording("Prefer composition to inheritance, over and over").denied == ("", "", "inheritanc")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["not", "to", "prefer to", "never v1"])
def test_reading_takes_as_long_as_the_text_is(word: str) -> None:
    def seconds(words: int) -> float:
        begun = thread_time()
        wording(f"{word} " * words)
        return thread_time() - begun

    seconds(1_000)
    assert seconds(40_000) < 8 * seconds(10_000) + 1


@pytest.mark.parametrize("text", ["$1 and $HOME", "[0-9]$", "US$"])
def test_a_dollar_that_is_no_currency_stays_a_sign(text: str) -> None:
    assert "$" in "".join(wording(text).signs)
    assert not any(number.endswith("USD") for number in wording(text).numbers)


@pytest.mark.parametrize(
    ("text", "exceptions"),
    [
        ("retry unless the error is a 404", {"404"}),
        ("retry twice unless the call returned 404, then wait", {"404"}),
        ("retry unless it failed 3 times", set()),
        ("deploy unless latency is under 500 ms", set()),
        ("never retry unless the error is a 404", set()),
        ("", set()),
    ],
)
def test_a_number_with_which_a_condition_ends_is_an_exception(text: str, exceptions: set[str]) -> None:
    assert wording(text).exceptions == exceptions
