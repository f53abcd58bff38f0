"""A heuristic that was stated, and not tried under its own name, says how often it was cited and how that went."""

from pathlib import Path
from typing import Any

import pytest

from alma import ALMA

TASK = "Deploy the billing service"


@pytest.fixture
def alma(tmp_path: Path) -> ALMA:
    return ALMA.open(tmp_path, project_id="shop", embedding_provider="hash")


def _line(alma: ALMA) -> str:
    return next(line for line in alma.retrieve(TASK, agent="dev").to_prompt().splitlines() if line.startswith("[H1]"))


def _attempts(alma: ALMA, *verdicts: str, cites: str = "As [H1] says") -> None:
    for verdict in verdicts:
        with alma.episode(agent="dev", task=TASK) as episode:
            episode.observe(cites)
            episode.succeed() if verdict == "success" else episode.fail("it went down")


def test_one_that_was_never_cited_has_no_record(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "drain the queue")
    _attempts(alma, "success", cites="I know better")

    assert _line(alma) == f"[H1] {TASK}: drain the queue (no record yet)"


@pytest.mark.parametrize(
    ("verdicts", "went"),
    [
        (("success",) * 3, "that went well"),
        (("failure",) * 3, "that went badly"),
        (("success", "failure", "success"), "with mixed results"),
    ],
)
def test_citations_are_counted_with_how_the_attempts_went(alma: ALMA, verdicts: tuple[str, ...], went: str) -> None:
    alma.add_heuristic("dev", TASK, "drain the queue")
    _attempts(alma, *verdicts)

    assert _line(alma) == f"[H1] {TASK}: drain the queue (no record yet of its own; cited 3 times, in attempts {went})"


@pytest.mark.parametrize("stored", [{"times": 9, "share": 1.0}, "9 times", {"times": "9", "share": "[H2]"}])
def test_what_was_stored_under_the_key_says_nothing(alma: ALMA, stored: Any) -> None:
    alma.add_heuristic("dev", TASK, "drain the queue", metadata={"cited_in_attempts": stored})

    assert _line(alma) == f"[H1] {TASK}: drain the queue (no record yet)"


def test_a_strategy_with_trials_of_its_own_says_these(alma: ALMA) -> None:
    alma.learn_many({"agent": "dev", "task": TASK, "outcome": "success", "strategy_used": "drain the queue"} for _ in range(3))
    _attempts(alma, "success")

    assert _line(alma).startswith("[H1] drain the queue: worked 3 of 3 times")
    assert "cited" not in _line(alma)


def test_the_use_of_other_users_moves_nothing_where_users_are_isolated(tmp_path: Path) -> None:
    alma = ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", users="isolated")
    alma.add_heuristic("dev", TASK, "drain the queue")

    def seen(user: str | None) -> tuple[str, float]:
        found = alma.retrieve(TASK, agent="dev", user_id=user)
        return found.to_prompt(), round(found.recalled[0].score, 6)

    before = seen("ann"), seen(None)
    for _ in range(6):
        with alma.episode(agent="dev", task=TASK, user_id="bob") as episode:
            episode.observe("As [H1] says")
            episode.fail("it went down")

    assert (seen("ann"), seen(None)) == before
