"""Readers of databases that other programs wrote."""

from alma_cli.migrating.importing import import_alma_memory

__all__ = ["import_alma_memory"]
