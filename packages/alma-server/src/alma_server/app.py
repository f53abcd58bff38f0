"""Assembly of the HTTP application."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, Path
from starlette.middleware.cors import CORSMiddleware

from alma import __version__
from alma_access import Tokens
from alma_server import page
from alma_server.addresses import Addresses
from alma_server.entry import Entry
from alma_server.health import health_router, whoami_router
from alma_server.problems import handle_problems
from alma_server.requests import Requests
from alma_server.routes import all_routers, legacy
from alma_server.routes.document import describe_once
from alma_server.service import Service
from alma_server.settings import ServerSettings
from alma_server.stream import Streams, events_router

if TYPE_CHECKING:
    from alma import ALMA

APART = frozenset({"projects", "whoami", "tokens", "jobs", "verify"})
"""First parts of addresses below `/v1` that belong to no project."""

_CROSS_ORIGIN: dict[str, Any] = {
    "allow_methods": ("GET", "POST", "PUT", "PATCH", "DELETE"),
    "allow_headers": (
        *("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "X-Request-ID"),
        "traceparent",
    ),
    "expose_headers": ("ETag", "Link", "Location", "Retry-After", "RateLimit", "Idempotent-Replayed", "X-Request-ID"),
}


def _is_ready() -> None:
    """Raises nothing: the memory was opened before the server."""


def create_app(
    open_project: "Callable[[str], ALMA]",
    tokens: Tokens,
    *,
    settings: ServerSettings | None = None,
    check_ready: Callable[[], object] = _is_ready,
) -> FastAPI:
    """Returns the application that serves the projects of a store to clients with a token.

    `open_project` returns the memory of a project; it runs in a thread. Memories are closed by their owner. `check_ready` raises an error
    of ALMA that says why the store cannot be used now.
    """
    settings = settings or ServerSettings()
    app = FastAPI(
        title="ALMA", version=__version__, root_path=settings.root_path, docs_url=None, redoc_url=None, lifespan=_lifespan
    )
    service = app.state.service = Service.make(open_project, tokens, settings, check_ready)
    service.streams = Streams(service)
    handle_problems(app)
    app.include_router(health_router)
    for router in (whoami_router, events_router, *all_routers()) if settings.has_api else ():
        in_path = [Depends(_name_project)] if router.prefix.startswith("/projects/{project}") else []
        app.include_router(router, prefix="/v1", dependencies=in_path)
    if settings.has_page:
        app.include_router(page.router)
        app.include_router(page.root_router)
    if settings.has_api and settings.legacy:
        app.include_router(legacy.router)
    describe_once(app)
    app.add_middleware(Addresses, apart=APART)
    if settings.allowed_origins:
        app.add_middleware(CORSMiddleware, allow_origins=settings.allowed_origins, **_CROSS_ORIGIN)
    app.add_middleware(Entry, settings=settings)
    app.add_middleware(Requests, metrics=service.metrics)
    return app


async def _name_project(project: Annotated[str, Path(description="Name of the project.")]) -> None:
    """States the parameter that `AskedDep` reads, for the document of the API."""


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    with service.stopping.on_signals():
        yield
    service.stopping.ask()
    await asyncio.to_thread(service.work.close)
