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
        ("The fee is $5", "The fee is 7 dollars", "value"),
        ("The freeze begins on 1 December", "The freeze begins on December 15", "value"),
        ("The config is stored in /etc/app.yaml", "The config is stored in /opt/app.yaml", "value"),
        ("The release manager is Ines", "The release manager is Paul", "value"),
        ("The queue is RabbitMQ", "The queue was switched from RabbitMQ to Kafka", "value"),
        ("The team chats on Slack", "The team moved from Slack to Zulip", "value"),
        ("Ravi works in Porto", "Ravi has moved from Porto to Faro", "value"),
        ("Guests must confirm their address", "Guests must not confirm their address", "denial"),
        ("The client loves long reports", "The client hates long reports", "denial"),
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
        ("It expires after 3 days", "It expires after 9 days"),
        ("Is the feature enabled?", "The feature is not enabled"),
        ("The trip takes about 3 hours", "The trip takes about 4 hours"),
        ("* 1 cup of flour", "* 2 cups of flour"),
        ("Requires a password", "Does not require a password"),
        ("", "The feature is enabled"),
    ],
)
def test_facts_that_do_not(one: str, other: str) -> None:
    assert fact(one, other) is None


def test_wishes_are_compared_within_a_category_alone() -> None:
    assert wish("Use tabs", "Use spaces") == Conflict("value", "tabs", "spaces")
    assert wish("Use tabs", "Use spaces", ("style", "makefiles")) is None
    assert wish("Use npm", "Use pnpm instead of npm") is not None
    assert wish("Use spaces, not tabs", "Use spaces") is None
    assert wish("Reports with screenshots", "Reports without screenshots") is not None
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
