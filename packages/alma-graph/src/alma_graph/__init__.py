"""Entities and dated relations of what memories speak of: `alma.graph` forwards its names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_graph.extraction import EntityExtractor, ExtractionConfig
    from alma_graph.graph import Graph
    from alma_graph.profile import Profile
    from alma_graph.self_model import MemoryAnswer, SelfModel
    from alma_graph.types import Entity, GraphQuery, GraphResult, Relationship

_HOMES = {
    "Entity": "types",
    "EntityExtractor": "extraction",
    "ExtractionConfig": "extraction",
    "Graph": "graph",
    "GraphQuery": "types",
    "GraphResult": "types",
    "MemoryAnswer": "self_model",
    "Profile": "profile",
    "Relationship": "types",
    "SelfModel": "self_model",
}
"""The module of each name. None is loaded before it is used: the command line lists `alma graph` without the core."""

__all__ = [
    "Entity",
    "EntityExtractor",
    "ExtractionConfig",
    "Graph",
    "GraphQuery",
    "GraphResult",
    "MemoryAnswer",
    "Profile",
    "Relationship",
    "SelfModel",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'alma_graph' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"alma_graph.{_HOMES[name]}"), name)
    return value
