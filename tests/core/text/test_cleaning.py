"""Errors without what varies, for telling whether two of them are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.text import cleaned, fault_in, storable


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timed out after 1,500 ms (attempt 3/5)", "timed out after 90 ms (attempt 1/5)"),
        ("timeout after 30s", "timeout after 5s"),
        ("pod auth-7d9f8b6c5-x2x4z crashed", "pod auth-6c4b9d8f7-k8m2q crashed"),
        ("no such file '/var/lib/x/y.txt'", "no such file '/home/me/z.log'"),
        (r"cannot open C:\Users\me\x.py", r"cannot open D:\work\y.py"),
        ("at 2026-03-01T12:00:01.123Z: refused", "at 2025-12-31 08:00:00: refused"),
        ("at 12:30:01 refused", "at 9:05 refused"),
        ("request 550e8400-e29b-41d4-a716-446655440000 lost", "request 6ba7b810-9dad-11d1-80b4-00c04fd430c8 lost"),
        ("segfault at 0xDEADBEEF", "segfault at 0x7ffee3c0"),
        ("commit a1b2c3d missing", "commit 9f8e7d6c5b missing"),
        ("line one\nline 2", "line one line 3"),
    ],
)
def test_errors_that_differ_in_what_varies_are_one(one: str, other: str) -> None:
    assert cleaned(one) == cleaned(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ImagePullBackOff", "CrashLoopBackOff"),
        ("HTTP 404", "HTTP 500"),
        ("status: 401", "status: 403"),
        ("exit code 1", "exit code 137"),
        ("errno 2", "errno 13"),
        ("no module named sha256", "no module named utf8"),
        ("needs py3.11", "needs py3.12"),
        ("decade", "facade"),
        ("read or write", "read/write"),
    ],
)
def test_errors_that_say_different_things_stay_apart(one: str, other: str) -> None:
    assert cleaned(one) != cleaned(other)


def test_what_was_taken_out_is_named() -> None:
    assert cleaned("open /srv/a/b.txt at 12:30 failed 3 times") == "open <path> at <time> failed <number> times"


@given(st.text())
def test_cleaning_never_fails_and_gives_one_line(text: str) -> None:
    assert len(cleaned(text).splitlines()) <= 1


@pytest.mark.parametrize("unit", ["a", "1", "/", "/a", "a-", "1a", "-1", "1.", "12:", "abc1", "a/b "])
def test_no_long_text_takes_more_than_a_moment(unit: str) -> None:
    """The patterns look at a text a few times, whatever it is made of; one that went back and forth over it would not end."""
    assert cleaned(unit * 50_000)


@given(st.text(st.characters(codec=None), max_size=50), st.integers(1, 40))
def test_what_a_tool_gave_can_always_be_stored(text: str, limit: int) -> None:
    kept = storable(text, limit)
    assert fault_in(kept) is None
    assert len(kept) <= limit
