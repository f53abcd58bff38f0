"""What people and CrewAI's own tests say of answers: lessons, verdicts, and nothing else."""

import asyncio
import builtins
from collections.abc import Callable
from typing import Any

import pytest
from crewai import Crew
from crewai.core.providers.human_input import get_provider

from alma import ALMA
from alma_crewai import ALMAMemory, alma_tools
from crews import ScriptedLLM, agent, bad_tool, crew, good_tool, task, use

WRITE = "Write the release notes"


@pytest.fixture
def remarks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def say(*said: str) -> None:
        left = iter(said)
        monkeypatch.setattr(builtins, "input", lambda *_: next(left))

    return say


def reviewed(memory: ALMAMemory, *replies: Any) -> tuple[Crew, ScriptedLLM]:
    llm = ScriptedLLM(*replies)
    return crew(task(WRITE, agent(llm), human_input=True), memory=memory), llm


def outcome(alma: ALMA) -> tuple[str, ...]:
    record = alma.recent_episodes()[0]
    return str(record.outcome), *(str(step.error) for step in record.steps)


@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_person_wanted_otherwise_is_shown_to_the_next_run(
    alma: ALMA, memory: ALMAMemory, remarks: Callable[..., None], monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    async def line(*_: object) -> str:
        return input()

    monkeypatch.setattr("crewai.core.providers.human_input._async_readline", line)
    remarks("name the tickets", "")
    made, _ = reviewed(memory, "a draft", "with tickets")
    assert (asyncio.run(made.akickoff()) if is_async else made.kickoff()).raw == "with tickets"
    memory.flush()
    assert outcome(alma) == ("success", "name the tickets")
    remarks("")
    made, llm = reviewed(memory, "with tickets")
    made.kickoff()
    assert "name the tickets" in llm.prompt()


def test_a_person_who_has_nothing_to_add_accepts_the_answer(alma: ALMA, memory: ALMAMemory, remarks: Callable[..., None]) -> None:
    remarks("")
    reviewed(memory, "a draft")[0].kickoff()
    assert outcome(alma) == ("success",)


def test_the_provider_of_human_input_is_as_before_when_the_task_is_over(memory: ALMAMemory, remarks: Callable[..., None]) -> None:
    before = get_provider()
    remarks("shorter", "")
    reviewed(memory, "a draft", "short")[0].kickoff()
    assert get_provider() is before


def test_what_a_trainer_says_is_a_lesson_and_no_verdict(alma: ALMA, memory: ALMAMemory, remarks: Callable[..., None]) -> None:
    remarks("name the tickets")
    quality = '{"suggestions": ["tickets"], "quality": 8, "final_summary": "fine"}'
    crew(task(WRITE, agent(ScriptedLLM("a draft", "with tickets", quality))), memory=memory).train(1, "trained.pkl")
    assert outcome(alma) == ("unverified", "name the tickets")
    llm = ScriptedLLM("with tickets")
    crew(task(WRITE, agent(llm)), memory=memory).kickoff()
    assert "name the tickets" in llm.prompt()


@pytest.mark.parametrize(
    ("score", "verdict"), [(9.0, "success"), (7.0, "success"), (6.9, "partial"), (4.0, "partial"), (3.9, "failure")]
)
def test_the_score_of_a_test_is_the_verdict(alma: ALMA, memory: ALMAMemory, score: float, verdict: str) -> None:
    llm = ScriptedLLM(use("good_tool", text="a"), "done")
    made = crew(task(WRITE, agent(llm, tools=[good_tool])), memory=memory)
    made.test(n_iterations=1, eval_llm=ScriptedLLM(f'{{"quality": {score}}}', native=False))
    [record] = alma.recent_episodes()
    assert (str(record.outcome), [step.action for step in record.steps]) == (verdict, ['good_tool(text="a")'])


def test_of_a_test_without_a_score_nothing_is_kept(alma: ALMA, memory: ALMAMemory) -> None:
    saving = use("save_to_memory", contents=["a fact"]), use("save_fact", topic="a", fact="another fact")
    llm = ScriptedLLM(use("bad_tool", text="a"), *saving, "done")
    made = crew(task(WRITE, agent(llm, tools=[bad_tool, *alma_tools(alma)])), memory=memory)
    with pytest.raises(Exception, match="convert text"):
        made.test(n_iterations=1, eval_llm=ScriptedLLM("no score", native=False))
    assert (alma.recent_episodes(), alma.list_memories()) == ([], [])
    assert memory.errors == []


def test_a_guardrails_reason_keeps_the_next_kickoff_from_the_same_mistake(alma: ALMA, memory: ALMAMemory) -> None:
    def reply(messages: Any) -> str:
        return "with sources" if "must name sources" in str(messages) else "plain"

    asked = []
    for _ in range(3):
        llm = ScriptedLLM(reply)
        guarded = task(
            WRITE,
            agent(llm),
            guardrail=lambda output: (
                "sources" in output.raw,
                "must name sources" if "sources" not in output.raw else output.raw,
            ),
        )
        crew(guarded, memory=memory).kickoff()
        asked.append(len(llm.asked))
    assert asked == [2, 1, 1]
    assert [str(record.outcome) for record in alma.recent_episodes()] == ["success"] * 3
