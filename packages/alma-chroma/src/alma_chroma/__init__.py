"""Searches vectors in Chroma. `storage: chroma` in a configuration keeps records in SQLite and searches here."""

from alma_chroma.search import ChromaSearch as ChromaSearch
from alma_chroma.search import open_search as open_search

__all__ = ["ChromaSearch", "open_search"]
