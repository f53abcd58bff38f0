"""What a run leaves behind: one episode, whatever the agent, the way of streaming or the end."""

import asyncio
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ToolCall
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonPickleSerializer
from workflows.errors import WorkflowCancelledByUser

from alma import ALMA, StorageError
from alma.types import EpisodeStatus
from alma_llamaindex import AgentRun, ALMALearner, ALMAMemory, ALMARetriever, ToolStep, instrument_alma
from alma_llamaindex.learner import in_charge, installed
from llama_runs import OK_THEN_BAD, TASK, agent_of, episodes, ok, outcomes, react_agent_of, run, steps

OK = ("ok", True, None)
BOOM = ("bad", False, "ValueError: boom")
BY_THOUGHT = [
    "Thought: I need a tool.\nAction: ok\nAction Input: {}",
    "Thought: And another.\nAction: bad\nAction Input: {}",
    "Thought: I can answer without any more tools.\nAnswer: done",
]


def memory_of(alma: ALMA) -> ALMAMemory:
    return ALMAMemory.from_defaults(alma, agent="dev")


def kept_outcomes(alma: ALMA) -> int:
    """How many there are, two of the same words too."""
    return sum(memory.kind == "outcome" for memory in alma.list_memories())


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
    assert (record.agent, record.task, record.outcome, record.strategy) == ("dev", TASK, "success", "ok, then bad")
    assert sorted(steps(record)) == sorted([OK, BOOM])
    assert outcomes(alma) == {("success", "ok, then bad", None), ("failure", "bad", "ValueError: boom")}
    assert (kept_outcomes(alma), len(retrievals)) == (2, 1)


def test_without_anybody_to_judge_a_run_is_unverified(alma: ALMA) -> None:
    with ALMALearner(alma) as learner:
        run(agent_of(["done"]), memory_of(alma))
    assert [(record.outcome, record.strategy) for record in episodes(alma)] == [("unverified", None)]
    assert learner.errors == []


async def judge(run: AgentRun) -> tuple[str, str]:
    await asyncio.sleep(0)
    return ("failure", f"{run.agent} said {run.output!r} after {[step.action for step in run.steps]}")


@pytest.mark.parametrize(
    ("evaluator", "outcome", "error", "feedback"),
    [
        (lambda run: True, "success", None, None),
        (lambda run: "partial", "partial", None, None),
        (lambda run: ("Success", "tests are green"), "success", None, "tests are green"),
        (lambda run: None, "unverified", None, None),
        (judge, "failure", "dev said 'done' after ['ok']", None),
    ],
)
def test_an_evaluator_says_how_a_run_went(
    alma: ALMA, evaluator: Any, outcome: str, error: str | None, feedback: str | None
) -> None:
    memory = ALMAMemory.from_defaults(alma, agent="dev", evaluator=evaluator)
    run(agent_of([[("ok", {})], "done"]), memory)
    (record,) = episodes(alma)
    assert (record.outcome, record.error, record.feedback) == (outcome, error, feedback)


async def is_cancelled(run: AgentRun) -> bool:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    "wrong", [lambda run: "brilliant", lambda run: 1 / 0, lambda run: object(), lambda run: sys.exit(), is_cancelled]
)
def test_an_evaluator_that_fails_leaves_the_run_unverified_and_is_told(alma: ALMA, wrong: Any) -> None:
    with ALMALearner(alma, evaluator=wrong) as learner:
        run(agent_of(["done"]), memory_of(alma))
    assert [record.outcome for record in episodes(alma)] == ["unverified"]
    assert len(learner.errors) == 1


async def flushes(run: AgentRun) -> bool:
    return await installed()[0].aflush()


async def asks(run: AgentRun) -> bool:
    retriever = ALMARetriever(installed()[0].alma, agent="judge")
    return retriever.retrieve(TASK) == await retriever.aretrieve(TASK) == []


