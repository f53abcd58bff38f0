"""Routes of the API, a module for each subject."""

from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Path

from alma_server.routes import admin, ask, episodes, memories, record, transfer, upkeep, workflows
from alma_server.routes.document import describe_once


def all_routers() -> list[APIRouter]:
    """Returns the routers of a project, which are mounted under `/v1`."""
    return [module.router for module in (ask, record, memories, episodes, upkeep, workflows, transfer)]


def add_routes(app: FastAPI) -> None:
    """Adds all routes of the API to an application."""
    for router in all_routers():
        app.include_router(router, prefix="/v1", dependencies=[Depends(_name_project)])
    for router in (transfer.jobs_router, admin.router):
        app.include_router(router, prefix="/v1")
    describe_once(app)


async def _name_project(project: Annotated[str, Path(description="Name of the project.")]) -> None:
    """States the parameter that `AskedDep` reads, for the document of the API."""
