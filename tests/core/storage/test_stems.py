"""Words without endings, as full text compares them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma import ALMA
from alma.storage import stems
from alma.storage.stems import LONGEST_KEPT, MOST_KEPT, Stemmer

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


def asked(stemmer: Stemmer, words: list[str]) -> int:
    """How many statements the tokenizer runs for these words."""
    ran: list[str] = []
    stemmer._connection.set_trace_callback(ran.append)
    stemmer.stems(words)
    stemmer._connection.set_trace_callback(None)
    return len(ran)


def test_the_tokenizer_is_asked_once_for_a_word() -> None:
    stemmer = Stemmer()
    assert asked(stemmer, ["Deploys", "the", "service"])
    assert not asked(stemmer, ["service", "Deploys"])
    assert asked(stemmer, ["service", "fails"])
    stemmer.forget()
    assert asked(stemmer, ["service"])


def test_short_words_are_kept_up_to_a_limit() -> None:
    stemmer, long = Stemmer(), "b" * (LONGEST_KEPT + 1)
    for start in range(0, 3 * MOST_KEPT, 100):
        stemmer.stems([f"a{number}" for number in range(start, start + 100)])
        assert len(stemmer._known) <= MOST_KEPT
    assert stemmer.stems([long, "a1"]) == [long, "a1"]
    assert asked(stemmer, [long])


@given(TEXTS, TEXTS)
def test_words_that_are_known_have_the_same_stems(first: list[str], then: list[str]) -> None:
    stemmer = Stemmer()
    stemmer.stems(first)
    assert stemmer.stems(then) == Stemmer().stems(then)


def test_a_purge_forgets_the_words_of_questions(alma: ALMA) -> None:
    memory_id = alma.learn("dev", "Deploy the zeppelin", "success").id
    alma.retrieve("Where is the zeppelin?", "dev")
    assert "zeppelin" in stems.stemmer()._known
    alma.forget(memory_ids=[memory_id], purge=True)
    assert "zeppelin" not in stems.stemmer()._known
