"""Words without endings, as full text compares them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.storage.stems import Stemmer

TEXTS = st.lists(st.text(alphabet=st.sampled_from("aB1 s.\x00-_'’“—…•·é́ßΣ日😀ªﬁİ"), max_size=20), max_size=5)


def test_the_words_of_a_question_stay_in_their_order_each_once() -> None:
    stems = Stemmer().stems(["Deploys", "naïve", "failing", "deploy", "agents of Deployment"])
    assert stems == ["deploi", "naiv", "fail", "agent", "of", "deploy"]


def test_the_stems_of_a_text_are_counted_apart_from_those_of_others() -> None:
    assert Stemmer().counts(["Deploys deploy", "", "naïve runs"]) == [{"deploi": 2}, {}, {"naiv": 1, "run": 1}]


@given(TEXTS)
def test_texts_of_any_script_have_the_stems_of_each_alone(texts: list[str]) -> None:
    stemmer = Stemmer()
    assert stemmer.counts(texts) == [stemmer.counts([text])[0] for text in texts]
    assert set(stemmer.stems(texts)) == set().union(*map(set, stemmer.counts(texts)))


@pytest.mark.parametrize("word", ["AND", "NEAR(", '"', "*", "text:", "NOT x", "^y"])
def test_the_query_language_of_the_database_means_nothing_in_a_word(word: str) -> None:
    assert Counter(Stemmer().stems([word])).keys() == Stemmer().counts([word])[0].keys()
