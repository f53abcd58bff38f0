"""Routes by which a person looks over a store: what to judge, what was made on each day, which projects there are, whether it is whole."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from alma.errors import ScopeViolationError
from alma.protocols import ListsProjects
from alma.types.overview import Timeline
from alma.types.reports import ReviewReport, VerifyReport
from alma_access import ANY
from alma_server.asking import Asked, AskedDep
from alma_server.routes.answers import Names
from alma_server.routes.bodies import Name
from alma_server.routes.scope import require_all_agents, require_all_users

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["upkeep"])
store_router = APIRouter(tags=["service"])


@router.get("/review", operation_id="review")
async def review(
    asked: AskedDep, agent: Annotated[Name | None, Query()] = None, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> ReviewReport:
    """Returns the episodes that a person should judge first: unjudged ones, and those whose verdict differs from the forecast."""
    asked.require("read")
    require_all_users(asked, "read the queue of verdicts")
    named = asked.any_agent(agent)
    return await asked.read(lambda alma: alma.review(named, limit))


@router.get("/timeline", operation_id="timeline")
async def timeline(asked: AskedDep, agent: Annotated[Name | None, Query()] = None) -> Timeline:
    """Returns what was made on each day (UTC), by kind, and how its outcomes went, as far as the token may read it."""
    asked.require("read")
    named = asked.any_agent(agent)
    return await asked.read(lambda alma: alma.timeline(named, users=asked.access.users))


@store_router.get("/projects", operation_id="projects")
async def projects(asked: AskedDep) -> Names:
    """Returns the names of the projects that the token reaches. Of a token of any project, those in the store."""
    asked.require("read")
    if ANY not in asked.access.projects:
        return Names(names=sorted(asked.access.projects))
    return await asked.service.work.reads.run(lambda: Names(names=_stored_projects(_any_memory(asked))))


@store_router.get("/verify", operation_id="verify")
async def verify(asked: AskedDep) -> VerifyReport:
    """Checks the whole store for damage: the file, every link of every journal, every row. For tokens of all projects, agents and users."""
    asked.require("admin")
    require_all_agents(asked)
    require_all_users(asked, "check the store")
    if ANY not in asked.access.projects:
        raise ScopeViolationError("this token is for some projects; this call reaches all of the store")
    return await asked.service.work.reads.run(lambda: _any_memory(asked).verify())


def _stored_projects(alma: "ALMA") -> list[str]:
    storage = alma.storage
    return sorted(storage.project_names()) if isinstance(storage, ListsProjects) else [alma.project_id]


def _any_memory(asked: Asked) -> "ALMA":
    """Returns a memory of the store: that of the project in the configuration."""
    return asked.service.projects.find(asked.access.as_project(None, default=asked.service.settings.project))
