"""A server over a new store, and clients of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from alma import ALMA
from alma_access import TokenFile
from api_serving import Opening, client_of, running_app


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[FastAPI, TokenFile, ALMA]]:
    with running_app(tmp_path) as served:
        yield served


@pytest.fixture
def client(served: tuple[FastAPI, TokenFile, ALMA]) -> Opening:
    app, tokens, _ = served
    return lambda name="test", **bound: client_of(app, tokens, name, **bound)
