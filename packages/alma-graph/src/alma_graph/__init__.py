"""Entities and dated relations of what memories speak of: `alma.graph` forwards its names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_graph.backends import GraphBackend, create_graph_backend
    from alma_graph.extraction import EntityExtractor, ExtractionConfig
    from alma_graph.graph import Graph
    from alma_graph.profile import Profile
    from alma_graph.projection import GraphProjection, GraphSource
    from alma_graph.self_model import MemoryAnswer, SelfModel
    from alma_graph.source import ALMAGraphSource
    from alma_graph.stores import BackendGraphStore, InMemoryGraphStore, Neo4jGraphStore, create_graph_store
    from alma_graph.types import Entity, GraphQuery, GraphResult, Relationship

_HOMES = {
    "ALMAGraphSource": "source",
    "BackendGraphStore": "stores",
    "Entity": "types",
    "EntityExtractor": "extraction",
    "ExtractionConfig": "extraction",
    "Graph": "graph",
    "GraphBackend": "backends",
    "GraphProjection": "projection",
    "GraphQuery": "types",
    "GraphResult": "types",
    "GraphSource": "projection",
    "InMemoryGraphStore": "stores",
    "MemoryAnswer": "self_model",
    "Neo4jGraphStore": "stores",
    "Profile": "profile",
    "Relationship": "types",
    "SelfModel": "self_model",
    "create_graph_backend": "backends",
    "create_graph_store": "stores",
}
"""The module of each name. None is loaded before it is used: the command line lists `alma graph` without the core."""

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'alma_graph' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"alma_graph.{_HOMES[name]}"), name)
    return value
