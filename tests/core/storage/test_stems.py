"""Words without endings, as full text compares them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.storage.relational.text_index import stems

TEXTS = st.text(alphabet=st.sampled_from("aB1 s.\x00-_'’“—…•·é́ßΣ日😀ªﬁİ"), max_size=40)


def test_the_stems_of_a_text_stand_in_its_order() -> None:
    assert stems("Deploys of Deployment fail; agents failing") == ["deploi", "of", "deploy", "fail", "agent", "fail"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("naïve", "Naive"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("STRASSE", "straße"), ("caf\u00e9", "cafe\u0301"), ("İstanbul", "istanbul")],
)
def test_case_and_accents_of_latin_letters_make_no_difference(first: str, second: str) -> None:
    assert stems(first) == stems(second) != []


@pytest.mark.parametrize(("first", "second"), [("が", "か"), ("이", "이다"), ("شعر", "شعرة"), ("C1", "C2")])
def test_other_words_stay_others(first: str, second: str) -> None:
    assert stems(first) != stems(second)


@given(TEXTS, TEXTS)
def test_the_stems_of_two_texts_are_those_of_each(first: str, second: str) -> None:
    assert stems(f"{first} {second}") == [*stems(first), *stems(second)]


@given(TEXTS)
def test_a_stem_holds_nothing_that_full_text_takes_for_the_end_of_a_word(text: str) -> None:
    for stem in stems(text):
        assert all(character.isalnum() or not character.isascii() for character in stem)
        assert stem.split() == [stem]
