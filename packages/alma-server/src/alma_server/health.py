"""Routes that say who asks, and how the server is."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from alma_server.asking import AskedDep

whoami_router = APIRouter(tags=["service"])
health_router = APIRouter(tags=["service"])


@whoami_router.get("/whoami", operation_id="whoami")
async def whoami(asked: AskedDep) -> dict[str, Any]:
    """Returns what this token may do: its name, agent, user, projects and rights."""
    access = asked.access
    return {
        "name": asked.token.name,
        "agent": access.agent,
        "user_id": access.user_id,
        "projects": list(access.projects),
        "rights": sorted(access.rights),
        "source": access.source,
    }


@health_router.get("/health/live", operation_id="live")
async def live() -> JSONResponse:
    """Answers while the process answers requests."""
    return JSONResponse({"status": "ok"})
