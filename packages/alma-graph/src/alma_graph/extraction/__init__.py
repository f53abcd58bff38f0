"""Extraction of entities and relations from texts."""

from alma_graph.extraction.extractor import EntityExtractor, ExtractionConfig

__all__ = ["EntityExtractor", "ExtractionConfig"]
