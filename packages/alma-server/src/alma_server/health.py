"""Routes that say who asks, and how the server is."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from alma import __version__
from alma.errors import AlmaError, ScopeViolationError
from alma_access import Access
from alma_server.asking import AskedDep
from alma_server.problems import ProblemError

whoami_router = APIRouter(tags=["service"])
health_router = APIRouter(tags=["service"])

_PROJECT = re.compile(rb'\w+\{project=("(?:[^"\\]|\\.)*")\} ')
"""Line of figures of one project. The text format escapes a label as JSON escapes a text."""


class WhoAmI(BaseModel):
    """Rights of a token: `*` is any name, an empty `user_id` no user. `project` is that of addresses which name none, `None` where there is none."""

    name: str
    agent: str
    user_id: str
    projects: list[str]
    project: str | None
    rights: list[str]
    source: str
    expires: int | None


class Status(BaseModel):
    """State of the server."""

    status: str


class Version(BaseModel):
    """Version of ALMA, and of the API."""

    version: str
    api: str


@whoami_router.get("/whoami", operation_id="whoami")
async def whoami(asked: AskedDep) -> WhoAmI:
    """Returns what this token may do: its name, agent, user, projects and rights. `expires` is in microseconds since 1970."""
    access, project = asked.access, None
    with suppress(ScopeViolationError):
        project = access.as_project(None, default=asked.service.settings.project)
    return WhoAmI(
        name=asked.token.name,
        agent=access.agent,
        user_id=access.user_id,
        projects=list(access.projects),
        project=project,
        rights=sorted(access.rights),
        source=access.source,
        expires=asked.token.expires,
    )


@health_router.get("/health/live", operation_id="live")
async def live() -> Status:
    """Answers while the process answers requests."""
    return Status(status="ok")


@health_router.get("/health/ready", operation_id="ready")
async def ready(request: Request) -> Status:
    """Answers 200 when the store is open and its journal can be read, else 503 with what is missing."""
    service = request.app.state.service
    if service.stopping.is_asked:
        raise ProblemError(503, "not-ready", "the server ends", headers={"Retry-After": "5"})
    try:
        await service.work.health.run(service.check_ready)
    except AlmaError as error:
        raise ProblemError(503, "not-ready", str(error), headers={"Retry-After": "1"}) from error
    return Status(status="ready")


@health_router.get("/version", operation_id="version")
async def version() -> Version:
    """Returns the versions of ALMA and of the API."""
    return Version(version=__version__, api="v1")


@health_router.get("/metrics", operation_id="metrics", response_class=Response)
async def metrics(asked: AskedDep) -> Any:
    """Returns figures for Prometheus. Needs the right `admin`; 501 without the package prometheus-client."""
    asked.require("admin")
    service = asked.service
    folder = service.settings.folder
    service.metrics.note_waiting(service.work.reads.queued)
    if folder is not None:
        await service.work.health.run(lambda: service.metrics.note_store(folder))
    text, media_type = service.metrics.render()
    return Response(b"".join(_of_projects(text, asked.access)), media_type=media_type)


def _of_projects(text: bytes, access: Access) -> Iterator[bytes]:
    """Yields the lines of figures, but for those of a project that a token is not bound to."""
    for line in text.splitlines(keepends=True):
        named = _PROJECT.match(line)
        if named is None or access.reaches(json.loads(named[1])):
            yield line
