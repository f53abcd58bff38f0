"""Graph databases: one contract, several backends."""

from alma_graph.backends.backend import EntityFilter, GraphBackend, KeepsPosition, RelationshipFilter
from alma_graph.backends.cypher import CypherBackend
from alma_graph.backends.making import create_graph_backend
from alma_graph.backends.sqlite import SQLiteGraphBackend

__all__ = [
    "CypherBackend",
    "EntityFilter",
    "GraphBackend",
    "KeepsPosition",
    "RelationshipFilter",
    "SQLiteGraphBackend",
    "create_graph_backend",
]
