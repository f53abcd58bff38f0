"""A memory in words for a person."""

import pytest

from alma.types import AntiPattern, DomainKnowledge, Heuristic, Outcome, Verdict
from alma.types.memories import AnyMemory
from alma_cli.slices import summary_of


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
        (DomainKnowledge(domain="web", fact="Tokens expire"), "Tokens expire"),
    ],
)
def test_a_memory_is_told_with_what_belongs_to_it(memory: AnyMemory, expected: str) -> None:
    assert summary_of(memory) == expected
