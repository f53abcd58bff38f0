"""Searches vectors in Pinecone. `storage: pinecone` in a configuration keeps records in SQLite and searches here."""

from alma_pinecone.search import PineconeSearch as PineconeSearch
from alma_pinecone.search import open_search as open_search

__all__ = ["PineconeSearch", "open_search"]
