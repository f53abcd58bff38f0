"""Stores in folders of their own; see `store_fixtures`."""

from store_fixtures import stored_in

__all__ = ["stored_in"]
