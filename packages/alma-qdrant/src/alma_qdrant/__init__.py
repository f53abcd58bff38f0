"""Searches vectors in Qdrant. `storage: qdrant` in a configuration keeps records in SQLite and searches here."""

from alma_qdrant.search import QdrantSearch as QdrantSearch
from alma_qdrant.search import open_search as open_search

__all__ = ["QdrantSearch", "open_search"]
