"""The loop, closed by nothing but `agent.run(memory=…)`: what a run taught stands in the next run's prompt, and changes what is done."""

import re
from collections.abc import Callable
from itertools import cycle
from threading import Event
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from alma import ALMA
from alma.integration import Integration
from alma_llamaindex import ALMAMemory, RunView
from alma_llamaindex.testing import Answer
from llama_runs import TASK, agent_of, episodes, outcomes, react_agent_of, run, user_text

pytestmark = pytest.mark.any_version


class Deployment:
    """A tool with two ways, of which one works; the other fails with another error each time."""

    def __init__(self) -> None:
        self.errors = cycle(["502 while the pods were replaced", "503 from the load balancer"])

    def deploy(self, way: str) -> str:
        """Deploys."""
        if way == "rolling":
            raise RuntimeError(next(self.errors))
        return "live"


WARNING = re.compile(r'\[[AS]\d\] deploy\(way="rolling"\): failed')


def obedient(messages: list[ChatMessage]) -> Answer:
    """Deploys the rolling way, twice if need be, unless a line of its notes says that this failed."""
    results = [message.content or "" for message in messages if message.role == MessageRole.TOOL]
    if len(results) == 2 or "live" in results:
        return f"Tried: {results[-1]}"
    return [("deploy", {"way": "blue-green" if WARNING.search(user_text(messages)) else "rolling"})]


def try_it(alma: ALMA, *, evaluator: Any = None) -> tuple[str, str]:
    """One run by nothing but the drop-in: what the prompt said, and what came of it."""
    agent = agent_of(obedient, tools=[Deployment().deploy])
    answer = run(agent, ALMAMemory.from_defaults(alma, agent="dev", evaluator=evaluator))
    return user_text(agent.llm.prompts[0]), str(answer)


def test_after_failures_the_next_prompt_warns_and_the_next_run_does_better(alma: ALMA) -> None:
    first, worse = try_it(alma)
    second, better = try_it(alma)
    assert (first, worse) == (TASK, "Tried: 503 from the load balancer")
    assert f"[A1] {ROLLING}: failed 2 of 2 times" in second
    assert better == "Tried: live"


ROLLING, BLUE_GREEN = 'deploy(way="rolling")', 'deploy(way="blue-green")'
FAILED = ("failure", ROLLING, "RuntimeError: 502 while the pods were replaced")


def in_turn(messages: list[ChatMessage]) -> Answer:
    """Tries the one way and then the other, without a look at its notes."""
    tried = sum(message.role == MessageRole.TOOL for message in messages)
    return "done" if tried == 2 else [("deploy", {"way": ("rolling", "blue-green")[tried]})]


