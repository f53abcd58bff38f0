"""What is warned of for tasks in other words, with the built-in model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    """A memory in which one way failed for four tasks, and another worked."""
    failed = {"outcome": "failure", "strategy_used": "rolling update", "error_message": "ImagePullBackOff"}
    with ALMA.open(tmp_path, project_id="p", embedding_provider="minilm") as alma:
        for service in ("auth", "billing", "search", "mail"):
            task = f"Deploy the {service} service"
            alma.learn(agent="dev", task=task, **failed)
            alma.learn(agent="dev", task=task, outcome="success", strategy_used="blue-green")
        yield alma


@pytest.mark.parametrize("task", ["Deploy the login service", "Ship the new version of checkout to production"])
def test_an_action_is_warned_of_for_a_like_task_in_other_words(alma: ALMA, task: str) -> None:
    found = alma.check(agent="dev", action="do a rolling update", task=task)

    assert not found.is_clear
    assert "rolling update: failed 4 of 4 times" in str(found)


@pytest.mark.parametrize(("failing", "working"), [("deploy on Friday", "deploy on Monday"), ("curl -k", "curl")])
def test_an_action_that_works_is_not_warned_of_for_what_it_resembles(alma: ALMA, failing: str, working: str) -> None:
    for number, (action, outcome) in enumerate([(failing, "failure")] * 2 + [(working, "success")] * 3):
        task = f"Release number {number}"
        alma.learn(agent="ops", task=task, task_type="release", outcome=outcome, strategy_used=action, error_message="outage")

    assert alma.check(agent="ops", action=working, task_type="release").is_clear
    assert alma.check(agent="ops", action=working).is_clear
    assert not alma.check(agent="ops", action=failing, task_type="release").is_clear


def test_for_an_unlike_task_it_is_reported_and_no_warning(alma: ALMA) -> None:
    found = alma.check(agent="dev", action="Rolling update", task="Water the plants")

    assert found.is_clear
    assert [each.anti_pattern.pattern for each in found.elsewhere] == ["rolling update"]


@pytest.mark.parametrize("task", ["Deploy the login service", "Water the plants"])
def test_what_works_is_warned_of_for_no_task(alma: ALMA, task: str) -> None:
    found = alma.check(agent="dev", action="a blue-green deployment", task=task)

    assert not found.warnings
    assert not found.elsewhere
