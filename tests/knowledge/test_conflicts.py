"""Whether two short texts contradict each other: pairs that `benchmarks/data` does not have, sort by sort, and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_knowledge import Conflict, conflict

SAME = ("ops", "ops")


def fact(one: str, other: str, labels: tuple[str, str] = SAME) -> Conflict | None:
    return conflict(one, other, labels=labels)


def wish(one: str, other: str, labels: tuple[str, str] = ("style", "style")) -> Conflict | None:
    return conflict(one, other, labels=labels, is_wish=True)


@pytest.mark.parametrize(
    ("one", "other", "sort"),
    [
        ("The retry delay is 500 ms", "The retry delay is 2 s", "value"),
        ("The size of the cache is 2 GB", "The cache size is 4 GB", "value"),
        ("The shop opens at 9:00", "The shop opens at 10:00", "value"),
        ("The office is open from 8:00 to 16:00", "The office is open from 9:00 to 17:00", "value"),
        ("The fee is €5", "The fee is 7 euros", "value"),
        ("The freeze begins on 1 December", "The freeze begins on 15 December", "value"),
        ("The freezer is kept at -18 degrees", "The freezer is kept at 18 degrees", "value"),
        ("Alerts go out at 9 am", "Alerts go out at 6 pm", "value"),
        ("The config is stored in /etc/app.yaml", "The config is stored in /opt/app.yaml", "value"),
        ("The release manager is Ines", "The release manager is Paul", "value"),
        ("Guests must confirm their address", "Guests must not confirm their address", "denial"),
        ("The worker does not restart after a crash", "The worker restarts after a crash", "denial"),
        ("The feature is enabled for guests", "The feature is disabled for guests", "opposite"),
    ],
)
def test_facts_that_contradict_each_other(one: str, other: str, sort: str) -> None:
    found = fact(one, other)

    assert found is not None
    assert found.sort == sort


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The retry delay is 2 s", "The retry delay is 2000 ms"),
        ("The retry delay is 2 s", "The retry delay for mail is 5 s"),
        ("The feature is disabled", "The feature is not enabled"),
        ("The input is encoded", "The output is encoded"),
        ("Node 3 has 8 cores", "Node 4 has 16 cores"),
        ("The import took 3 minutes", "The import took 9 minutes"),
        ("The test was skipped", "The test was not skipped"),
        ("The API supports Python 3.11", "The API supports Python 3.12"),
        ("Ana is Portuguese", "Ana is Catholic"),
        ("Never deploy on Friday", "Never deploy on Sunday"),
        ("The parents of Ravi live in Porto", "Ravi moved from Porto to Faro"),
        ("Ravi was born in Porto", "Ravi moved from Porto to Faro"),
        ("Ravi lives in Faro", "Ravi moved from Porto to Faro"),
        ("Ines lives in Porto", "Ravi moved from Porto to Faro"),
        ("The client dislikes long reports", "The client hates long reports"),
        ("The client hates long reports", "The client loves long walks"),
        ("Not only admins see the page", "Admins see the page"),
        ("The lead is Maria", "The lead is Maria Lopez"),
        ("The database is PostgreSQL", "Our database is Postgres"),
        ("Chapter 3 is done", "Chapter 4 is done"),
        ("Port 8080 is open", "Port 9090 is closed"),
        ("The team met on Tuesday", "The team met on Thursday"),
        ("The plan shipped on 1 May", "The plan shipped on 9 May"),
        ("The parser reads CSV", "The parser reads JSON"),
        ("It expires after 3 days", "It expires after 9 days"),
        ("Is the feature enabled?", "The feature is not enabled"),
        ("The trip takes about 3 hours", "The trip takes about 4 hours"),
        ("* 1 cup of flour", "* 2 cups of flour"),
        ("", "The feature is enabled"),
    ],
)
def test_facts_that_do_not(one: str, other: str) -> None:
    assert fact(one, other) is None


def test_wishes_are_compared_within_a_category_alone() -> None:
    assert wish("Indent by 2", "Indent by 4") == Conflict("value", "2", "4")
    assert wish("Indent by 2", "Indent by 4", ("style", "makefiles")) is None
    assert wish("Always add comments", "Never add comments") is not None
    assert wish("Call me Sam", "Call me Sammy") is None
    assert wish("Likes tea", "Likes coffee") is None


def test_facts_of_other_domains_need_more_in_common() -> None:
    assert fact("The timeout is 30 s", "The timeout is 60 s") is not None
    assert fact("The timeout is 30 s", "The timeout is 60 s", ("cart", "mail")) is None
    long = "The connection timeout of the payment gateway is"
    assert fact(f"{long} 30 s", f"{long} 60 s", ("cart", "mail")) is not None


def test_one_sentence_among_others_needs_more_in_common() -> None:
    assert fact("We use nginx. The timeout is 30 s.", "The timeout is 60 s") is None
    assert fact("We use nginx. The proxy timeout is 30 s.", "The proxy timeout is 60 s") is not None


WORDS = "the cache timeout is not 30 60 s never on Friday Monday Berlin enabled disabled ; . , : to from"
sentences = st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)


@given(sentences, sentences)
def test_it_makes_no_difference_which_text_comes_first_and_none_contradicts_itself(a: str, b: str) -> None:
    for judge in (fact, wish):
        there, back = judge(a, b), judge(b, a)
        assert (there is None) == (back is None)
        assert judge(a, a) is None


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_compared(one: str, other: str) -> None:
    assert (fact(one, other) is None) == (fact(other, one) is None)
    assert wish(one, one) is None
