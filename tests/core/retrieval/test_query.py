"""What is asked, made ready for the two searches."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.text import MAX_WORDS, addressed, named_in, query_words, without_names


def test_the_words_of_a_question_are_those_that_tell() -> None:
    assert query_words("How do I deploy the Auth-service to the cluster?") == ["deploy", "auth", "service", "cluster"]


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert query_words("who am I") == ["who", "am", "i"]


def test_a_word_is_asked_for_once() -> None:
    assert query_words("retry, Retry, RETRY") == ["retry"]


def test_of_a_long_question_the_first_words_are_asked_for() -> None:
    words = [f"word{number}" for number in range(200)]
    assert query_words(" ".join(words)) == words[:MAX_WORDS]


@pytest.mark.parametrize("task", ["", "!!! ???", "‼", "\u200b"])
def test_a_question_without_words_asks_for_none(task: str) -> None:
    assert query_words(task) == []


@pytest.mark.parametrize(
    ("task", "names", "expected"),
    [
        ("Helena, deploy the service", ["helena"], ", deploy the service"),
        ("ask qa lead about the form", ["qa lead", "qa"], "ask about the form"),
        ("deploy the devil", ["dev"], "deploy the devil"),
        ("deploy", [], "deploy"),
        ("deploy", [""], "deploy"),
        ("use a.b* here", ["a.b*"], "use here"),
        ("aXb stays", ["a.b"], "aXb stays"),
    ],
)
def test_names_are_left_out_of_what_is_asked(task: str, names: list[str], expected: str) -> None:
    assert without_names(task, frozenset(names)) == expected


@pytest.mark.parametrize("task", ["helena", "Helena!", "helena victor"])
def test_a_task_of_names_alone_stays_as_it_is(task: str) -> None:
    assert without_names(task, frozenset({"helena", "victor"})) == task


@given(st.data(), st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4))
def test_a_name_is_left_out_however_it_is_spelt_in_case(data: st.DataObject, names: list[str]) -> None:
    spelt = data.draw(st.sampled_from(names)).swapcase()
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})(?!\w)", re.IGNORECASE)
    task = f"deploy {spelt} now"
    assert without_names(task, frozenset(names)) == " ".join(pattern.sub(" ", task).split())


@given(st.text(max_size=40), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_and_any_names_give_a_text_that_still_says_something(task: str, names: list[str]) -> None:
    rest = without_names(task, frozenset(names))
    assert bool(query_words(rest)) == bool(query_words(task))


@pytest.mark.parametrize(
    ("task", "names", "expected"),
    [
        ("What did Ann cook?", ["Ann"], "What did you cook?"),
        ("What did ANN cook for ann's sister?", ["Ann"], "What did you cook for your sister?"),
        ("Who painted James' house and James’s door?", ["James"], "Who painted your house and your door?"),
        ("Where did Ann Lee meet Bob?", ["Ann", "Ann Lee", "Bob"], "Where did you meet you?"),
        ("Who ate the banana?", ["Ann"], "Who ate the banana?"),
        ("Ann?", ["Ann"], "Ann?"),
        ("What now?", [""], "What now?"),
        ("What did a.b do?", ["", "a.b"], "What did you do?"),
    ],
)
def test_a_question_is_put_to_those_whom_it_names(task: str, names: list[str], expected: str) -> None:
    assert addressed(task, frozenset(names)) == expected


@pytest.mark.parametrize(
    ("task", "named"),
    [("What did ANN cook?", {"Ann"}), ("Anna also danced", set()), ("Ann's and Bob's house", {"Ann", "Bob"}), ("", set())],
)
def test_a_name_counts_only_as_a_word_of_its_own(task: str, named: set[str]) -> None:
    assert named_in(task, ["Ann", "Bob", "Al", ""]) == named
