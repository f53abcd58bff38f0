"""How long to wait before asking again."""

from datetime import UTC, datetime

import pytest

from alma.embedding.retrying import Retries, asked_wait

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_waits_double_up_to_half_a_minute_and_end() -> None:
    retries = Retries(9)
    waits = [retries.wait(attempt, asked=None, chance=1.0) for attempt in range(10)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, None]


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
def test_chance_takes_off_up_to_half(chance: float, share: float) -> None:
    assert Retries(5).wait(2, asked=None, chance=chance) == 2 * share


def test_a_server_s_wish_is_never_undercut_and_a_long_one_not_waited_for() -> None:
    assert 20 <= (Retries(5).wait(0, asked=20.0, chance=0.0) or 0) < 21
    assert Retries(5).wait(0, asked=121.0, chance=0.0) is None


def test_attempts_beyond_counting_do_not_overflow() -> None:
    assert Retries(10**6).wait(10**5, asked=None, chance=1.0) == 30


@pytest.mark.parametrize(
    ("seconds", "milliseconds", "expected"),
    [
        ("7", None, 7.0),
        ("0.5", None, 0.5),
        ("9", "1500", 1.5),
        ("Sun, 01 Mar 2026 12:00:30 GMT", None, 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", None, 0.0),
        ("Sun, 01 Mar 2026 12:00:30 -0000", None, 30.0),
        (None, None, None),
        ("", "", None),
        ("soon", "now", None),
        ("-3", None, None),
        ("nan", None, None),
        ("inf", None, None),
    ],
)
def test_what_the_headers_ask_for(seconds: str | None, milliseconds: str | None, expected: float | None) -> None:
    assert asked_wait(seconds, milliseconds, now=NOW) == expected
