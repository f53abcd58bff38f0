"""Routes that move the content of a project: export and import, as jobs, and the export of one user."""

from io import BytesIO
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Query
from fastapi.responses import StreamingResponse

from alma.errors import ConflictError
from alma_server.asking import Asked, AskedDep
from alma_server.limits import EXPORT
from alma_server.routes.answers import Job
from alma_server.routes.bodies import Export, Name
from alma_server.routes.jobs import Jobs, Made, Progress, Running
from alma_server.routes.scope import require_all_agents, require_all_users

router = APIRouter(prefix="/projects/{project}", tags=["transfer"])
jobs_router = APIRouter(tags=["transfer"])

LINES = "application/x-ndjson"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {LINES: {"schema": {"type": "string"}}}, "description": "The lines of the export"}
}


@router.post("/export", operation_id="export", status_code=202)
async def export(body: Export, asked: AskedDep) -> Job:
    """Begins an export of the project, of one agent, or of one user: JSON lines, lossless, from one consistent snapshot."""
    asked.require("admin")
    asked.charge(EXPORT)
    whose = _whose(asked, body.agent, body.user_id)
    alma = await asked.read(lambda alma: alma)

    def work(progress: Progress) -> tuple[dict[str, Any], Made]:
        made = Made()
        report = alma.export(made, **whose, vectors=body.vectors, progress=progress)  # type: ignore[arg-type] # it has `write`
        return report.model_dump(mode="json"), made

    return _place(asked, Jobs.of(asked.request.app).start(asked, "export", work))


@router.get("/export", operation_id="export_now", responses=_FILE, response_class=StreamingResponse)
async def export_now(
    asked: AskedDep,
    agent: Annotated[Name | None, Query()] = None,
    user_id: Annotated[Name | None, Query()] = None,
    vectors: bool = False,
) -> StreamingResponse:
    """Returns an export of the project, of one agent, or of one user, at once, without a job."""
    asked.require("admin")
    asked.charge(EXPORT)
    whose, made = _whose(asked, agent, user_id), Made()
    await asked.read(lambda alma: alma.export(made, **whose, vectors=vectors))  # type: ignore[arg-type] # it has `write`
    return StreamingResponse(made.chunks(), media_type=LINES)


@router.get("/export/{job_id}", operation_id="get_export", responses=_FILE, response_class=StreamingResponse)
async def get_export(job_id: str, asked: AskedDep) -> StreamingResponse:
    """Returns what an export made. 409 until it is done."""
    asked.require("admin")
    job = Jobs.of(asked.request.app).find(asked, job_id)
    if job.made is None:
        raise ConflictError(f"this {job.sort} is {job.status}")
    return StreamingResponse(job.made.chunks(), media_type=LINES)


@router.get("/users/{user_id}/export", operation_id="export_user", responses=_FILE, response_class=StreamingResponse)
async def export_user(user_id: str, asked: AskedDep) -> StreamingResponse:
    """Returns all that was recorded for a user, of every agent."""
    asked.require("admin")
    require_all_agents(asked)
    named = asked.user(user_id)
    made = Made()
    await asked.read(lambda alma: alma.export(made, user_id=named))  # type: ignore[arg-type] # it has `write`
    return StreamingResponse(made.chunks(), media_type=LINES)


@router.post("/import", operation_id="import_from", status_code=202)
async def import_from(
    asked: AskedDep,
    lines: Annotated[bytes, Body(media_type=LINES)],
    on_conflict: Annotated[Literal["error", "skip", "merge"], Query()] = "error",
    wait: Annotated[bool, Query(description="Answer when it has ended.")] = False,
    trusted: Annotated[
        bool, Query(description="Take the file's word for who judged; else all of it counts as imported.")
    ] = False,
) -> Job:
    """Begins an import of an export. It is stored whole or not at all; an untrusted one in portions of 500 memories."""
    asked.require("admin")
    require_all_users(asked, "import")
    require_all_agents(asked)
    alma = await asked.read(lambda alma: alma)

    def work(progress: Progress) -> tuple[dict[str, Any], None]:
        if trusted:
            return alma.import_from(BytesIO(lines), on_conflict=on_conflict, progress=progress).model_dump(mode="json"), None
        return alma.import_untrusted(BytesIO(lines), progress=progress).model_dump(mode="json"), None

    job = Jobs.of(asked.request.app).start(asked, "import", work)
    if wait:
        await job.wait()
    return _place(asked, job)


@jobs_router.get("/jobs/{job_id}", operation_id="get_job")
async def get_job(job_id: str, asked: AskedDep) -> Job:
    """Returns the progress of an export or an import that this token began, until an hour after its end."""
    asked.require("admin")
    return Jobs.of(asked.request.app).find(asked, job_id).shown()


def _place(asked: Asked, job: Running) -> Job:
    root = asked.request.scope.get("root_path", "").rstrip("/")
    asked.respond("Location", f"{root}/v1/jobs/{job.id}")
    return job.shown()


def _whose(asked: Asked, agent: str | None, user_id: str | None) -> dict[str, str | None]:
    """Returns the agent or the user of an export. `ScopeViolationError` if the token reaches less than that."""
    agent, user = asked.any_agent(agent), asked.user(user_id)
    if user is None:
        require_all_users(asked, "export")
    else:
        require_all_agents(asked)
    return {"agent": agent, "user_id": user}
