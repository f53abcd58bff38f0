"""Searches vectors in Azure Cosmos DB. `storage: azure` in a configuration keeps records in SQLite and searches here."""

from alma_azure.search import CosmosSearch as CosmosSearch
from alma_azure.search import open_search as open_search

__all__ = ["CosmosSearch", "open_search"]
