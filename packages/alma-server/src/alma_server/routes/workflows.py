"""Routes for work that goes on: checkpoints and products of workflows, and what is remembered of them."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from alma.errors import MemoryNotFoundError
from alma.types import Outcome
from alma.types.package_records import Artifact, Checkpoint
from alma_server.asking import AskedDep
from alma_server.idempotency import OnceDep
from alma_server.routes.answers import Artifacts, Cleaned, Merged, Retrieved
from alma_server.routes.ask import head_of, retrieved
from alma_server.routes.bodies import LearnWorkflow, LinkArtifact, Merge, Name, RetrieveScoped, SaveState
from alma_server.routes.places import place
from alma_server.routes.record import stored_before
from alma_server.routes.scope import arguments_of, fields_of, require_all_users

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["workflows"])

UserId = Annotated[Name | None, Query()]


@router.put("/workflows/{workflow_id}/checkpoint", operation_id="checkpoint")
async def checkpoint(workflow_id: str, body: SaveState, asked: AskedDep, once: OnceDep) -> Checkpoint:
    """Stores the state of a workflow. One that is equal to the newest of its branch is not stored again."""
    asked.require("write")
    given = {**fields_of(body), "user_id": asked.user(body.user_id)}
    return await once.write(
        lambda alma: alma.checkpoint(workflow_id, **given),
        remember=lambda stored: stored.number,
        recall=lambda alma, number: _numbered(alma, workflow_id, given["user_id"], number),
    )


def _numbered(alma: "ALMA", workflow_id: str, user_id: str | None, number: int) -> Checkpoint:
    """Returns a checkpoint by its number. `MemoryNotFoundError` if it was erased."""
    from alma_harness.checkpoints import Line  # no part of the server, but it stored the checkpoint

    for found in Line.of(alma, workflow_id, user_id).newest_first():
        if found.number == number:
            return found
    raise MemoryNotFoundError("there is no such checkpoint any more")


@router.get("/workflows/{workflow_id}/checkpoint", operation_id="resume")
async def resume(
    workflow_id: str,
    asked: AskedDep,
    branch: UserId = None,
    node: UserId = None,
    name: UserId = None,
    user_id: UserId = None,
) -> Checkpoint:
    """Returns the newest checkpoint of a workflow, or of a branch, a node or a name of it. 404 if there is none."""
    asked.require("read")
    user = asked.user(user_id)
    found = await asked.read(lambda alma: alma.resume(workflow_id, branch=branch, node=node, name=name, user_id=user))
    if found is None:
        raise MemoryNotFoundError("there is no such checkpoint that this token can read")
    return found


@router.post("/workflows/{workflow_id}/merge", operation_id="merge_states")
async def merge_states(workflow_id: str, body: Merge, asked: AskedDep) -> Merged:
    """Returns one state made of several. Stores nothing."""
    asked.require("read")
    user = asked.user(body.user_id)
    return await asked.read(lambda alma: Merged(state=alma.merge_states(workflow_id, body.states, body.reducer, user_id=user)))


@router.post("/workflows/{workflow_id}/artifacts", operation_id="link_artifact", status_code=201)
async def link_artifact(workflow_id: str, body: LinkArtifact, asked: AskedDep) -> Artifact:
    """Records a product of a workflow. The same type and reference again replaces the record."""
    asked.require("write")
    given = {**fields_of(body), "user_id": asked.user(body.user_id)}
    made = await asked.write(lambda alma: alma.link_artifact(workflow_id, **given))
    place(asked, "workflows", workflow_id, "artifacts")
    return made


@router.get("/workflows/{workflow_id}/artifacts", operation_id="get_artifacts")
async def get_artifacts(workflow_id: str, asked: AskedDep, artifact_type: UserId = None, user_id: UserId = None) -> Artifacts:
    """Returns the products of a workflow, oldest first."""
    asked.require("read")
    user = asked.user(user_id)
    return await asked.read(lambda alma: Artifacts(artifacts=alma.get_artifacts(workflow_id, artifact_type, user_id=user)))


@router.post("/workflows/{workflow_id}/learn", operation_id="learn_from_workflow", status_code=201)
async def learn_from_workflow(workflow_id: str, body: LearnWorkflow, asked: AskedDep, once: OnceDep) -> Outcome:
    """Stores the outcome of a whole workflow. The token says who judged it."""
    asked.require("write")
    given = {**arguments_of(asked, body), "verdict_source": asked.access.source, "idempotency_key": once.core_key}

    def call(alma: "ALMA") -> Outcome:
        return alma.learn_from_workflow(workflow_id, **given)

    outcome = await once.write(
        call,
        remember=lambda stored: [stored.id],
        recall=lambda alma, ids: stored_before(alma, ids)[0],
        is_counted_once=True,
    )
    place(asked, "memories", outcome.id)
    return outcome


@router.post("/workflows/{workflow_id}/retrieve", operation_id="retrieve_scoped")
async def retrieve_scoped(workflow_id: str, body: RetrieveScoped, asked: AskedDep) -> Retrieved:
    """Returns what matters for a step: of this workflow alone, of the agent alone, or of all that it may read."""
    asked.require("read")
    given = arguments_of(asked, body, "max_tokens")

    def call(alma: "ALMA") -> Retrieved:
        seq = head_of(alma)
        return retrieved(alma.retrieve_scoped(**given, workflow_id=workflow_id), body.max_tokens, seq)

    return await asked.read(call)


@router.delete("/checkpoints", operation_id="cleanup_checkpoints")
async def cleanup_checkpoints(
    asked: AskedDep,
    older_than_days: Annotated[float, Query(ge=0, le=365_000)] = 7,
    workflow_id: UserId = None,
    keep: Annotated[int, Query(ge=1, le=1_000)] = 1,
    user_id: UserId = None,
) -> Cleaned:
    """Erases old checkpoints for good: of one workflow, or of all. The newest of each branch stay."""
    asked.require("forget")
    user = asked.user(user_id)
    if workflow_id is None:
        require_all_users(asked, "clean up all workflows")

    def call(alma: "ALMA") -> Cleaned:
        return Cleaned(erased=alma.cleanup_checkpoints(older_than_days, workflow_id=workflow_id, keep=keep, user_id=user))

    return await asked.write(call)