@pytest.mark.parametrize(
    ("evaluator", "outcome"), [(lambda run: installed()[0].flush(), "failure"), (flushes, "failure"), (asks, "success")]
)
def test_an_evaluator_that_uses_alma_does_not_wait_for_itself(
    alma: ALMA, evaluator: Any, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alma_llamaindex.recording.SETTLING_SECONDS", 60)
    with ALMALearner(alma, evaluator=evaluator) as learner:
        run(agent_of(["done"]), memory_of(alma))
        assert learner.flush(20)
    assert [record.outcome for record in episodes(alma)] == [outcome]
    assert learner.errors == []


def test_an_evaluators_own_run_is_learned_from_and_not_judged_in_its_turn(alma: ALMA) -> None:
    judged: list[str] = []

    async def by_an_agent(finished: AgentRun) -> bool:
        judged.append(finished.agent)
        assert len(judged) < 5
        judge = agent_of(["yes"], name="judge")
        return str(await judge.run(user_msg="Is it done?", memory=ALMAMemory.from_defaults(alma, agent="judge"))) == "yes"

    with ALMALearner(alma, evaluator=by_an_agent) as learner:
        run(agent_of(["done"]), memory_of(alma))
        assert [learner.flush(), learner.flush()] == [True, True]  # the judge's run comes after the one that it judges
    assert judged == ["dev"]
    assert {(record.agent, record.outcome) for record in episodes(alma)} == {("dev", "success"), ("judge", "unverified")}
    assert learner.errors == []


def endless(messages: object) -> Any:
    return [("ok", {})]


async def slow() -> str:
    """Takes longer than the run may."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(
    ("agent", "given", "error"),
    [
        (lambda: agent_of([[("ok", {})], RuntimeError("no tokens left")]), {}, "no tokens left"),
        (lambda: agent_of(endless), {"max_iterations": 3}, "Max iterations of 3 reached"),
        (lambda: agent_of([[("slow", {})]], tools=[slow], timeout=0.3), {}, "timed out"),
    ],
    ids=["the model fails", "too many iterations", "too slow"],
)
def test_a_run_that_ends_by_an_error_is_a_failure_and_the_error_is_seen(
    alma: ALMA, agent: Any, given: dict[str, Any], error: str
) -> None:
    memory = memory_of(alma)
    with pytest.raises(Exception, match=error):
        run(agent(), memory, **given)
    (record,) = episodes(alma)
    assert record.outcome == "failure"
    assert error in record.error
    assert [kept for kept in outcomes(alma) if kept[0] == "failure" and error in kept[2]] != []
    assert kept_outcomes(alma) == 1


def test_no_span_of_a_run_is_held_when_it_is_over(alma: ALMA) -> None:
    with ALMALearner(alma) as learner:
        run(agent_of(OK_THEN_BAD), memory_of(alma))
        for agent in (
            agent_of([[("ok", {})], RuntimeError("no tokens left")]),
            agent_of([[("slow", {})]], tools=[slow], timeout=0.3),
        ):
            with pytest.raises(Exception, match=r"no tokens left|timed out"):
                run(agent, memory_of(alma))
        assert learner.open_spans == {}


async def until_slow(handler: Any) -> None:
    """Waits until the run is inside of the tool that takes so long."""
    async for event in handler.stream_events():
        if isinstance(event, ToolCall) and event.tool_name == "slow":
            return


@pytest.mark.parametrize("by", ["cancel_run", "a time limit", "the end of the loop"])
def test_a_cancelled_run_is_abandoned_and_nothing_is_learned_of_it_as_a_whole(alma: ALMA, by: str) -> None:
    async def go() -> None:
        handler = agent_of([[("ok", {})], [("slow", {})]], tools=[ok, slow]).run(user_msg=TASK, memory=memory_of(alma))
        await until_slow(handler)
        if by == "cancel_run":
            await handler.cancel_run()
            with pytest.raises(WorkflowCancelledByUser):
                await handler
        elif by == "a time limit":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(handler, 0.01)
            await asyncio.sleep(0)

    asyncio.run(go())
    learner = in_charge(alma)
    assert learner.flush()
    assert [(record.status, record.outcome) for record in episodes(alma)] == [(EpisodeStatus.ABANDONED, None)]
    assert (outcomes(alma), learner.errors) == (set(), [])


def test_no_strategy_is_blamed_for_an_error_of_the_model(alma: ALMA) -> None:
    with ALMALearner(alma), pytest.raises(RuntimeError):
        run(agent_of([[("ok", {})], RuntimeError("no tokens left")]), memory_of(alma))
    assert [(record.outcome, record.strategy) for record in episodes(alma)] == [("failure", None)]


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
        ("fly(to='Rome')", False, "Tool fly not found. Please select a tool that is available.")
    ]


def test_installing_twice_learns_once_and_after_uninstalling_nothing(alma: ALMA) -> None:
    agent = agent_of(["done"] * 3)
    learner = ALMALearner(alma).install().install()
    run(agent, memory_of(alma))
    other = instrument_alma(alma)
    run(agent, memory_of(alma))
    assert [learner.flush(), other.flush()] == [True, True]
    assert len(episodes(alma)) == 2
    memory = memory_of(alma)
    other.uninstall()
    learner.uninstall()
    learner.uninstall()
    run(agent, memory)
    assert len(episodes(alma)) == 2
    assert (learner.is_installed, installed()) == (False, [])


def test_asking_again_to_learn_alike_gives_the_same_learner(alma: ALMA) -> None:
    learner = instrument_alma(alma, agents=["ops", "dev"])
    assert instrument_alma(alma, agents=["dev", "ops"]) is learner
    assert instrument_alma(alma) is not learner
    assert len(installed()) == 2


def test_two_learners_of_one_agent_learn_its_runs_once(alma: ALMA) -> None:
    with ALMALearner(alma, agents=["dev"]), ALMALearner(alma, agents=["dev"]):
        run(agent_of(["done"]), None)
    assert len(episodes(alma)) == 1


def test_many_memories_share_one_learner(alma: ALMA) -> None:
    for _ in range(5):
        memory_of(alma)
    assert len(installed()) == 1


def test_memories_of_one_project_share_one_learner_however_it_was_opened(alma: ALMA) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: memory_of(alma.for_project("shop:t1")), range(20)))
    assert len(installed()) == 1
    run(agent_of(["done"]), memory_of(alma.for_project("shop:t1")))
    run(agent_of(["done"]), memory_of(alma))
    assert len(installed()) == 2
    assert [len(episodes(opened)) for opened in (alma, alma.for_project("shop:t1"))] == [1, 1]


def test_a_memory_that_does_not_learn_installs_nothing_and_is_left_alone_by_others(alma: ALMA) -> None:
    memory = ALMAMemory.from_defaults(alma, agent="dev", learn=False)
    assert (installed(), memory.learner) == ([], None)
    with ALMALearner(alma):
        run(agent_of(["done"]), memory)
    assert episodes(alma) == []


def test_only_runs_with_an_alma_block_or_of_named_agents_are_learned_from(alma: ALMA) -> None:
    with ALMALearner(alma, agents=["ops"]):
        run(agent_of(OK_THEN_BAD), Memory.from_defaults())
        run(agent_of(OK_THEN_BAD), None)
        run(agent_of(OK_THEN_BAD, name="ops"), Memory.from_defaults())
        run(agent_of(["done"], name="ops"), None)
    assert [(record.agent, steps(record), record.shown) for record in episodes(alma)] == [
        ("ops", [OK, BOOM], ()),
        ("ops", [], ()),
    ]


def test_each_store_has_its_own_runs(alma: ALMA, tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "other", project_id="shop", embedding_provider="hash") as other:
        run(agent_of(["done"]), memory_of(alma))
        run(agent_of(["done"]), memory_of(other), "Another task")
        assert [in_charge(alma).flush(), in_charge(other).flush()] == [True, True]
        assert [[record.task for record in episodes(opened)] for opened in (alma, other)] == [[TASK], ["Another task"]]


def test_closing_the_store_waits_for_what_was_learned(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "s", project_id="shop", embedding_provider="hash") as alma:
        run(agent_of(OK_THEN_BAD), memory_of(alma))
    assert installed() == []
    with ALMA.open(tmp_path / "s", project_id="shop") as again:
        assert [steps(record) for record in episodes(again)] == [[OK, BOOM]]


def test_when_the_dispatcher_shuts_down_runs_that_go_on_are_abandoned_and_the_learner_is_off(alma: ALMA) -> None:
    def shut_down() -> str:
        """Ends the watching of everybody."""
        get_dispatcher().shutdown()
        return ""

    assert str(run(agent_of([[("shut_down", {})], "done"], tools=[shut_down]), memory_of(alma))) == "done"
    assert [(record.status, record.error) for record in episodes(alma)] == [(EpisodeStatus.ABANDONED, None)]
    assert installed() == []


def test_uninstalling_abandons_the_runs_that_go_on(alma: ALMA) -> None:
    async def go() -> None:
        learner = instrument_alma(alma)
        handler = agent_of([[("slow", {})]], tools=[slow]).run(user_msg=TASK, memory=memory_of(alma))
        await until_slow(handler)
        learner.uninstall()

    asyncio.run(go())
    assert [(record.status, record.reason) for record in episodes(alma)] == [(EpisodeStatus.ABANDONED, "the run was cut short")]


@pytest.mark.parametrize("method", ["episode", "end"])
def test_a_store_that_is_locked_reaches_no_agent_and_is_told_once(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    def locked(*args: object, **given: object) -> None:
        raise StorageError("the database is locked")

    if method == "episode":
        monkeypatch.setattr(alma, "episode", locked)
    else:
        monkeypatch.setattr("alma.episode.Episode.end", locked)
    memory = memory_of(alma)
    assert str(run(agent_of(OK_THEN_BAD), memory)) == "done"
    assert memory.learner.flush()
    assert [str(error) for error in memory.learner.errors] == ["the database is locked"]
    assert caplog.text.count("the database is locked") == 1


def test_a_store_that_another_connection_holds_keeps_no_agent_waiting(alma: ALMA, tmp_path: Path) -> None:
    memory = memory_of(alma)
    with closing(sqlite3.connect(tmp_path / "store" / "alma.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert str(run(agent_of(OK_THEN_BAD), memory)) == "done"
        assert alma.recent_episodes() == []
        holder.execute("ROLLBACK")
    assert [steps(record) for record in episodes(alma)] == [[OK, BOOM]]
    assert memory.learner.errors == []


def test_when_too_much_waits_steps_are_left_out_and_the_end_is_kept(alma: ALMA) -> None:
    with ALMALearner(alma, waiting=0) as learner:
        run(agent_of(OK_THEN_BAD), memory_of(alma))
    (record,) = episodes(alma)
    assert (record.steps, record.status) == ((), EpisodeStatus.ENDED)
    assert [str(error) for error in learner.errors] == [
        "too much is waiting to be written; a step of 'dev' was left out: ok",
        "too much is waiting to be written; a step of 'dev' was left out: bad",
    ]


def test_when_too_much_waits_what_was_cited_is_told_to_be_left_out(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    with ALMALearner(alma, waiting=0) as learner:
        run(agent_of(["As [H1] says"]), memory_of(alma))
    assert [record.used for record in episodes(alma)] == [None]
    assert {str(error) for error in learner.errors} == {"too much is waiting to be written; what 'dev' cited was left out"}


def test_a_run_is_told_in_one_line(alma: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    with caplog.at_level(logging.INFO, "alma.llamaindex"), ALMALearner(alma, evaluator=lambda run: True):
        run(agent_of([[("ok", {})], [("bad", {})], "done, as [H1] says"]), memory_of(alma))
    (record,) = episodes(alma)
    assert record.used == (rule.id,)
    assert [line.getMessage() for line in caplog.records if line.name == "alma.llamaindex"] == [
        f"dev: success; 2 tool calls, 1 failed; 1 memories shown, 1 used; episode {record.id}"
    ]


def test_the_last_run_can_be_looked_at(alma: ALMA) -> None:
    with ALMALearner(alma, evaluator=lambda run: True) as learner:
        assert learner.last_run is None
        result = run(agent_of(OK_THEN_BAD), memory_of(alma))
    last = learner.last_run
    assert (last.agent, last.task, last.output, last.error, last.outcome) == ("dev", TASK, "done", None, "success")
    assert last.result is result
    assert last.episodes == tuple(episodes(alma))
    assert [(step.tool, step.ok, step.answer) for step in last.steps] == [
        ("ok", True, "fine"),
        ("bad", False, "ValueError: boom"),
    ]


def test_calls_are_told_with_their_arguments_or_as_one_likes(alma: ALMA) -> None:
    def by_target(steps: list[ToolStep]) -> str | None:
        return f"deploy to {steps[-1].arguments['target']}" if steps else None

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

    assert try_it() == ("deploy(target='green')", "deploy(target='green')")
    assert try_it(strategy=by_target) == ("deploy to green", "deploy(target='green')")
    assert try_it(action=lambda tool, arguments: tool) == ("deploy", "deploy")


@pytest.mark.parametrize(("what", "steps_kept"), [("action", 0), ("strategy", 2)])
def test_words_that_cannot_be_said_reach_no_agent_and_are_told(alma: ALMA, what: str, steps_kept: int) -> None:
    def speechless(*given: object) -> str:
        raise LookupError("no words")

    with ALMALearner(alma, **{what: speechless}) as learner:
        assert str(run(agent_of(OK_THEN_BAD), memory_of(alma))) == "done"
    assert [(len(record.steps), record.status, record.strategy) for record in episodes(alma)] == [
        (steps_kept, EpisodeStatus.ENDED, None)
    ]
    assert {str(error) for error in learner.errors} == {"no words"}


def test_a_span_that_cannot_be_read_reaches_no_agent_and_is_told(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*given: object) -> str:
        raise AttributeError("start_event is of another shape")

    monkeypatch.setattr("alma_llamaindex.spans.asked", unreadable)
    with ALMALearner(alma) as learner:
        assert str(run(agent_of(["done"]), memory_of(alma))) == "done"
    assert {str(error) for error in learner.errors} == {"start_event is of another shape"}


def test_a_run_inside_of_a_run_is_an_episode_of_its_own(alma: ALMA) -> None:
    inner = agent_of([[("bad", {})], "inner done"], name="helper")

    async def ask_helper(question: str) -> str:
        """Asks the helper."""
        return str(await inner.run(user_msg=question, memory=ALMAMemory.from_defaults(alma, agent="helper")))

    outer = agent_of([[("ask_helper", {"question": "How to log in?"})], "done"], tools=[ask_helper])
    run(outer, memory_of(alma))
    assert {(record.agent, record.task, tuple(steps(record))) for record in episodes(alma)} == {
        ("dev", TASK, (("ask_helper", True, None),)),
        ("helper", "How to log in?", (BOOM,)),
    }


async def confirm(ctx: Context) -> str:
    """Asks a person."""
    said = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Sure?"))
    return str(said.response)


def test_a_run_that_waits_for_a_person_is_one_episode_and_the_waiting_tool_one_step(alma: ALMA) -> None:
    async def go() -> None:
        handler = agent_of([[("confirm", {})], "done"], tools=[confirm]).run(user_msg=TASK, memory=memory_of(alma))
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
        await handler

    asyncio.run(go())
    assert [[(step.tool, step.ok, step.output) for step in record.steps] for record in episodes(alma)] == [
        [("confirm", True, "yes")]
    ]


def test_a_run_that_another_process_takes_up_from_a_pickled_context_is_learned_from(alma: ALMA) -> None:
    """What went before was cut short; the rest is an episode, though the run has no message of its own."""
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    first = agent_of([[("ok", {})], [("confirm", {})]], tools=[ok, confirm])
    second = agent_of(["As [H1] says"], tools=[ok, confirm])

    async def until_it_waits() -> dict[str, Any]:
        handler = first.run(user_msg=TASK, memory=memory_of(alma))
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        written = handler.ctx.to_dict(serializer=JsonPickleSerializer())
        await handler.cancel_run()
        return written

    written = asyncio.run(until_it_waits())
    assert go_on(second, written, HumanResponseEvent(response="yes")) == "As [H1] says"
    assert [(record.task, record.status, [step.tool for step in record.steps], record.used) for record in episodes(alma)] == [
        (TASK, EpisodeStatus.ABANDONED, ["ok"], None),
        (TASK, EpisodeStatus.ENDED, ["confirm"], (rule.id,)),
    ]


def test_so_is_one_that_was_left_in_the_middle_of_a_turn(alma: ALMA) -> None:
    handlers: list[Any] = []
    written: list[dict[str, Any]] = []

    def writes(messages: object) -> Any:
        written.append(handlers[0].ctx.to_dict(serializer=JsonPickleSerializer()))
        return "not heard"

    async def begin() -> None:
        handlers.append(agent_of(writes).run(user_msg=TASK, memory=memory_of(alma)))
        await handlers[0]

    asyncio.run(begin())
    assert go_on(agent_of([[("bad", {})], "done"]), written[0]) == "done"
    assert [steps(record) for record in episodes(alma)] == [[], [BOOM]]


def go_on(agent: FunctionAgent, written: dict[str, Any], *events: Any) -> str:
    async def go() -> str:
        handler = agent.run(ctx=Context.from_dict(agent, written, serializer=JsonPickleSerializer()))
        for event in events:
            handler.ctx.send_event(event)
        return str(await handler)

    return asyncio.run(go())


def test_the_learner_of_one_project_does_not_follow_the_turns_of_anothers_runs(alma: ALMA) -> None:
    """Else a server with a project for each customer would spend on each run what all of them cost."""
    others = [memory_of(alma.for_project(f"shop:t{number}")).learner for number in range(3)]
    followed: list[list[int]] = []

    def look() -> str:
        """Looks who follows."""
        followed.append([len(learner.open_spans) for learner in others])
        return ""

    run(agent_of([[("look", {})], "done"], tools=[look]), memory_of(alma))
    assert followed == [[0, 0, 0]]
    assert [steps(record) for record in episodes(alma)] == [[("look", True, None)]]


FORKS = """
import os, sys, threading, asyncio
from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory, recording
from alma_llamaindex.testing import ScriptedLLM
from llama_index.core.agent.workflow import FunctionAgent

recording.SETTLING_SECONDS = 60
may_end = threading.Event()
alma = ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash")
learner = ALMALearner(alma, evaluator=lambda run: may_end.wait(60)).install()

async def go():
    agent = FunctionAgent(name="dev", llm=ScriptedLLM(["done"]))
    await asyncio.wait_for(agent.run(user_msg="Deploy", memory=ALMAMemory.from_defaults(alma, agent="dev")), 20)

asyncio.run(go())
child = os.fork()
may_end.set()
if child == 0:
    asyncio.run(go())
    os._exit(0 if learner.flush(20) and not learner.errors else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_does_not_wait_for_what_its_parent_is_writing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKS, str(tmp_path / "s")], check=True)
    with ALMA.open(tmp_path / "s", project_id="shop") as alma:
        assert [(record.status, record.outcome) for record in episodes(alma)] == [(EpisodeStatus.ENDED, "success")] * 2


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
    learner = in_charge(alma)
    assert learner.flush()
    found = {record.agent: record for record in episodes(alma)}
    assert (set(found), len(episodes(alma)), learner.errors) == (set(names), 20, [])
    for name, record in found.items():
        assert record.task == f"{TASK} for {name}"
        assert [step.action for step in record.steps] == [f"echo(word='{name}')"]
        assert [exposure.memory_id for exposure in record.shown] == [rules[name]] == list(record.used)


LEAVES = """
import asyncio, sys
from alma import ALMA
from alma_llamaindex import ALMAMemory
from alma_llamaindex.testing import ScriptedLLM
from llama_index.core.agent.workflow import FunctionAgent

alma = ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash")

async def go():
    agent = FunctionAgent(name="dev", llm=ScriptedLLM(["done"]))
    await agent.run(user_msg="Deploy", memory=ALMAMemory.from_defaults(alma, agent="dev"))

asyncio.run(go())
"""


def test_a_program_that_ends_without_closing_has_written_its_runs(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LEAVES, str(tmp_path / "s")], check=True)
    with ALMA.open(tmp_path / "s", project_id="shop") as alma:
        assert [record.status for record in episodes(alma)] == [EpisodeStatus.ENDED]
