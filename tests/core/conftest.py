"""Stores in folders of their own; see `store_fixtures`."""

from store_fixtures import alma, clock, empty_database, open_store, stored_in

__all__ = ["alma", "clock", "empty_database", "open_store", "stored_in"]
