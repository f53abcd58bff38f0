"""The loop closed: what failed in one run is a warning in the next, and it is the warning that helps."""

from collections.abc import Callable

import pytest
from crewai.tools import tool

from alma import ALMA
from alma_crewai import ALMAMemory
from crews import Message, ScriptedLLM, agent, crew, task, use

pytestmark = pytest.mark.any_version

FIRST_IDEA, OTHER_IDEA = "rolling update", "blue-green"


@tool("deploy")
def deploy(method: str) -> str:
    """Deploys by a method."""
    if method == FIRST_IDEA:
        raise RuntimeError("health check timed out")
    return "deployed"


def obedient(messages: list[Message]) -> object:
    """Tries its first idea unless the prompt warns of it; then says what came of it."""
    if messages[-1]["role"] == "tool":
        return str(messages[-1]["content"])
    warnings = [line for line in str(messages[-1]["content"]).splitlines() if line.startswith("[A")]
    return use("deploy", method=OTHER_IDEA if any(FIRST_IDEA in line for line in warnings) else FIRST_IDEA)


def release(memory: ALMAMemory) -> ScriptedLLM:
    """A run of two tasks."""
    llm = ScriptedLLM(obedient)
    worker = agent(llm, tools=[deploy])
    crew(task("Deploy the auth service", worker), task("Deploy the auth service once more", worker), memory=memory).kickoff()
    return llm


def outcomes(alma: ALMA) -> list[str]:
    return [str(record.outcome) for record in reversed(alma.recent_episodes())]


@pytest.fixture
def judged(alma: ALMA):
    memory = ALMAMemory(alma, evaluator=lambda run: run.answer == "deployed", task_type="deployment")
    yield memory
    memory.close()


def test_what_failed_in_the_first_run_is_avoided_in_the_second(alma: ALMA, judged: ALMAMemory) -> None:
    release(judged)
    assert outcomes(alma) == ["failure", "failure"]
    warnings = alma.list_memories("anti_pattern")
    assert {(warning.agent, warning.pattern) for warning in warnings} == {("Coder", 'deploy(method="rolling update")')}
    assert all("health check timed out" in warning.why_bad for warning in warnings)
    llm = release(judged)
    assert '[A1] deploy(method="rolling update"): failed 2 of 2 times' in llm.prompt()
    assert outcomes(alma)[2:] == ["success", "success"]


def test_the_way_that_works_becomes_a_strategy(alma: ALMA, judged: ALMAMemory) -> None:
    for _ in range(3):
        release(judged)
    (strategy,) = alma.list_memories("heuristic")
    assert strategy.strategy == 'deploy(method="blue-green")'
    assert (strategy.success_count, strategy.occurrence_count) == (4, 4)
    (warning,) = alma.retrieve("Deploy the auth service", "Coder", task_type="deployment").anti_patterns
    assert warning.pattern == 'deploy(method="rolling update")'


def test_a_warning_names_the_way_that_works(alma: ALMA, judged: ALMAMemory) -> None:
    for _ in range(4):
        release(judged)
    (warning,) = alma.retrieve("Deploy the auth service", "Coder", task_type="deployment").anti_patterns
    assert warning.better_alternative == 'deploy(method="blue-green")'


def emptied(alma: ALMA, memory: ALMAMemory) -> None:
    memory.reset()


def shuffled(alma: ALMA, memory: ALMAMemory) -> None:
    """The same number of warnings of the same shape, about the other way."""
    learned = alma.list_memories("anti_pattern")
    memory.reset()
    for warning in learned:
        alma.add_anti_pattern(warning.agent, warning.pattern.replace(FIRST_IDEA, OTHER_IDEA), warning.why_bad)


@pytest.mark.parametrize("spoil", [emptied, shuffled])
def test_without_its_warnings_the_second_run_fails_as_the_first(
    alma: ALMA, judged: ALMAMemory, spoil: Callable[[ALMA, ALMAMemory], None]
) -> None:
    release(judged)
    spoil(alma, judged)
    llm = ScriptedLLM(obedient)
    crew(task("Deploy the auth service", agent(llm, tools=[deploy])), memory=judged).kickoff()
    assert outcomes(alma)[2:] == ["failure"]
    assert ("[A1]" in llm.prompt()) is (spoil is shuffled)


JOBS = {"Doorkeeper": ("Deploy the auth service", "rolling update"), "Shopkeeper": ("Deploy the web shop", "in place")}


@tool("deploy")
def deploy_either(method: str) -> str:
    """Deploys by a method."""
    if method in {first for _, first in JOBS.values()}:
        raise RuntimeError(f"{method} timed out")
    return "deployed"


def as_usual(alma: ALMA, memory: ALMAMemory) -> None:
    """What was learned is left alone."""


def exchanged(alma: ALMA, memory: ALMAMemory) -> None:
    """Each agent has the warnings of the other, word for word."""
    learned = alma.list_memories("anti_pattern")
    memory.reset()
    others = dict(zip(JOBS, reversed(JOBS), strict=True))
    for warning in learned:
        alma.add_anti_pattern(others[warning.agent], warning.pattern, warning.why_bad)


@pytest.mark.parametrize(
    ("spoil", "outcome", "is_warned"), [(as_usual, "success", True), (emptied, "failure", False), (exchanged, "failure", True)]
)
def test_it_is_the_warnings_of_its_own_that_help_an_agent(
    alma: ALMA, judged: ALMAMemory, spoil: Callable[[ALMA, ALMAMemory], None], outcome: str, is_warned: bool
) -> None:
    def model_of(first: str) -> Callable[[list[Message]], object]:
        def reply(messages: list[Message]) -> object:
            if messages[-1]["role"] == "tool":
                return str(messages[-1]["content"])
            warnings = [line for line in str(messages[-1]["content"]).splitlines() if line.startswith("[A")]
            return use("deploy", method=OTHER_IDEA if any(first in line for line in warnings) else first)

        return reply

    def go() -> list[ScriptedLLM]:
        models = [ScriptedLLM(model_of(first)) for _, first in JOBS.values()]
        workers = [agent(llm, role, tools=[deploy_either]) for llm, role in zip(models, JOBS, strict=True)]
        crew(*(task(job, worker) for (job, _), worker in zip(JOBS.values(), workers, strict=True)), memory=judged).kickoff()
        return models

    go()
    go()
    assert outcomes(alma)[:2] == ["failure"] * 2
    assert {warning.agent for warning in alma.list_memories("anti_pattern")} == set(JOBS)
    spoil(alma, judged)
    models = go()
    assert outcomes(alma)[4:] == [outcome] * 2
    assert ["[A1]" in llm.prompt() for llm in models] == [is_warned] * 2


def test_without_learning_nothing_improves(alma: ALMA) -> None:
    memory = ALMAMemory(alma, learn=False)
    for _ in range(2):
        assert "[A1]" not in release(memory).prompt()
    assert alma.list_memories() == []
