"""A project with the embedder of hashed words, and an emitter that no test shares."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma.events import EventEmitter, get_emitter, reset_emitter


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        yield alma


@pytest.fixture
def emitter() -> Iterator[EventEmitter]:
    reset_emitter()
    yield get_emitter()
    reset_emitter()
