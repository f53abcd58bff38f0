"""Assembly of the HTTP application."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from alma import __version__
from alma_access import Tokens
from alma_server.addresses import BareAddresses
from alma_server.entry import Entry
from alma_server.health import health_router, whoami_router
from alma_server.problems import handle_problems
from alma_server.requests import Requests
from alma_server.routes import add_routes
from alma_server.service import Service
from alma_server.settings import ServerSettings

if TYPE_CHECKING:
    from alma import ALMA


def create_app(open_project: "Callable[[str], ALMA]", tokens: Tokens, *, settings: ServerSettings | None = None) -> FastAPI:
    """Returns the application that serves the projects of a store to clients with a token.

    `open_project` returns the memory of a project; it runs in a thread. Memories are closed by their owner.
    """
    settings = settings or ServerSettings()
    app = FastAPI(title="ALMA", version=__version__, docs_url=None, redoc_url=None, lifespan=_lifespan)
    app.state.service = Service.make(open_project, tokens, settings)
    handle_problems(app)
    app.include_router(health_router)
    app.include_router(whoami_router, prefix="/v1")
    add_routes(app)
    app.add_middleware(BareAddresses, apart=frozenset({"projects", "whoami", "tokens", "jobs"}))
    if settings.allowed_origins:
        app.add_middleware(CORSMiddleware, allow_origins=settings.allowed_origins, **_CROSS_ORIGIN)
    app.add_middleware(Entry, settings=settings)
    app.add_middleware(Requests, metrics=app.state.service.metrics)
    return app


_CROSS_ORIGIN: dict[str, Any] = {
    "allow_methods": ("GET", "POST", "PUT", "PATCH", "DELETE"),
    "allow_headers": (
        "Authorization",
        "Content-Type",
        "Idempotency-Key",
        "If-Match",
        "If-None-Match",
        "Last-Event-ID",
        "X-Request-ID",
    ),
    "expose_headers": ("ETag", "Link", "Location", "Retry-After", "RateLimit", "Idempotent-Replayed", "X-Request-ID"),
}


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    with service.stopping.on_signals():
        yield
    service.stopping.asked.set()
    await asyncio.to_thread(service.work.close)
