"""Runs the API and the MCP server on one port, in one process or several, until they are asked to end."""

import asyncio
import functools
import gc
import logging
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from socket import socket
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.lifespan.on import LifespanOn
from uvicorn.supervisors import Multiprocess

from alma.errors import AlmaError, StorageError
from alma_access import Access, TokenFile
from alma_access.serving.headers import HeaderDeadline
from alma_access.serving.logs import log_in_lines
from alma_access.serving.opening import Opening
from alma_access.serving.sockets import open_listener, show_host
from alma_server.app import create_app
from alma_server.options import Options, is_loopback
from alma_server.requests import LOG
from alma_server.sessions import is_session

if TYPE_CHECKING:
    from alma import ALMA
    from alma_access import Tokens
    from alma_server.deliveries import Deliveries

DEFAULT_TOKEN = "default"  # noqa: S105 - a name
MCP_PATH = "/mcp"
KEEP_ALIVE_SECONDS = 75
"""An idle connection is kept longer than proxies keep theirs (nginx: 60 s), which would else send a request into one that closes."""
OPEN_AGAIN_SECONDS = 5.0
WORKER_SECONDS = 30
"""A worker that says nothing for this long is replaced; on a busy machine one needs several seconds to load the libraries."""
_SHARED_FIGURES = "PROMETHEUS_MULTIPROC_DIR"


def serve(options: Options, *, welcome: Callable[[str], object] | None = None) -> None:
    """Serves clients with a token, until the process is asked to end. Without any token, makes one and prints it.

    `welcome` is called with the address of the server once clients may connect, in place of making that token.
    """
    log_in_lines()
    block = options.block
    listener = open_listener(block.host, block.port)
    scheme = "http" if block.certificate is None else "https"
    address = f"{scheme}://{show_host(block.host)}:{listener.getsockname()[1]}{block.root_path}"
    if welcome is None:
        _make_first_token(TokenFile(options.folder))  # after the address is known to be free, and before clients are told of it
    _report(f"listening on {address}")
    if welcome is not None:
        welcome(address)
    if not is_loopback(block.host) and not block.allowed_hosts:
        _report("only requests for this machine are answered; name the host that clients use by --allowed-host")
    if block.workers > 1:
        _run_workers(options, listener)
        return
    config = _uvicorn_config(make_app(options), options)
    gc.freeze()  # what was imported stays: looking for garbage in it would take time
    gc.enable()
    uvicorn.Server(config).run(sockets=[listener])


def _run_workers(options: Options, listener: socket) -> None:
    """Runs several processes, which share their figures in a folder, until they are asked to end."""
    with tempfile.TemporaryDirectory(prefix="alma-figures-") as figures:
        os.environ.setdefault(_SHARED_FIGURES, figures)
        config = _uvicorn_config(functools.partial(make_app, options), options, factory=True)
        Multiprocess(config, [listener]).run()


def make_app(options: Options) -> ASGIApp:
    """Returns the application of one process: the API, and the MCP server at `/mcp` if it is installed."""
    log_in_lines()
    _log_requests()
    opening = Opening(functools.partial(_open, options))
    tokens = TokenFile(options.folder)
    app = create_app(
        functools.partial(_open_project, opening),
        tokens,
        settings=options.settings,
        check_ready=functools.partial(_check_ready, opening),
    )
    has_mcp = options.block.only in (None, "mcp") and find_spec("alma_mcp") is not None
    mcp = _Later(functools.partial(_make_mcp, options, opening, tokens)) if has_mcp else None
    app.router.lifespan_context = _with_store(app, options, opening, mcp)
    return app if mcp is None else _Doors(app, mcp, options.block.root_path)


class _Doors:
    """Passes requests for `/mcp` to the MCP server and all others to the API."""

    def __init__(self, api: FastAPI, mcp: ASGIApp, root_path: str) -> None:
        self._api = api
        self._mcp = mcp
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] == "http" and path.removeprefix(self._root_path) == MCP_PATH:
            await self._mcp({**scope, "path": MCP_PATH}, receive, send)
        else:
            await self._api(scope, receive, send)


