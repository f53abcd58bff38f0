"""What the words of two texts say: whether they may be one way, and whether an action does what a pattern names. The cases are tables."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alma_learning.actions import is_warned_of, name_same_action
from alma_learning.background import SENTENCES
from alma_learning.differences import differ, normalise
from alma_learning.numbers import words_and_numbers
from alma_learning.stems import stem
from alma_learning.ways import NEWEST, find_contrary

FOLDER = Path(__file__).parent
NEAR = 0.95


def cases(name: str) -> list[tuple[str, ...]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [tuple(cell.replace("\\n", "\n") for cell in row) for row in rows]


@pytest.mark.parametrize(("text", "other", "verdict", "why"), cases("differences.tsv"))
def test_two_texts_differ_where_something_speaks_against_one_way(text: str, other: str, verdict: str, why: str) -> None:
    assert differ(text, other) is differ(other, text) is (verdict == "differ"), why


@pytest.mark.parametrize(("text", "other", "cosine", "verdict", "why"), cases("actions.tsv"))
def test_an_action_is_warned_of_if_it_does_what_a_pattern_names(
    text: str, other: str, cosine: str, verdict: str, why: str
) -> None:
    assert is_warned_of(text, other, float(cosine) if cosine else None) is (verdict == "warned"), why


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use blue-green deployment.", "use the Blue Green deployment"),
        ("Wait thirty seconds", "wait 30 s"),
        ("npm i left-pad", "npm install left-pad"),
        ("kubectl get po", "kubectl get pods"),
        ("Roll out by region", "rollout by region"),
        ("Give a €15 voucher", "give a 15 EUR voucher"),
        ("Roll back order #4711", "Roll back order #4712"),
    ],
)
def test_equal_words_are_one_text(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)
    assert not differ(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rewrite it in C++", "Rewrite it in C#"),
        ("a < b", "a > b"),
        ("git push", "git push -f"),
        ("wait 30 s", "wait 30 min"),
        ("🎉", "🔥"),
        ("kubectl apply -f deploy/", "kubectl apply -f deployment/"),
        ("Deploy it", "Do not deploy it"),
    ],
)
def test_other_signs_options_and_units_are_other_texts(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize(
    ("action", "other", "is_same"),
    [
        ("time.sleep(5)", "sleep()", True),
        ("refund(order='17', method='card')", "refund(method='card')", True),
        ("refund(order='17', method='voucher')", "refund(method='card')", False),
        ("refund()", "refund(method='card')", False),
        ("git push -f origin main", "git push --force", True),
        ("git pull origin main", "git push", False),
        ("SELECT * FROM orders", "SELECT *", True),
        ("Offer a refund", "Offer a voucher", False),
    ],
)
def test_actions_are_the_same_by_their_code_with_arguments_that_are_not_named(action: str, other: str, *, is_same: bool) -> None:
    assert name_same_action(action, other) is is_same


def test_outcomes_do_not_part_wordings_of_the_same_calls_however_many_came_between() -> None:
    between = [f"in another way {number}" for number in range(NEWEST)]
    texts = ["deploy(way='rolling')", *between, "python -c \"deploy(way='rolling')\"", "by hand"]
    worked, failed = (4.0, 4.0), (0.0, 4.0)
    contrary = find_contrary(texts, np.array([*[worked] * (NEWEST + 1), failed, failed]))
    assert contrary[NEWEST + 1 :, 0].tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("30s", ["30s"]),
        ("thirty seconds", ["30s"]),
        ("1,500 rows", ["1500"]),
        ("5 %, 5 percent", ["5%", "5%"]),
        ("numpy 1.26.4 at 1e-3", ["1.26.4", "1e-3"]),
        ("retries=3, timeout=10s", ["3", "10s"]),
        ("bug #12 of k8s", []),
        ("10k rows, v2", ["10000", "2"]),
        ("10 €, £15, 12.50€, $1,500", ["10EUR", "15GBP", "12.5EUR", "1500USD"]),
        ("5 % 2", ["5", "2"]),
        ("512Mi", ["5.12e+08B"]),
    ],
)
def test_numbers_are_read_with_their_units(text: str, numbers: list[str]) -> None:
    assert words_and_numbers(text)[1] == numbers


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying deployment deployments",
        "retry retries retried retrying",
        "cache caches cached caching",
        "validate validates validated validating validation",
        "install installs installed installing installation",
        "write writes wrote written writing",
        "summarise summarize summarising summarized",
        "migrate migrated migration migrations",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(("one", "other"), [("cache", "catch"), ("caller", "callee"), ("java", "javascript"), ("test", "text")])
def test_unlike_words_have_unlike_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_background_sentences_are_all_different() -> None:
    assert len({normalise(text) for text in SENTENCES}) == len(SENTENCES) > 40


PIECES = """
    do not use the cache before after deploying 3 v1 , and retry increase decrease only 30s sleep() git push -f | "x" 'y' ` ( { SELECT * from
"""
TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab sleep().-;|'\"`{}\n$=&\\", max_size=60),
    st.lists(st.sampled_from(PIECES.split()), max_size=9).map(" ".join),
)


@given(one=TEXTS, other=TEXTS)
def test_it_does_not_matter_which_text_comes_first(one: str, other: str) -> None:
    assert differ(one, other) is differ(other, one)


@given(text=TEXTS)
@example(text=": \r:")
@example(text=": \x85")
def test_a_text_does_not_differ_from_itself_and_is_warned_of(text: str) -> None:
    assert not differ(text, text)
    assert (
        not text.strip()
        or text.strip().lower().startswith(("avoid", "never", "please", "do not", "don"))
        or is_warned_of(text, text, 1.0)
    )


@given(pattern=TEXTS, action=TEXTS, cosine=st.none() | st.floats(-1.0, 1.0))
def test_any_pattern_and_any_action_can_be_compared(pattern: str, action: str, cosine: float | None) -> None:
    assert is_warned_of(pattern, action, cosine) in (True, False)


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "sleep(",
        "rm -rf a; ",
        "sudo ",
        '"\\',
        "'",
        "SELECT * ",
        "a.b(c, d=",
        "word ",
        "{[",
        "not ",
        "to v1 ",
        "$(",
        "a|",
        "search ",
        "9",
    ],
)
def test_long_texts_can_be_compared(piece: str) -> None:
    """A regular expression that tries each run from each of its places would reach the limit of time for a test."""
    text = piece * (60_000 // len(piece))
    assert is_warned_of(text, text, NEAR)
    assert is_warned_of("Using sleep() for async waits", text, NEAR) is (piece == "sleep(")
    assert not is_warned_of("rm -rf on the build directory", text, NEAR)
    assert not differ(text, f"{text} again")
