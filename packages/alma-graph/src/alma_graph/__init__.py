"""Entities and dated relations of what memories speak of: `alma.graph` forwards its names."""

from alma_graph.backends import GraphBackend, create_graph_backend
from alma_graph.extraction import EntityExtractor, ExtractionConfig
from alma_graph.graph import Graph
from alma_graph.profile import Profile
from alma_graph.projection import GraphProjection, GraphSource
from alma_graph.self_model import MemoryAnswer, SelfModel
from alma_graph.source import ALMAGraphSource
from alma_graph.stores import BackendGraphStore, InMemoryGraphStore, Neo4jGraphStore, create_graph_store
from alma_graph.types import Entity, GraphQuery, GraphResult, Relationship

__all__ = [
    "ALMAGraphSource",
    "BackendGraphStore",
    "Entity",
    "EntityExtractor",
    "ExtractionConfig",
    "Graph",
    "GraphBackend",
    "GraphProjection",
    "GraphQuery",
    "GraphResult",
    "GraphSource",
    "InMemoryGraphStore",
    "MemoryAnswer",
    "Neo4jGraphStore",
    "Profile",
    "Relationship",
    "SelfModel",
    "create_graph_backend",
    "create_graph_store",
]
