"""Stores in folders of their own; see `store_fixtures`. `--store=…` runs the tests that get a store from these fixtures on another kind of store."""

from collections.abc import Iterator

import pytest

from store_fixtures import alma, clock, empty_database, new_place, open_store, place, stored_in

__all__ = ["alma", "clock", "empty_database", "new_place", "open_store", "place", "stored_in"]


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
def _closed_at_the_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that leaves a store open leaves connections of the server, which has a fixed number of them for all tests."""
    if request.config.getoption("--store") != "postgres":
        yield
        return
    from alma_postgres import connections

    before = {*connections._SHARED}
    yield
    left = {*connections._SHARED} - before
    assert not left, "the test left a store open"