def test_what_failed_and_then_worked_in_one_run_is_learned_with_nobody_to_judge(alma: ALMA) -> None:
    run(agent_of(in_turn, tools=[Deployment().deploy]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert outcomes(alma) == {FAILED, ("success", BLUE_GREEN, None), ("unverified", BLUE_GREEN, None)}
    prompt, _ = try_it(alma)
    assert f"Way: {ROLLING} | Error: RuntimeError: 502 while the pods were replaced | Then worked: {BLUE_GREEN}" in prompt


def test_what_works_in_a_later_run_is_no_success_with_nobody_to_judge(alma: ALMA) -> None:
    for way in ("rolling", "blue-green"):
        script: list[Answer] = [[("deploy", {"way": way})], "done"]
        run(agent_of(script, tools=[Deployment().deploy]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert outcomes(alma) == {FAILED, ("unverified", "", None), ("unverified", BLUE_GREEN, None)}


def test_a_retrieval_waits_for_what_the_run_before_taught(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    is_asked = Event()
    endings: list[int] = []
    catch_up, retrieve = Integration.catch_up, alma.retrieve

    def noted(self: Integration) -> None:
        is_asked.set()
        catch_up(self)

    def counted(**given: Any) -> Any:
        endings.append(sum(record.outcome is not None for record in alma.recent_episodes()))
        return retrieve(**given)

    def late(run: RunView) -> str:
        """Comes to a verdict when the next run already asks."""
        assert is_asked.wait(5)
        return "failure"

    monkeypatch.setattr("alma_integration.kit.JUDGING_SECONDS", 5)
    try_it(alma, evaluator=late)
    monkeypatch.setattr(Integration, "catch_up", noted)
    monkeypatch.setattr(alma, "retrieve", counted)
    prompt, _ = try_it(alma)
    assert endings == [1]
    assert "[O1] Failed" in prompt


def succeeded(run: RunView) -> bool:
    return "live" in run.output


def test_what_works_again_and_again_becomes_a_strategy_of_the_next_prompt(alma: ALMA) -> None:
    prompts = [try_it(alma, evaluator=succeeded)[0] for _ in range(5)]
    assert [record.outcome for record in episodes(alma)] == ["failure"] + ["success"] * 4
    assert ["[H1]" in prompt for prompt in prompts] == [False, False, False, False, True]
    assert f"[H1] {BLUE_GREEN}: worked 3 of 3 times" in prompts[-1]
    assert ("failure", ROLLING, "RuntimeError: 502 while the pods were replaced") in outcomes(alma)


def emptied(alma: ALMA) -> None:
    alma.forget(memory_ids=[memory.id for memory in alma.list_memories()])


def shuffled(alma: ALMA) -> None:
    """The same lessons, each told of the other way."""
    told = outcomes(alma)
    emptied(alma)
    for outcome, way, error in told:
        alma.learn("dev", TASK, outcome, (way or "").replace("rolling", "blue-green"), error_message=error)


def anothers(alma: ALMA) -> None:
    """The same lessons, of another agent."""
    told = outcomes(alma)
    emptied(alma)
    for outcome, way, error in told:
        alma.learn("ops", TASK, outcome, way, error_message=error)


@pytest.mark.parametrize("spoil", [emptied, shuffled, anothers])
def test_without_its_memory_it_does_not_do_better(alma: ALMA, spoil: Callable[[ALMA], None]) -> None:
    try_it(alma)
    episodes(alma)
    spoil(alma)
    prompt, answer = try_it(alma)
    assert answer == "Tried: 503 from the load balancer"
    assert (f"[A1] {BLUE_GREEN}: failed" in prompt) is (spoil is shuffled)


def test_what_is_cited_gains_and_what_is_not_loses(alma: ALMA) -> None:
    for way in ("by the canary way", "by the blue-green way"):
        alma.add_heuristic("dev", TASK, way)
    before = {memory.id: memory for memory in alma.retrieve(TASK, "dev")}
    cited, other = list(before)
    for _ in range(5):
        tag = {item.memory.id: item.tag for item in alma.retrieve(TASK, "dev").recalled}[cited]
        run(agent_of([f"As [{tag}] says"]), ALMAMemory.from_defaults(alma, agent="dev"))
        episodes(alma)
    usefulness = {item.memory.id: item.factors.usefulness for item in alma.retrieve(TASK, "dev").recalled}
    assert usefulness[cited] > 1 > usefulness[other]


def test_what_nobody_cites_is_neither_used_nor_passed_over(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    run(agent_of(["done"]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert [record.used for record in episodes(alma)] == [None]
    assert alma.retrieve(TASK, "dev").recalled[0].factors.usefulness == 1


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")  # by ReActAgent itself
def test_a_tag_in_the_middle_of_the_work_counts_too(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    agent = react_agent_of(["Thought: [H1] tells me how.\nAction: ok\nAction Input: {}", "Thought: That is all.\nAnswer: done"])
    run(agent, ALMAMemory.from_defaults(alma, agent="dev"))
    assert [record.used for record in episodes(alma)] == [(rule.id,)]
