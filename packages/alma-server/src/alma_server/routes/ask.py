"""Routes for the time before a task: what is known, what is dangerous, what was tried."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query

from alma.errors import ConflictError
from alma.types import MemorySlice
from alma.types.strategies import ActionCheck, Assessment, StrategyTable
from alma_server.asking import AskedDep
from alma_server.routes.answers import Retrieved, found_in
from alma_server.routes.bodies import Assess, Check, Name, Retrieve, Text
from alma_server.routes.scope import arguments_of

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["ask"])


@router.post("/retrieve", operation_id="retrieve")
async def retrieve(body: Retrieve, asked: AskedDep) -> Retrieved:
    """Returns what matters for a task, best first, and notes for a prompt of at most `max_tokens`."""
    asked.require("read")
    given = arguments_of(asked, body, "max_tokens", "min_seq")

    def call(alma: "ALMA") -> Retrieved:
        seq = head_of(alma, at_least=body.min_seq)
        return retrieved(alma.retrieve(**given), body.max_tokens, seq)

    return await asked.read(call)


@router.post("/check", operation_id="check")
async def check(body: Check, asked: AskedDep) -> ActionCheck:
    """Returns the known reasons against an action. An answer without warnings is no permission."""
    asked.require("read")
    given = arguments_of(asked, body)
    return await asked.read(lambda alma: alma.check(**given))


@router.post("/assess", operation_id="assess")
async def assess(body: Assess, asked: AskedDep) -> Assessment:
    """Returns how likely a strategy is to succeed at a task, with the interval of that rate at 95 %."""
    asked.require("read")
    given = arguments_of(asked, body)
    return await asked.read(lambda alma: alma.assess(**given))


@router.get("/strategies", operation_id="strategies")
async def strategies(
    asked: AskedDep,
    task: Annotated[Text | None, Query()] = None,
    agent: Annotated[Name | None, Query()] = None,
    user_id: Annotated[Name | None, Query()] = None,
    task_type: Annotated[Name | None, Query()] = None,
    among: Annotated[list[Text] | None, Query(max_length=100)] = None,
    explore: bool = False,
    include_steps: bool = False,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 20,
) -> StrategyTable:
    """Returns the record of the strategies that were tried for such tasks, the highest expected rate of success first."""
    asked.require("read")
    given: dict[str, Any] = {
        "task": task,
        "agent": asked.agent(agent),
        "user_id": asked.user(user_id),
        "task_type": task_type,
        "among": among,
    }
    return await asked.read(lambda alma: alma.strategies(**given, explore=explore, include_steps=include_steps, limit=limit))


def head_of(alma: "ALMA", *, at_least: int = 0) -> int:
    """Returns the number of the newest journal record. `ConflictError` if there is no record `at_least`."""
    head = alma.storage.project(alma.project_id).head()
    if head < at_least:
        raise ConflictError(f"the newest journal record here is {head}; this store is behind record {at_least}")
    return head


def retrieved(found: MemorySlice, max_tokens: int, seq: int) -> Retrieved:
    """Returns a slice with its notes."""
    return Retrieved(
        memories=found_in(found),
        strategies=list(found.strategies),
        contradictions=list(found.contradictions),
        prompt=found.to_prompt(max_tokens),
        ids=found.ids,
        total_items=found.total_items,
        hint=found.hint,
        relevance=found.relevance,
        retrieval_time_ms=found.retrieval_time_ms,
        seq=seq,
    )
