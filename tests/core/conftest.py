"""Stores in folders of their own; see `store_fixtures`."""

from store_fixtures import alma, clock, open_store

__all__ = ["alma", "clock", "open_store"]
