"""A memory in words for a person."""

import pytest

from alma.types import AntiPattern, DomainKnowledge, Heuristic, Outcome, UserPreference, Verdict
from alma.types.memories import AnyMemory
from alma_cli.slices import owner_of, summary_of


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (
            Outcome(task_description="Deploy\nit", outcome=Verdict.FAILURE, strategy_used="by  hand"),
            "failure: Deploy it\n  by by hand",
        ),
        (Outcome(task_description="Deploy"), "unverified: Deploy"),
        (
            AntiPattern(pattern="sleep()", why_bad="flaky", better_alternative="waiting", metadata={"shared_from": "ada"}),
            "sleep()\n  instead waiting\n  from ada",
        ),
        (AntiPattern(pattern="sleep()", why_bad="flaky"), "sleep()"),
        (
            Heuristic(condition="login", strategy="empty fields", occurrence_count=10, success_count=8),
            "login: empty fields\n  worked 8 of 10 times",
        ),
        (Heuristic(condition="login", strategy="empty fields"), "login: empty fields"),
        (
            AntiPattern(
                pattern="rolling update",
                why_bad="502",
                occurrence_count=3,
                success_count=0,
                better_alternative="blue-green",
                metadata={"learned": True, "status": "candidate", "tasks": 2, "partials": 1, "error": True},
            ),
            'rolling update\n  failed 3 of 4 times (2 tasks, 1 in part); error: "502"; instead: blue-green',
        ),
        (DomainKnowledge(domain="web", fact="Tokens expire"), "Tokens expire"),
    ],
)
def test_a_memory_is_told_with_what_belongs_to_it(memory: AnyMemory, expected: str) -> None:
    assert summary_of(memory) == expected


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (Outcome(agent="victor", task_description="Deploy"), "victor"),
        (Outcome(agent="victor", user_id="ann", task_description="Deploy"), "victor, for ann"),
        (UserPreference(user_id="ann", category="reports", preference="short"), "ann"),
        (UserPreference(user_id="ann", agent="victor", category="reports", preference="short"), "ann"),
    ],
)
def test_the_owner_is_the_agent_with_the_user_for_whom_it_worked(memory: AnyMemory, expected: str) -> None:
    assert owner_of(memory) == expected
