"""What a model writes is held to its sources: what is faithful passes, what was changed in one place does not."""

import random

import pytest
from benchmarks.guard import MUTATIONS

from alma_knowledge.llm import find_invented, find_lost

FAITHFUL = [
    (
        "I never deploy on Fridays unless the release manager approves.",
        "The user never deploys on Fridays unless the release manager approves",
    ),
    ("The checkout timeout is 30 seconds on prod-eu-2.", "On prod-eu-2 the checkout timeout is 30 s"),
    ("Alice prefers pytest over unittest.", "Alice prefers pytest over unittest"),
    (
        "Please always run `make test-fast` before you push to origin/main.",
        "Always run make test-fast before pushing to origin/main",
    ),
    ("We moved the ledger from MySQL 5.7 to PostgreSQL 16 last week.", "The ledger was moved from MySQL 5.7 to PostgreSQL 16"),
    ("Don't use tabs in the Makefile of services/billing.", "The user does not use tabs in the Makefile of services/billing"),
    (
        "The nightly job failed because the disk of db-3 was full at 97%.",
        "The nightly job failed because the disk of db-3 was full at 97 %",
    ),
    (
        "If the queue is longer than 500 items, scale worker-pool to 8.",
        "Scale worker-pool to 8 if the queue is longer than 500 items",
    ),
    ("Our API only accepts requests with an X-Request-Id header.", "The API only accepts requests with an X-Request-Id header"),
    ("Bob owns the billing service; Carol reviews it.", "Bob owns the billing service"),
    (
        "No migration may run without a backup from the last 24 hours.",
        "No migration may run without a backup from the last 24 hours",
    ),
    (
        "Set MAX_RETRIES=5 in config/prod.yaml, it fixed the flaky import.",
        "Setting MAX_RETRIES=5 in config/prod.yaml fixed the flaky import",
    ),
    ("I like short answers, two sentences at most.", "The user likes short answers of two sentences at most"),
    ("The port of the staging proxy is 8443, not 443.", "The port of the staging proxy is 8443, not 443"),
    ("Version 2.14.1 of the client breaks on Windows.", "Version 2.14.1 of the client breaks on Windows"),
    ("Never force-push to release/2026.11.", "Never force-push to release/2026.11"),
]
"""A source, and a fact that says no more and no less of it."""


@pytest.mark.parametrize(("source", "fact"), FAITHFUL)
def test_what_is_faithful_passes(source: str, fact: str) -> None:
    assert find_invented(fact, [source]) == ()
    assert find_invented(source, [source]) == () == find_lost(source, [source])


def test_of_facts_changed_in_one_place_nineteen_in_twenty_are_refused() -> None:
    chance = random.Random(7)
    passed, made = [], 0
    for source, fact in FAITHFUL:
        for mutate in MUTATIONS:
            mutant = mutate(fact, chance)
            if mutant != fact:
                made += 1
                passed += [] if find_invented(mutant, [source]) else [(mutate.__name__, mutant)]
    assert made > 50
    assert len(passed) <= 0.05 * made, passed


def test_a_fact_may_rest_on_several_sources() -> None:
    sources = ["The proxy listens on 8443.", "Its host is edge-7."]
    assert find_invented("The proxy listens on 8443 at edge-7", sources) == ()
    assert "'edge-8' is in no source" in find_invented("The proxy listens on 8443 at edge-8", sources)


def test_what_a_merged_text_leaves_out_is_named() -> None:
    sources = ["Retry 3 times with backoff", "Retry with backoff, then page Alice by PagerDuty"]
    assert find_lost("Retry 3 times with backoff, then page Alice by PagerDuty", sources) == ()
    assert set(find_lost("Retry with backoff, then page somebody", sources)) == {
        "the number 3 is lost",
        "'Alice' is lost",
        "'PagerDuty' is lost",
    }


def test_any_text_can_be_read() -> None:
    for text in ("", "!!!", "не забудь про 42", "日本語のテキスト", "a" * 10_000, "\x00\u202e"):
        assert find_invented(text, [text]) == ()
