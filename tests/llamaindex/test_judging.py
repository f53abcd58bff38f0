"""Who says how a run went, and what if nobody can."""

import asyncio
import sys
from typing import Any

import pytest

from alma import ALMA
from alma_llamaindex import AgentRun, ALMALearner, ALMAMemory, ALMARetriever
from alma_llamaindex.handler import LEARNERS
from llama_runs import (
    TASK,
    agent_of,
    episodes,
    memory_of,
    run,
)

pytestmark = pytest.mark.any_version


def test_without_anybody_to_judge_a_run_is_unverified(alma: ALMA) -> None:
    with ALMALearner(alma) as learner:
        run(agent_of(["done"]), memory_of(alma))
    assert [(record.outcome, record.strategy) for record in episodes(alma)] == [("unverified", None)]
    assert learner.errors == []


async def is_cancelled(run: AgentRun) -> bool:
    raise asyncio.CancelledError


@pytest.mark.parametrize("reason", [lambda run: run.steps[-1].error, lambda run: None], ids=["the same error", "none"])
def test_a_run_that_failed_by_its_last_step_is_one_note_with_it(alma: ALMA, reason: Any) -> None:
    with ALMALearner(alma, evaluator=lambda run: ("failure", reason(run))):
        run(agent_of([[("bad", {})], "done"]), memory_of(alma))
    assert len(alma.retrieve(TASK, "dev").notes()) == 1


@pytest.mark.parametrize("wrong", [lambda run: sys.exit(), is_cancelled])
def test_an_evaluator_that_fails_leaves_the_run_unverified_and_is_told(alma: ALMA, wrong: Any) -> None:
    with ALMALearner(alma, evaluator=wrong) as learner:
        run(agent_of(["done"]), memory_of(alma))
    assert [record.outcome for record in episodes(alma)] == ["unverified"]
    assert len(learner.errors) == 1


async def flushes(run: AgentRun) -> bool:
    return await LEARNERS.known()[0].aflush()


async def asks(run: AgentRun) -> bool:
    retriever = ALMARetriever(LEARNERS.known()[0].alma, agent="judge")
    return retriever.retrieve(TASK) == await retriever.aretrieve(TASK) == []


@pytest.mark.parametrize(
    ("evaluator", "outcome"), [(lambda run: LEARNERS.known()[0].flush(), "failure"), (flushes, "failure"), (asks, "success")]
)
def test_an_evaluator_that_uses_alma_does_not_wait_for_itself(
    alma: ALMA, evaluator: Any, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alma_integration.kit.SETTLING_SECONDS", 60)
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