class _Later:
    """Application that is made in a thread, as what it imports takes long, when it is asked first or before. Used from one event loop."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: asyncio.Task[tuple[ASGIApp, LifespanOn]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app, _ = await self.load()
        await app(scope, receive, send)

    def load(self) -> "asyncio.Future[tuple[ASGIApp, LifespanOn]]":
        """Begins to make the application, unless that is under way or done. One caller that is cancelled ends nothing for others."""
        if self._made is None:
            self._made = asyncio.create_task(self._start())
        return asyncio.shield(self._made)

    async def close(self) -> None:
        """Ends the application, if it was made."""
        if self._made is not None:
            await (await self._made)[1].shutdown()

    async def _start(self) -> tuple[ASGIApp, LifespanOn]:
        app = await asyncio.to_thread(self._make)
        config = uvicorn.Config(app, lifespan="on", log_config=None)
        config.load()
        lifespan = LifespanOn(config)
        await lifespan.startup()
        return app, lifespan


def _make_mcp(options: Options, opening: Opening, tokens: "Tokens") -> ASGIApp:
    from alma_mcp import create_server, http_app

    block = options.block
    return http_app(
        create_server(opening, profile=options.profile),
        tokens,
        project=options.project,
        allowed_hosts=block.allowed_hosts,
        allowed_origins=block.allowed_origins,
        max_body=block.max_body,
        keeps_sessions=block.workers == 1,
    )


def _with_store(app: FastAPI, options: Options, opening: Opening, mcp: _Later | None) -> Any:
    """Returns the life of a server: the store is opened beside it, then the rest is loaded; the store is closed after the last request."""
    api = app.router.lifespan_context

    @asynccontextmanager
    async def live(app: FastAPI) -> AsyncIterator[None]:
        rest = _Rest(options, opening, mcp)
        preparing = asyncio.create_task(rest.begin())
        try:
            async with api(app):
                yield
        finally:
            preparing.cancel()
            await rest.end()
            await asyncio.to_thread(opening.close)

    return live


class _Rest:
    """Services that begin when the store is open: deliveries of webhooks, and the MCP server."""

    def __init__(self, options: Options, opening: Opening, mcp: _Later | None) -> None:
        self._options = options
        self._opening = opening
        self._mcp = mcp
        self._deliveries: Deliveries | None = None

    async def begin(self) -> None:
        """Opens the store, again and again where it fails, and begins then."""
        while not self._opening.is_open:
            try:
                await asyncio.wrap_future(self._opening.start())
            except AlmaError as error:
                logging.getLogger("alma").error("the store cannot be opened: %s", error)
                await asyncio.sleep(OPEN_AGAIN_SECONDS)
        await asyncio.to_thread(self._begin_deliveries)
        if self._mcp is not None:
            await self._mcp.load()

    async def end(self) -> None:
        """Ends what was begun."""
        if self._deliveries is not None:
            await asyncio.to_thread(self._deliveries.stop)
        if self._mcp is not None:
            await self._mcp.close()

    def _begin_deliveries(self) -> None:
        from alma_server.deliveries import Deliveries

        is_token = TokenFile(self._options.folder).is_current
        self._deliveries = Deliveries(self._opening.alma(), self._options.webhooks, is_token)
        self._deliveries.start()


def _uvicorn_config(app: Any, options: Options, *, factory: bool = False) -> uvicorn.Config:
    block = options.block
    return uvicorn.Config(
        app,
        factory=factory,
        workers=block.workers,
        http=HeaderDeadline,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_worker_healthcheck=WORKER_SECONDS,
        timeout_graceful_shutdown=round(block.drain_seconds),
        server_header=False,
        ws="none",
        ssl_certfile=block.certificate,
        ssl_keyfile=block.certificate_key,
    )


def _open(options: Options) -> "ALMA":
    """Opens the store with the receivers that the configuration has: before the first request, so that they get what it stores."""
    from alma import ALMA

    alma = ALMA.from_config(options.config)
    if options.webhooks:
        from alma_events.webhooks import WebhookManager

        with suppress(Exception):  # the deliveries try again, and log it
            WebhookManager(alma).configure(options.webhooks)
    return alma


def _open_project(opening: Opening, name: str) -> "ALMA":
    return opening.alma().for_project(name)


def _check_ready(opening: Opening) -> None:
    """Raises `StorageError` unless the store is open and its journal can be read."""
    if not opening.is_open:
        raise StorageError(opening.failure or "the store is being opened")
    alma = opening.alma()
    alma.storage.project(alma.project_id).head()


def _make_first_token(file: TokenFile) -> None:
    if (secret := file.add_first(DEFAULT_TOKEN, Access(), is_passing=is_session)) is not None:
        _report(f"made a token for {Access()}; it is shown only now:\n{secret}")


def _log_requests() -> None:
    """Has a line for each request printed on standard output."""
    if not LOG.handlers:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(logging.Formatter("%(message)s"))
        LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


def _report(text: str) -> None:
    print(f"alma: {text}", file=sys.stderr, flush=True)
