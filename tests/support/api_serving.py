"""Servers for the tests of the HTTP API: a real store, real tokens, and clients without a socket."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from alma import ALMA
from alma_access import Access, TokenFile
from alma_server.app import create_app
from alma_server.settings import ServerSettings


class Served(NamedTuple):
    """An application, its tokens, and the memory of its project `shop`."""

    app: FastAPI
    tokens: TokenFile
    alma: ALMA

    def client(self, name: str = "test", **bound: Any) -> TestClient:
        """Returns a client with a new token, bound as the arguments of `Access` state."""
        return client_of(self.app, self.tokens, name, **bound)

    def client_with(self, secret: str | None) -> TestClient:
        """Returns a client with a secret, or with none."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        return TestClient(self.app, headers=headers, base_url="http://127.0.0.1", raise_server_exceptions=False)


@contextmanager
def running_app(folder: Path, *, settings: ServerSettings | None = None) -> "Iterator[Served]":
    """Yields an application over a new store in a folder."""
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        tokens = TokenFile(folder)
        yield Served(create_app(alma.for_project, tokens, settings=settings), tokens, alma)


@contextmanager
def over_http(served: Served) -> Iterator[str]:
    """Yields the address of an application that a thread serves."""
    server = uvicorn.Server(uvicorn.Config(served.app, port=0, log_level="error", ws="none"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        served.app.state.service.stopping.ask()
        server.should_exit = True
        thread.join()


def client_of(app: FastAPI, tokens: TokenFile, name: str = "test", **bound: Any) -> TestClient:
    """Returns a client of an application with a new token."""
    return TestClient(
        app,
        headers={"Authorization": f"Bearer {tokens.add(name, Access(**bound))}"},
        base_url="http://127.0.0.1",
        raise_server_exceptions=False,
    )


Opening = Callable[..., TestClient]
