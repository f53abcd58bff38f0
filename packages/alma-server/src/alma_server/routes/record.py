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
from alma_server.routes.listing import get_with_held
from alma_server.routes.places import place
from alma_server.routes.scope import arguments_of, plain_ids, read_as

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["record"])


@router.post("/learn", operation_id="learn", status_code=201)
async def learn(body: Learn, asked: AskedDep, once: OnceDep) -> Outcome:
    """Stores the outcome of a task. A suspicious one is kept in quarantine, where nothing finds it until a person releases it."""
    asked.require("write")
    given = {**arguments_of(asked, body), "verdict_source": asked.access.source, "idempotency_key": once.core_key}
    outcome = await once.write(
        lambda alma: alma.learn(**given),
        remember=lambda stored: [stored.id],
        recall=lambda alma, ids: stored_before(alma, ids)[0],
        is_counted_once=True,
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
        recall=stored_before,
        is_counted_once=True,
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

    def recall(_: "ALMA", counted: dict[str, list[str]]) -> UsageReport:
        known = {each for ids in counted.values() for each in ids}
        named = dict.fromkeys([*body.retrieved_memory_ids, *(body.used_memory_ids or ())])
        return UsageReport.model_validate({**counted, "unknown": [each for each in named if each not in known]})

    return await once.write(call, remember=_counted, recall=recall)


@router.post("/feedback", operation_id="record_feedback")
async def record_feedback(body: Feedback, asked: AskedDep, once: OnceDep) -> FeedbackReport:
    """Counts one signal about a memory. `unknown` is the id of no memory that the agent can see."""
    asked.require("write")
    given = arguments_of(asked, body)

    def call(alma: "ALMA") -> FeedbackReport:
        if hidden := _hidden(alma, asked, body, [body.memory_id]):
            return FeedbackReport(counted=(), unknown=tuple(hidden))
        return alma.record_feedback(**given)

    def recall(_: "ALMA", is_counted: bool) -> FeedbackReport:
        ids = (body.memory_id,)
        return FeedbackReport(counted=ids, unknown=()) if is_counted else FeedbackReport(counted=(), unknown=ids)

    return await once.write(call, remember=lambda report: bool(report.counted), recall=recall)


@router.post("/settle", operation_id="settle")
async def settle(body: Settle, asked: AskedDep, once: OnceDep) -> Settled:
    """Sets or corrects the verdict of an episode that has ended, or of all of a run. The token says who judges."""
    asked.require("judge")
    episodes = await once.write(
        lambda alma: _settle(alma, asked, body),
        remember=len,
        recall=lambda alma, _: _named(alma, asked, body),
    )
    return Settled(episodes=episodes)


def stored_before(alma: "ALMA", memory_ids: Sequence[str]) -> list[Outcome]:
    """Returns outcomes of an earlier request. `MemoryNotFoundError` if one was erased or taken back since: it is not stored anew."""
    return [each for each in get_with_held(alma, memory_ids) if isinstance(each, Outcome)]


def _settle(alma: "ALMA", asked: Asked, body: Settle) -> list[EpisodeRecord]:
    given: dict[str, Any] = {"outcome": body.outcome, "reason": body.reason, "source": asked.access.source}
    episodes = _named(alma, asked, body)
    if body.run_id is None:
        return [alma.settle(episodes[0].id, **given)]
    return alma.settle(run_id=body.run_id, **given)


def _named(alma: "ALMA", asked: Asked, body: Settle) -> list[EpisodeRecord]:
    """Returns the episodes of a request. `MemoryNotFoundError` if there is none, or one that this token cannot read."""
    reader = read_as(asked, body.agent, body.user_id)
    if (body.episode_id is None) == (body.run_id is None):
        raise ValidationError("give an episode_id or a run_id, and not both")
    if body.episode_id is not None:
        return [reader.episode(alma, body.episode_id)]
    of_run = alma.run_episodes(body.run_id or "")
    if not of_run:
        raise MemoryNotFoundError("there is no such episode that this token can read")
    return [reader.episode(alma, episode.id) for episode in of_run]


def _hidden(alma: "ALMA", asked: Asked, body: Scoped, memory_ids: Sequence[str]) -> list[str]:
    """Returns the ids that a token for no user may not name: the library takes an id of a user's memory as a sign that it was shown."""
    reader = read_as(asked, body.agent, body.user_id)
    if reader.is_for_all_users:
        return []
    return [each for each in dict.fromkeys(memory_ids) if not reader.can_read(alma, each)]


def _counted(report: UsageReport) -> dict[str, list[str]]:
    """Returns the ids that were counted. Those of nothing may be any words, and are not kept."""
    return {name: plain_ids(getattr(report, name)) for name in ("used", "ignored", "neutral")}
