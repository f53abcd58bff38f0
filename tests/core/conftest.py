"""Stores in folders of their own; see `store_fixtures`. `--store=…` runs the tests that get a store from these fixtures on another kind of store."""

from store_fixtures import (
    alma,
    clock,
    closed_at_the_end,
    empty_database,
    new_place,
    open_store,
    place,
    pytest_collection_modifyitems,
    stored_in,
)

__all__ = [
    "alma",
    "clock",
    "closed_at_the_end",
    "empty_database",
    "new_place",
    "open_store",
    "place",
    "pytest_collection_modifyitems",
    "stored_in",
]
