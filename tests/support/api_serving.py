"""Servers for the tests of the HTTP API: a real store, real tokens, and clients without a socket."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from alma import ALMA
from alma_access import Access, TokenFile
from alma_server.app import create_app
from alma_server.settings import ServerSettings


@contextmanager
def running_app(folder: Path, *, settings: ServerSettings | None = None) -> "Iterator[tuple[FastAPI, TokenFile, ALMA]]":
    """An application over a new store in a folder, with its tokens and the memory of its project `shop`."""
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        tokens = TokenFile(folder)
        yield create_app(alma.for_project, tokens, settings=settings), tokens, alma


def client_of(app: FastAPI, tokens: TokenFile, name: str = "test", **bound: Any) -> TestClient:
    """A client with a new token, bound as the arguments of `Access` state."""
    secret = tokens.add(name, Access(**bound))
    return TestClient(
        app, headers={"Authorization": f"Bearer {secret}"}, base_url="http://127.0.0.1", raise_server_exceptions=False
    )


Opening = Callable[..., TestClient]
