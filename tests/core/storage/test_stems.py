"""Words without endings, as full text compares them."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from alma import ALMA
from alma.storage import stems
from alma.storage.stems import LONGEST_KEPT, MOST_KEPT, Stemmer

TEXTS = st.lists(st.text(alphabet=st.sampled_from("aB1 s.\x00-_'’“—…•·é́ßΣ日😀ªﬁİ"), max_size=20), max_size=5)


@pytest.fixture
def stemmer() -> Iterator[Stemmer]:
    with closing(Stemmer()) as made:
        yield made


def test_the_words_of_a_question_stay_in_their_order_each_once(stemmer: Stemmer) -> None:
    stems = stemmer.stems(["Deploys", "naïve", "failing", "deploy", "agents of Deployment"])
    assert stems == ["deploi", "naiv", "fail", "agent", "of", "deploy"]


def test_the_stems_of_a_text_are_counted_apart_from_those_of_others(stemmer: Stemmer) -> None:
    assert stemmer.counts(["Deploys deploy", "", "naïve runs"]) == [{"deploi": 2}, {}, {"naiv": 1, "run": 1}]


@given(TEXTS)
def test_texts_of_any_script_have_the_stems_of_each_alone(texts: list[str]) -> None:
    with closing(Stemmer()) as stemmer:
        assert stemmer.counts(texts) == [stemmer.counts([text])[0] for text in texts]
        assert set(stemmer.stems(texts)) == set().union(*map(set, stemmer.counts(texts)))


@pytest.mark.parametrize("word", ["AND", "NEAR(", '"', "*", "text:", "NOT x", "^y"])
def test_the_query_language_of_the_database_means_nothing_in_a_word(stemmer: Stemmer, word: str) -> None:
    assert Counter(stemmer.stems([word])).keys() == stemmer.counts([word])[0].keys()


def asked(stemmer: Stemmer, words: list[str]) -> int:
    """How many statements the tokenizer runs for these words."""
    ran: list[str] = []
    stemmer._connection.set_trace_callback(ran.append)
    stemmer.stems(words)
    stemmer._connection.set_trace_callback(None)
    return len(ran)


def test_the_tokenizer_is_asked_once_for_a_word(stemmer: Stemmer) -> None:
    assert asked(stemmer, ["Deploys", "the", "service"])
    assert not asked(stemmer, ["service", "Deploys"])
    assert asked(stemmer, ["service", "fails"])
    stemmer.forget()
    assert asked(stemmer, ["service"])


def test_what_is_asked_in_the_middle_of_a_call_is_answered_by_a_table_of_its_own_that_is_closed(
    stemmer: Stemmer, mocker: MockerFixture
) -> None:
    made, answers = mocker.spy(sqlite3, "connect"), list[list[str]]()

    def interrupt(statement: str) -> None:
        if statement.startswith("INSERT") and not made.called:
            answers.append(stemmer.stems(["failing"]))

    stemmer._connection.set_trace_callback(interrupt)
    assert (stemmer.stems(["deploys"]), answers) == (["deploi"], [["fail"]])
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        made.spy_return.execute("SELECT 1")


def test_short_words_are_kept_up_to_a_limit(stemmer: Stemmer) -> None:
    long = "b" * (LONGEST_KEPT + 1)
    for start in range(0, 3 * MOST_KEPT, 100):
        stemmer.stems([f"a{number}" for number in range(start, start + 100)])
        assert len(stemmer._known) <= MOST_KEPT
    assert stemmer.stems([long, "a1"]) == [long, "a1"]
    assert asked(stemmer, [long])


@given(TEXTS, TEXTS)
def test_words_that_are_known_have_the_same_stems(first: list[str], then: list[str]) -> None:
    with closing(Stemmer()) as stemmer, closing(Stemmer()) as fresh:
        stemmer.stems(first)
        assert stemmer.stems(then) == fresh.stems(then)


def test_a_purge_forgets_the_words_of_questions(alma: ALMA) -> None:
    memory_id = alma.learn("dev", "Deploy the zeppelin", "success").id
    alma.retrieve("Where is the zeppelin?", "dev")
    assert "zeppelin" in stems.stemmer()._known
    alma.forget(memory_ids=[memory_id], purge=True)
    assert "zeppelin" not in stems.stemmer()._known
