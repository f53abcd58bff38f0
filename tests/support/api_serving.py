"""Servers for the tests of the HTTP API: a real store, real tokens, and clients without a socket."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from alma import ALMA
from alma_access import Access, TokenFile
from alma_server.app import create_app
from alma_server.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class Served:
    """An application, its tokens, and the memory of its project `shop`."""

    app: FastAPI
    tokens: TokenFile
    alma: ALMA

    def client(self, name: str = "test", **bound: Any) -> TestClient:
        """Returns a client with a new token, bound as the arguments of `Access` state."""
        secret = self.tokens.add(name, Access(**bound))
        return self.client_with(secret)

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


Opening = Callable[..., TestClient]
