"""Errors as they are kept: what did not vary is shown, what varied never."""

import random

import pytest
from alma.observing import noted_reason
from alma.types.soundness import REASON_CHARS
from hypothesis import given
from hypothesis import strategies as st

from alma.text import cleaned, one_line, varying_parts
from alma.types.reasons import joined, kept_text

values = {
    "number": st.integers(0, 99_999).map(str),
    "path": st.sampled_from(["/srv/a/b.txt", "/var/lib/x.log", "./build/out.js"]),
    "id": st.sampled_from(["0x7f3a", "5d41402abc4b2a76", "550e8400-e29b-41d4-a716-446655440000"]),
    "time": st.sampled_from(["12:30", "2026-03-01T12:00:01", "9:05:11"]),
}
kinds = st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=4)
WORDS = ("token", "refused by", "expired at", "manifest", "in")


@st.composite
def alike(draw: st.DrawFn) -> list[list[str]]:
    """Errors that are one, each as its values, in the places of one sentence."""
    of = draw(kinds)
    return draw(st.lists(st.tuples(*(values[kind] for kind in of)).map(list), min_size=1, max_size=6))


def sentence(filled: list[str]) -> str:
    return " ".join(f"{word} {value}" for word, value in zip(WORDS, filled, strict=False))


def kept(errors: list[str]) -> str:
    reasons: tuple[tuple[str, int, int], ...] = ()
    for at, error in enumerate(errors):
        reasons = noted_reason(reasons, error, at)
    ((what, count, last),) = reasons
    assert (count, last) == (len(errors), len(errors) - 1)
    return what


def test_what_did_not_vary_stays() -> None:
    assert kept(["401 token expired"] * 2) == "401 token expired"
    assert kept(["port 8080 taken by pid 31", "port 8080 taken by pid 977"]) == "port 8080 taken by pid <number>"


def test_what_varied_is_named_once_and_for_all() -> None:
    assert kept(["401 token expired", "403 token expired", "401 token expired"]) == "<number> token expired"


def test_what_was_stored_without_its_values_is_counted_on() -> None:
    (reason,) = noted_reason((("<number> token expired", 3, 5),), "401 token expired", 9)
    assert reason == ("<number> token expired", 4, 9)


@given(alike())
def test_nothing_that_varied_is_shown_and_nothing_else_is_taken_out(errors: list[list[str]]) -> None:
    shown = kept([sentence(filled) for filled in errors])
    expected = [of[0] if len(set(of)) == 1 else cleaned(of[0]) for of in zip(*errors, strict=True)]
    assert shown == sentence(expected)


@given(alike(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference(errors: list[list[str]], chance: random.Random) -> None:
    texts = [sentence(filled) for filled in errors]
    assert kept(chance.sample(texts, len(texts))) == kept(texts)


@pytest.mark.slow
@given(st.lists(st.tuples(alike(), st.sampled_from(["", " while building", " of the registry"])), max_size=2), st.randoms())
def test_errors_of_several_sorts_are_kept_apart_in_any_order(
    sorts: list[tuple[list[list[str]], str]], chance: random.Random
) -> None:
    texts = [sentence(filled) + more for errors, more in sorts for filled in errors]
    reasons: tuple[tuple[str, int, int], ...] = ()
    for text in chance.sample(texts, len(texts)):
        reasons = noted_reason(reasons, text, 1)
    assert {cleaned(what): count for what, count, _ in reasons} == {
        skeleton: sum(cleaned(text) == skeleton for text in texts) for skeleton in map(cleaned, texts)
    }


@given(st.text(max_size=900))
def test_whatever_an_error_says_is_kept_on_one_line_within_the_limit(error: str) -> None:
    text = kept_text(error, REASON_CHARS)
    assert len(text) <= REASON_CHARS
    assert one_line(text) == text


@given(st.lists(st.sampled_from(["/srv/a/" + "b" * 90, "7", "the pod", "12:30", "\n", "0x7f3a"]), max_size=90), st.randoms())
def test_long_errors_that_are_one_stay_one_within_the_limit(words: list[str], chance: random.Random) -> None:
    other = " ".join({"7": str(chance.randint(8, 10**9)), "/srv/a/" + "b" * 90: "/tmp/c"}.get(word, word) for word in words)
    one, two = kept_text(" ".join(words), REASON_CHARS), kept_text(other, REASON_CHARS)
    assert cleaned(one) == cleaned(two)
    assert joined(one, two) == joined(two, one)
    assert len(joined(one, two)) <= REASON_CHARS
    assert cleaned(joined(one, two)) == cleaned(one)


@given(st.text(max_size=200))
def test_the_pieces_of_a_text_are_the_text_and_what_cleaning_makes_of_it(text: str) -> None:
    line = one_line(text)
    assert "".join(piece for piece, _ in varying_parts(text)) == line
    assert "".join(kind or piece for piece, kind in varying_parts(text)) == cleaned(line)
