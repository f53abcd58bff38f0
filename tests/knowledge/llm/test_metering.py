"""A budget is kept: in one use, in a day, by several processes."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from alma import ValidationError
from alma_knowledge.llm import Answer, Budget, BudgetError, MeteredLLM, Usage, as_llm
from alma_knowledge.llm.metering import DailyUsage

ANSWER = "x" * 40


class Telling:
    """A model whose server says how many tokens were used."""

    def complete(self, prompt: str, /) -> str:
        return self.answer(prompt).text

    def answer(self, prompt: str, /, *, schema: object = None) -> Answer:
        return Answer(ANSWER, (100, 7))


def test_calls_and_tokens_are_counted_as_the_server_says_else_by_length() -> None:
    told, guessed = MeteredLLM(Telling()), MeteredLLM(as_llm(lambda prompt: ANSWER))
    for model in (told, guessed):
        assert model.complete("y" * 80) == ANSWER
        model.complete("y" * 80)
    assert told.used == Usage(2, 200, 14)
    assert guessed.used == Usage(2, 40, 20)


@pytest.mark.parametrize("budget", [Budget(max_calls=2), Budget(max_tokens=65), Budget(calls_a_day=2), Budget(tokens_a_day=65)])
def test_a_call_over_the_budget_is_not_made(budget: Budget) -> None:
    asked: list[str] = []
    model = MeteredLLM(as_llm(lambda prompt: asked.append(prompt) or ANSWER), budget)
    for _ in range(2):
        model.complete("y" * 80)
    with pytest.raises(BudgetError, match="used up; nothing was asked"):
        model.complete("y" * 80)
    assert len(asked) == 2


def test_a_call_that_failed_counts() -> None:
    def broken(prompt: str) -> str:
        raise RuntimeError("no answer")

    model = MeteredLLM(as_llm(broken), Budget(max_calls=1))
    with pytest.raises(Exception, match="no answer"):
        model.complete("hello")
    with pytest.raises(BudgetError):
        model.complete("hello")


def test_a_day_is_counted_by_all_processes_and_begins_anew(tmp_path: Path) -> None:
    file, now = tmp_path / "new" / "usage.db", datetime(2026, 3, 1, 23, 0, tzinfo=UTC)
    code = (
        "import sys; from pathlib import Path; from datetime import datetime\n"
        "from alma_knowledge.llm.metering import DailyUsage, Usage\n"
        "daily = DailyUsage(Path(sys.argv[1]), now=lambda: datetime.fromisoformat(sys.argv[2]))\n"
        "for _ in range(50): daily.add(Usage(1, 10, 1))\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(file), now.isoformat()]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    daily = DailyUsage(file, now=lambda: now)
    assert daily.today() == Usage(200, 2_000, 200)
    model = MeteredLLM(as_llm(lambda prompt: ANSWER), Budget(calls_a_day=200), daily)
    with pytest.raises(BudgetError, match="200 calls a day"):
        model.complete("hello")
    now += timedelta(hours=2)
    assert model.complete("hello") == ANSWER
    assert daily.today().calls == 1


@pytest.mark.parametrize("wrong", [-1, True, "5", 1.5])
def test_a_limit_is_a_number(wrong: object) -> None:
    with pytest.raises(ValidationError, match="max_calls must be a number"):
        Budget(max_calls=wrong)  # type: ignore[arg-type]
