"""Routes for the time after a task: how it went, what helped, what was right or wrong."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from alma.errors import MemoryNotFoundError, ValidationError
from alma.types import Outcome
from alma.types.episodes import EpisodeRecord
from alma.types.reports import FeedbackReport, UsageReport
from alma_server.asking import Asked, AskedDep
from alma_server.idempotency import OnceDep
from alma_server.routes.answers import Learned, Settled
from alma_server.routes.bodies import Feedback, Learn, LearnBatch, Scoped, Settle, Usage
from alma_server.routes.places import place
from alma_server.routes.scope import arguments_of, read_as

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["record"])


@router.post("/learn", operation_id="learn", status_code=201)
async def learn(body: Learn, asked: AskedDep, once: OnceDep) -> Outcome:
    """Stores the outcome of a task. A suspicious one is kept in quarantine, where nothing finds it until a person releases it."""
    asked.require("write")
    given = {**arguments_of(asked, body), "verdict_source": asked.access.source, "idempotency_key": once.core_key}
    outcome = await once.write(
        lambda alma: alma.learn(**given), remember=lambda stored: [stored.id], recall=lambda alma, _: alma.learn(**given)
    )
    place(asked, "memories", outcome.id)
    return outcome


@router.post("/learn:batch", operation_id="learn_many", status_code=201)
async def learn_many(body: LearnBatch, asked: AskedDep, once: OnceDep) -> Learned:
    """Stores at most 1,000 outcomes in one transaction, all or none."""
    asked.require("write")
    items = [
        {
            **arguments_of(asked, item),
            "verdict_source": asked.access.source,
            "idempotency_key": once.core_key and f"{once.core_key}:{number}",
        }
        for number, item in enumerate(body.items)
    ]
    outcomes = await once.write(
        lambda alma: alma.learn_many(items),
        remember=lambda stored: [each.id for each in stored],
        recall=lambda alma, _: alma.learn_many(items),
    )
    return Learned(outcomes=outcomes)


@router.post("/usage", operation_id="record_usage")
async def record_usage(body: Usage, asked: AskedDep, once: OnceDep) -> UsageReport:
    """Counts which of the memories shown were used. `unknown` are ids of no memory that the agent can see."""
    asked.require("write")
    given = arguments_of(asked, body)

    def call(alma: "ALMA") -> UsageReport:
        named = [*body.retrieved_memory_ids, *(body.used_memory_ids or ())]
        hidden = _hidden(alma, asked, body, named)
        for name in ("retrieved_memory_ids", "used_memory_ids"):
            given[name] = given[name] and [each for each in given[name] if each not in hidden]
        report = alma.record_usage(**given)
        return report.model_copy(update={"unknown": (*hidden, *report.unknown)})

    return await once.write(call, remember=_of_usage, recall=lambda _, refs: UsageReport(**refs))


@router.post("/feedback", operation_id="record_feedback")
async def record_feedback(body: Feedback, asked: AskedDep, once: OnceDep) -> FeedbackReport:
    """Counts one signal about a memory. `unknown` is the id of no memory that the agent can see."""
    asked.require("write")
    given = arguments_of(asked, body)

    def call(alma: "ALMA") -> FeedbackReport:
        if hidden := _hidden(alma, asked, body, [body.memory_id]):
            return FeedbackReport(counted=(), unknown=tuple(hidden))
        return alma.record_feedback(**given)

    return await once.write(call, remember=_of_feedback, recall=lambda _, refs: FeedbackReport(**refs))


@router.post("/settle", operation_id="settle")
async def settle(body: Settle, asked: AskedDep, once: OnceDep) -> Settled:
    """Sets or corrects the verdict of an episode that has ended, or of all of a run. The token says who judges."""
    asked.require("judge")
    episodes = await once.write(
        lambda alma: _settle(alma, asked, body),
        remember=lambda settled: [each.id for each in settled],
        recall=lambda alma, ids: [alma.get_episode(each) for each in ids],
    )
    return Settled(episodes=episodes)


def _settle(alma: "ALMA", asked: Asked, body: Settle) -> list[EpisodeRecord]:
    reader = read_as(asked, body.agent, body.user_id)
    given: dict[str, Any] = {"outcome": body.outcome, "reason": body.reason, "source": asked.access.source}
    if (body.episode_id is None) == (body.run_id is None):
        raise ValidationError("give an episode_id or a run_id, and not both")
    if body.episode_id is not None:
        return [alma.settle(reader.episode(alma, body.episode_id).id, **given)]
    of_run = alma.run_episodes(body.run_id or "")
    if not of_run:
        raise MemoryNotFoundError("there is no such episode that this token can read")
    for episode in of_run:
        reader.episode(alma, episode.id)
    return alma.settle(run_id=body.run_id or "", **given)


def _hidden(alma: "ALMA", asked: Asked, body: Scoped, memory_ids: Sequence[str]) -> list[str]:
    """Returns the ids that a token for no user may not name: the library takes an id of a user's memory as a sign that it was shown."""
    reader = read_as(asked, body.agent, body.user_id)
    if reader.is_for_all_users:
        return []
    return [each for each in dict.fromkeys(memory_ids) if not reader.can_read(alma, each)]


def _of_usage(report: UsageReport) -> dict[str, list[str]]:
    return {name: list(getattr(report, name)) for name in ("used", "ignored", "neutral", "unknown")}


def _of_feedback(report: FeedbackReport) -> dict[str, list[str]]:
    return {"counted": list(report.counted), "unknown": list(report.unknown)}
