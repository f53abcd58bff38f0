"""Routes for pairs of memories that may say the same, which a person merges or keeps apart."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query

from alma import consolidation
from alma.errors import ConflictError, MemoryNotFoundError, MissingDependencyError, ScopeViolationError
from alma_server.asking import AskedDep
from alma_server.idempotency import OnceDep
from alma_server.routes.answers import JudgedPair, UnsurePair, UnsurePairs
from alma_server.routes.bodies import JudgePair, Name
from alma_server.routes.scope import Reader, read_as, require_all_users

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["upkeep"])


@router.get("/review/pairs", operation_id="list_unsure")
async def list_unsure(
    asked: AskedDep, agent: Annotated[Name | None, Query()] = None, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> UnsurePairs:
    """Returns pairs of memories that may say the same, which consolidations left open. There are none without the package alma-knowledge."""
    asked.require("read")
    require_all_users(asked, "read the pairs to judge")
    reader = read_as(asked, agent, None)

    def call(alma: "ALMA") -> UnsurePairs:
        try:
            found, total = consolidation.list_unsure(alma, reader.agent, limit)
        except MissingDependencyError:
            return UnsurePairs(pairs=[], total=0)
        pairs = [pair for each in found if (pair := _pair(alma, reader, each)) is not None]
        return UnsurePairs(pairs=pairs, total=total - len(found) + len(pairs))

    return await asked.read(call)


@router.post("/review/pairs:judge", operation_id="judge_pair")
async def judge_pair(body: JudgePair, asked: AskedDep, once: OnceDep) -> JudgedPair:
    """Merges the two memories of a pair, for tokens that may forget, or keeps them apart for good. Undoing to the record before takes it back."""
    asked.require("judge")
    if body.verdict == "merge":
        asked.require("forget")
    require_all_users(asked, "judge pairs")
    reader = read_as(asked, None, None)

    def call(alma: "ALMA") -> int:
        if not all(reader.owns(reader.memory(alma, each)) for each in body.memory_ids):
            raise ScopeViolationError("this token is for one agent and cannot judge pairs of another")
        try:
            return int(consolidation.judge_pair(alma, body.memory_ids, body.verdict))
        except consolidation.ConsolidationError as error:
            raise ConflictError(str(error)) from error

    return JudgedPair(seq=await once.write(call, remember=int))


def _pair(alma: "ALMA", reader: Reader, found: Mapping[str, Any]) -> UnsurePair | None:
    """Returns a pair with its memories, `None` if a reader may not read both, or one is gone."""
    try:
        memories = [reader.memory(alma, each) for each in found["ids"]]
    except MemoryNotFoundError:
        return None
    return UnsurePair(id=found["id"], memories=memories, reason=found["reason"], survivor=found["survivor"])
