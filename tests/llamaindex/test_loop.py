"""The loop, closed by nothing but `agent.run(memory=…)`: what a run taught stands in the next run's prompt, and changes what is done."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from alma import ALMA
from alma_llamaindex import AgentRun, ALMAMemory
from alma_llamaindex.testing import Answer
from llama_runs import TASK, agent_of, episodes, outcomes, react_agent_of, run, user_text


def deploy(way: str) -> str:
    """Deploys in one of two ways, of which one works."""
    if way == "rolling":
        raise RuntimeError("502 while the pods were replaced")
    return "live"


def obedient(messages: list[ChatMessage]) -> Answer:
    """Deploys the way it is used to, unless a note of its prompt tells of a failure of it; cites the note that it follows."""
    done = [message for message in messages if message.role == MessageRole.TOOL]
    if done:
        return f"Tried: {done[-1].content}"
    warned = "deploy(way='rolling')" in user_text(messages)
    return [("deploy", {"way": "blue-green" if warned else "rolling"})]


def try_it(alma: ALMA, *, evaluator: Any = None) -> tuple[str, str]:
    """One run by nothing but the drop-in: what the prompt said, and what came of it."""
    agent = agent_of(obedient, tools=[deploy])
    answer = run(agent, ALMAMemory.from_defaults(alma, agent="dev", evaluator=evaluator))
    return user_text(agent.llm.prompts[0]), str(answer)


def test_a_failure_and_a_success_are_learned_and_the_second_run_does_better(alma: ALMA) -> None:
    first, worse = try_it(alma)
    second, better = try_it(alma)
    assert (first, worse) == (TASK, "Tried: 502 while the pods were replaced")
    assert "deploy(way='rolling')" in second
    assert "502 while the pods were replaced" in second
    assert better == "Tried: live"


def succeeded(run: AgentRun) -> bool:
    return "live" in run.output


def test_what_was_learned_has_its_verdicts(alma: ALMA) -> None:
    try_it(alma, evaluator=succeeded)
    try_it(alma, evaluator=succeeded)
    third, _ = try_it(alma, evaluator=succeeded)
    assert [record.outcome for record in episodes_when_written(alma)] == ["failure", "success", "success"]
    assert ("failure", "deploy(way='rolling')", "RuntimeError: 502 while the pods were replaced") in outcomes(alma)
    assert "Succeeded" in third


def episodes_when_written(alma: ALMA) -> list[Any]:
    learner = ALMAMemory.from_defaults(alma, agent="dev").learner
    assert learner is not None
    assert learner.flush()
    return episodes(alma)


def emptied(alma: ALMA) -> None:
    alma.forget(memory_ids=[memory.id for memory in alma.list_memories()])


def shuffled(alma: ALMA) -> None:
    """Every lesson is of another task, by another agent's name."""
    lessons = alma.list_memories(agent="dev")
    emptied(alma)
    random.Random(7).shuffle(lessons)
    for number, lesson in enumerate(lessons):
        alma.learn(f"other-{number}", lesson.task_description, lesson.outcome, lesson.strategy_used)


@pytest.mark.parametrize("spoil", [emptied, shuffled])
def test_without_its_memory_it_does_not_do_better(alma: ALMA, spoil: Callable[[ALMA], None]) -> None:
    try_it(alma)
    episodes_when_written(alma)
    spoil(alma)
    prompt, answer = try_it(alma)
    assert (prompt, answer) == (TASK, "Tried: 502 while the pods were replaced")


def test_what_is_cited_gains_and_what_is_not_loses(alma: ALMA) -> None:
    for way in ("by the canary way", "by the blue-green way"):
        alma.add_heuristic("dev", TASK, way)
    before = {memory.id: memory for memory in alma.retrieve(TASK, "dev")}
    cited, other = list(before)
    for _ in range(5):
        tag = {item.memory.id: item.tag for item in alma.retrieve(TASK, "dev").recalled}[cited]
        run(agent_of([f"As [{tag}] says"]), ALMAMemory.from_defaults(alma, agent="dev"))
        episodes_when_written(alma)
    usefulness = {item.memory.id: item.factors.usefulness for item in alma.retrieve(TASK, "dev").recalled}
    assert usefulness[cited] > 1 > usefulness[other]


def test_what_nobody_cites_is_neither_used_nor_passed_over(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    run(agent_of(["done"]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert [record.used for record in episodes_when_written(alma)] == [None]
    assert alma.retrieve(TASK, "dev").recalled[0].factors.usefulness == 1


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")  # by ReActAgent itself
def test_a_tag_in_the_middle_of_the_work_counts_too(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    agent = react_agent_of(["Thought: [H1] tells me how.\nAction: ok\nAction Input: {}", "Thought: That is all.\nAnswer: done"])
    run(agent, ALMAMemory.from_defaults(alma, agent="dev"))
    assert [record.used for record in episodes_when_written(alma)] == [(rule.id,)]
