"""Entities and dated relations of what memories speak of: `alma.graph` forwards its names."""

from alma_graph.types import Entity, GraphQuery, GraphResult, Relationship

__all__ = ["Entity", "GraphQuery", "GraphResult", "Relationship"]
