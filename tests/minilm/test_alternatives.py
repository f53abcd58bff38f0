"""Ways of doing one kind of task, as agents record them in their own words: what did well is one, what failed is another."""

from pathlib import Path

import pytest

from alma import ALMA

WAITS = ("wait for the network to be idle", "wait until network idle, then assert", "wait for network idle")
SLEEPS = ("add sleep(2) before the assertion", "add sleep(5) before the assertion", "increase the sleep")


@pytest.mark.parametrize("order", [1, -1])
def test_what_failed_has_no_success_of_what_worked(tmp_path: Path, order: int) -> None:
    tries = [*((way, "success") for way in WAITS), *((way, "failure") for way in SLEEPS)]
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="minilm") as alma:
        for number, (way, outcome) in enumerate(tries[::order]):
            task = f"Fix the flaky {('cart', 'login', 'search', 'invoice', 'profile', 'checkout')[number]} test"
            alma.learn(agent="dev", task=task, outcome=outcome, strategy_used=way, error_message="AssertionError: total is 0")
        rows = alma.strategies(task="Fix the flaky payment test", agent="dev").rows

    assert (rows[0].strategy in WAITS, rows[0].successes, rows[0].trials) == (True, 3, 3)
    assert [row.successes for row in rows if row.strategy in SLEEPS] == [0] * sum(row.strategy in SLEEPS for row in rows)
    assert sum(row.trials for row in rows) == len(tries)
