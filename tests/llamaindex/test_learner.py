"""What a run leaves behind: one episode, whatever the agent, the way of streaming or the end."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory, RunView
from alma_llamaindex.handler import LEARNERS
from alma_llamaindex.testing import Answer
from llama_runs import (
    BOOM,
    OK,
    OK_THEN_BAD,
    TASK,
    agent_of,
    bad,
    episodes,
    kept_outcomes,
    memory_of,
    ok,
    outcomes,
    react_agent_of,
    run,
    steps,
)

BY_THOUGHT = [
    "Thought: I need a tool.\nAction: ok\nAction Input: {}",
    "Thought: And another.\nAction: bad\nAction Input: {}",
    "Thought: I can answer without any more tools.\nAnswer: done",
]


AGENTS: dict[str, Callable[[], Any]] = {
    "streaming": lambda: agent_of(OK_THEN_BAD),
    "not streaming": lambda: agent_of(OK_THEN_BAD, streaming=False),
    "in parallel": lambda: agent_of([[("ok", {}), ("bad", {})], "done"]),
    "by thought": lambda: react_agent_of(BY_THOUGHT),
    "by thought, not streaming": lambda: react_agent_of(BY_THOUGHT, streaming=False),
}


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")  # by ReActAgent itself
@pytest.mark.parametrize("kind", AGENTS)
def test_a_run_is_one_episode_with_its_tool_calls_as_steps(alma: ALMA, kind: str, retrievals: list[tuple[str, str]]) -> None:
    with ALMALearner(alma, evaluator=lambda run: run.output == "done"):
        run(AGENTS[kind](), memory_of(alma))
    (record,) = episodes(alma)
    assert (record.agent, record.task, record.outcome, record.strategy) == ("dev", TASK, "success", "ok")
    assert sorted(steps(record)) == sorted([OK, BOOM])
    assert outcomes(alma) == {("success", "ok", None), ("failure", "bad", "ValueError: boom")}
    assert (kept_outcomes(alma), len(retrievals)) == (2, 1)


@pytest.mark.parametrize("read", ["all", "one", "none"])
def test_the_stream_of_a_run_belongs_to_the_user(alma: ALMA, read: str) -> None:
    async def go() -> int:
        handler = agent_of(OK_THEN_BAD).run(user_msg=TASK, memory=memory_of(alma))
        seen = 0
        if read != "none":
            async for _ in handler.stream_events():
                seen += 1
                if read == "one":
                    break
        await handler
        return seen

    seen = asyncio.run(go())
    assert (seen > 10) is (read == "all")
    assert [steps(record) for record in episodes(alma)] == [[OK, BOOM]]


def test_an_unknown_tool_is_a_failed_step(alma: ALMA) -> None:
    run(agent_of([[("fly", {"to": "Rome"})], "done"]), memory_of(alma))
    (record,) = episodes(alma)
    assert [(step.action, step.ok, step.error) for step in record.steps] == [
        ('fly(to="Rome")', False, "Tool fly not found. Please select a tool that is available.")
    ]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage() for line in caplog.records if line.name == "alma" and line.getMessage().startswith("run of")]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (["done"], "retrieved 1, cited none, learned no step, 0 steps, success"),
        ([[("ok", {})], "done, as [H1] says"], "retrieved 1, cited H1, learned no step, 1 step, success"),
        (
            [[("flaky", {})], [("flaky", {})], [("bad", {})], "done"],
            "retrieved 1, cited none, learned 2 failures and 1 success, 3 steps, success",
        ),
    ],
)
def test_a_run_is_told_in_one_line(alma: ALMA, caplog: pytest.LogCaptureFixture, script: list[Answer], told: str) -> None:
    tries = iter([ValueError("not yet"), None])

    def flaky() -> str:
        """Works at the second try."""
        if problem := next(tries):
            raise problem
        return "fine"

    alma.add_heuristic("dev", TASK, "blue-green")
    with caplog.at_level(logging.INFO, "alma"), ALMALearner(alma, evaluator=lambda run: True):
        run(agent_of(script, tools=[ok, bad, flaky]), memory_of(alma))
    assert lines(caplog) == [f"run of dev: {told}"]


def test_a_run_of_several_agents_is_told_in_one_line_too(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    first = agent_of([[("handoff", {"to_agent": "fixer", "reason": "it knows more"})]], name="triage")
    workflow = AgentWorkflow(agents=[first, agent_of([[("bad", {})], "done"], name="fixer")], root_agent="triage")
    with caplog.at_level(logging.INFO, "alma"):
        run(workflow, ALMAMemory.from_defaults(alma, agent="triage"))
        episodes(alma)
    assert lines(caplog) == [
        "run of triage: triage: retrieved 0, cited none, learned no step, 0 steps, unverified; "
        "then fixer: retrieved 0, cited none, learned 1 failure, 1 step, unverified"
    ]


def test_the_last_run_can_be_looked_at(alma: ALMA) -> None:
    seen: list[RunView] = []
    with ALMALearner(alma, evaluator=lambda run: (seen.append(run), True)[1]) as learner:
        assert learner.last_run is None
        result = run(agent_of(OK_THEN_BAD), memory_of(alma))
    last = learner.last_run
    assert (last.agent, last.task, last.outcome) == ("dev", TASK, "success")
    assert last.episodes == tuple(episodes(alma))
    assert [(run.agent, run.task, run.output, run.error) for run in seen] == [("dev", TASK, "done", None)]
    assert seen[0].result is result
    assert [(step.tool, step.ok, step.output or step.error) for step in seen[0].steps] == [
        ("ok", True, "fine"),
        ("bad", False, "ValueError: boom"),
    ]


def test_calls_are_told_with_their_arguments_or_as_one_likes(alma: ALMA) -> None:
    def by_target(run: RunView) -> str | None:
        return f"deploy to {run.steps[-1].arguments['target']}" if run.steps else None

    def deploy(target: str) -> str:
        """Deploys."""
        return f"on {target}"

    def try_it(**options: Any) -> tuple[str | None, str]:
        with ALMALearner(alma, **options):
            run(
                agent_of([[("deploy", {"target": "green"})], [("deploy", {"target": "green"})], "done"], tools=[deploy]),
                memory_of(alma),
            )
        last = episodes(alma)[-1]
        return last.strategy, last.steps[0].action

    assert try_it() == ('deploy(target="green")', 'deploy(target="green")')
    assert try_it(strategy=by_target) == ("deploy to green", 'deploy(target="green")')
    assert try_it(action=lambda use: use.name) == ("deploy", "deploy")


def test_twenty_runs_at_once_keep_apart(alma: ALMA) -> None:
    names = [f"agent-{number}" for number in range(20)]
    rules = {name: alma.add_heuristic(name, TASK, f"the way of {name}").id for name in names}

    def echo(word: str) -> str:
        """Says it again."""
        return word

    async def go() -> None:
        agents: list[FunctionAgent] = [
            agent_of([[("echo", {"word": name})], f"[H1] {name}"], name=name, tools=[echo]) for name in names
        ]
        memories = [ALMAMemory.from_defaults(alma, agent=name) for name in names]
        await asyncio.gather(
            *(
                agent.run(user_msg=f"{TASK} for {agent.name}", memory=memory)
                for agent, memory in zip(agents, memories, strict=True)
            )
        )

    asyncio.run(go())
    learner = LEARNERS.in_charge(alma)
    assert learner.flush()
    found = {record.agent: record for record in episodes(alma)}
    assert (set(found), len(episodes(alma)), learner.errors) == (set(names), 20, [])
    for name, record in found.items():
        assert record.task == f"{TASK} for {name}"
        assert [(step.action, step.output) for step in record.steps] == [("echo(word)", name)]
        assert [exposure.memory_id for exposure in record.shown] == [rules[name]] == list(record.used)
