"""Runs a server until its clients are gone, and closes the memory then."""

import functools
import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import anyio

from alma.errors import ConfigurationError
from alma_access import Access
from alma_access.serving.logs import log_in_lines
from alma_access.serving.opening import Opening
from alma_access.serving.sockets import LOOPBACK, open_listener, show_host
from alma_mcp.server import create_server

if TYPE_CHECKING:
    from alma import ALMA
    from alma_access import TokenFile, Tokens

DEFAULT_TOKEN = "default"  # noqa: S105 - a name
GRACE_SECONDS = 5
"""How long running requests may take when the server is asked to end. A call that was begun ends in any case."""


def serve_stdio(config: Path, *, profile: str, access: Access) -> None:
    """Serves one client on standard input and output, until that is closed."""
    log_in_lines()
    opening = Opening(functools.partial(_open, config))
    server = create_server(opening, profile=profile, access=access)
    _collect_again()
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: Thread(target=_end, args=(opening,)).start())
    try:
        anyio.run(server.run_stdio_async)
    finally:
        opening.close()


def serve_http(
    config: Path,
    *,
    folder: Path,
    project: str,
    profile: str,
    access: Access,
    host: str,
    port: int,
    allowed_hosts: Sequence[str],
    allowed_origins: Sequence[str],
    max_body: int,
    token: str | None,
) -> None:
    """Serves clients with a token over HTTP, until the process is asked to end. Without any token, makes one and prints it."""
    import uvicorn

    from alma_access import TokenFile
    from alma_access.serving.headers import HeaderDeadline
    from alma_mcp.http import PATH, http_app

    log_in_lines()
    opening = Opening(functools.partial(_open, config))
    server = create_server(opening, profile=profile, access=access)
    listener = open_listener(host, port)
    tokens = _chosen(TokenFile(folder), token, access, project)  # last: it may make one, and print it
    app = http_app(
        server,
        tokens,
        project=project,
        allowed_hosts=allowed_hosts,
        allowed_origins=allowed_origins,
        max_body=max_body,
    )
    shown = show_host(host)
    _report(f"listening on http://{shown}:{listener.getsockname()[1]}{PATH}")
    if shown not in LOOPBACK and not allowed_hosts:
        _report("only requests for this machine are answered; name the host that clients use by --allowed-host")
    settings = uvicorn.Config(
        app,
        http=HeaderDeadline,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        server_header=False,
        ws="none",
    )
    opening.start()
    _collect_again()
    try:
        anyio.run(lambda: uvicorn.Server(settings).serve(sockets=[listener]))
    finally:
        opening.close()


def _collect_again() -> None:
    """Leaves all that was imported out of garbage collection, and begins with the rest."""
    gc.freeze()
    gc.enable()


def _open(config: Path) -> "ALMA":
    """Opens the memory. The core is imported here, beside the server, which answers meanwhile."""
    from alma import ALMA

    return ALMA.from_config(config)


def _chosen(file: "TokenFile", token: str | None, access: Access, project: str) -> "Tokens":
    """Returns the tokens of the environment, or those of the file, with a first one if it has none."""
    from alma_access import GivenTokens, token_of
    from alma_mcp.managing import bound

    if token is not None:
        return GivenTokens((token_of(token, access),))
    if not file.tokens():
        secret = file.add(DEFAULT_TOKEN, bound(access, project))
        _report(f"made a token for {access}; it is shown only now:\n{secret}")
    elif access != Access():
        raise ConfigurationError("--agent and --user-id bind a new token; this server has tokens: see --tokens and --new-token")
    return file


def _end(opening: Opening) -> None:
    """Closes the memory and ends the process. An orderly end would wait for a line on standard input, which a thread is reading."""
    try:
        opening.close()
    finally:
        os._exit(0)


def _report(text: str) -> None:
    print(f"alma: {text}", file=sys.stderr, flush=True)
