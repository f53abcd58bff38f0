"""Stores in folders of their own; see `store_fixtures`. `--store=…` runs the tests that get a store from these fixtures on another kind of store."""

from store_fixtures import *  # noqa: F403
