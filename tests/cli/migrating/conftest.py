"""Stores as tests of the façade have them, also with `--store=…`."""

from store_fixtures import alma, clock, empty_database, new_place, open_store, place, stored_in

__all__ = ["alma", "clock", "empty_database", "new_place", "open_store", "place", "stored_in"]
