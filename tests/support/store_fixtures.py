"""Fixtures for stores in folders of their own, with a hash embedder and a fixed clock. The empty store `alma` is a copy of one that was made
once: making it takes longer than most tests. Property tests have no deadline per example, because machines may be busy.

With `--store=file` the stores are journals in readable files.
With `--store=postgres` the stores are on a server, each in a schema that stands for its folder.
With both, the tests that run are those that get a store from here.
"""

import shutil
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from alma import ALMA
from facade import ManualClock, NewPlace, OpenStore, Place, StoredIn

__all__ = [
    "alma", "clock", "closed_at_the_end", "empty_database", "new_place", "open_store", "place", "pytest_collection_modifyitems", "stored_in",
]  # fmt: skip

settings.register_profile("alma", deadline=None)
settings.load_profile("alma")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that nobody has written to."""
    folder = tmp_path_factory.mktemp("empty")
    ALMA.open(folder, project_id="shop", embedding_provider="hash", clock=ManualClock()).close()
    return folder / "alma.db"


def schema_of(folder: Path | str) -> str:
    """The name of the schema that stands for a folder."""
    return f"s{blake2b(str(folder).encode(), digest_size=8).hexdigest()}"


@pytest.fixture(scope="session")
def stored_in(request: pytest.FixtureRequest) -> Iterator[StoredIn]:
    """Gives the options by which the store of a folder is opened."""
    if request.config.getoption("--store") == "sqlite":
        yield lambda folder: {}
        return
    if request.config.getoption("--store") == "file":
        yield lambda folder: {"storage": "file"}
        return
    from postgres_server import PostgresServer

    server = PostgresServer()
    server.start()
    yield lambda folder: {"storage": f"{server.url}?schema={schema_of(folder)}"}
    server.stop()


@pytest.fixture
def place(tmp_path: Path, stored_in: StoredIn) -> Place:
    """A store in the folder of this test, for several processes."""
    return Place(tmp_path / "store", stored_in(tmp_path / "store"))


@pytest.fixture(scope="session")
def new_place(tmp_path_factory: pytest.TempPathFactory, stored_in: StoredIn) -> NewPlace:
    """Returns a new store at each call: one for each example of a property."""

    def new() -> Place:
        folder = tmp_path_factory.mktemp("place")
        return Place(folder, stored_in(folder))

    return new


@pytest.fixture
def open_store(tmp_path: Path, clock: ManualClock, stored_in: StoredIn) -> Iterator[OpenStore]:
    """Opens the project `shop` in the folder of this test by default; closed at the end."""
    opened: list[ALMA] = []

    def open_it(folder: str | Path = "store", **given: Any) -> ALMA:
        options: dict[str, Any] = {"project_id": "shop", "embedding_provider": "hash", "clock": clock, **given}
        opened.append(ALMA.open(tmp_path / folder, **{**stored_in(tmp_path / folder), **options}))
        return opened[-1]

    yield open_it
    for alma in opened:
        alma.close()


@pytest.fixture
def alma(open_store: OpenStore, tmp_path: Path, stored_in: StoredIn, empty_database: Path) -> ALMA:
    """An empty store without rules for any agent."""
    folder = tmp_path / "store"
    if not stored_in(folder) and not folder.exists():
        folder.mkdir(mode=0o700)
        shutil.copy(empty_database, folder)
    return open_store()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On another store than SQLite, leaves out the tests that open none or name their own, and those marked `not_on` it."""
    store = config.getoption("--store")
    if store == "sqlite":
        return
    run = [item for item in items if _is_for(item, store)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(run)])
    items[:] = run


def _is_for(item: pytest.Item, store: str) -> bool:
    return "stored_in" in getattr(item, "fixturenames", ()) and not any(
        store in mark.args for mark in item.iter_markers("not_on")
    )


@pytest.fixture(autouse=True)
def closed_at_the_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that leaves a store open leaves connections of the server, which has a fixed number of them for all tests."""
    if request.config.getoption("--store") != "postgres":
        yield
        return
    from alma_postgres import connections

    before = {*connections._SHARED}
    yield
    left = {*connections._SHARED} - before
    assert not left, "the test left a store open"
