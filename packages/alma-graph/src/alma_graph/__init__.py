"""Entities and dated relations of what memories speak of: `alma.graph` forwards its names."""

from alma_graph.extraction import EntityExtractor, ExtractionConfig
from alma_graph.graph import Graph
from alma_graph.profile import Profile
from alma_graph.self_model import MemoryAnswer, SelfModel
from alma_graph.types import Entity, GraphQuery, GraphResult, Relationship

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
