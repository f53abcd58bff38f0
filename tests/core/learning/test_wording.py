"""How a text is read before it is compared."""

from time import thread_time

import pytest

from alma.learning.reading import words_and_numbers
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
    ],
)
def test_numbers_are_read_with_their_units(text: str, numbers: list[str]) -> None:
    assert words_and_numbers(text)[1] == numbers


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
