"""Compression: texts and memories in few words, as views that name their sources and go with them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_knowledge.compression.compressor import MemoryCompressor, create_compressor
    from alma_knowledge.compression.results import (
        CompressedMemory,
        CompressionConfig,
        CompressionLevel,
        CompressionResult,
        CompressionStrategy,
        CompressReport,
        Summary,
    )
    from alma_knowledge.compression.summaries import read_summaries

_HOMES = {**dict.fromkeys(("MemoryCompressor", "create_compressor"), "compressor"), "read_summaries": "summaries"}

__all__ = [
    "CompressReport",
    "CompressedMemory",
    "CompressionConfig",
    "CompressionLevel",
    "CompressionResult",
    "CompressionStrategy",
    "MemoryCompressor",
    "Summary",
    "create_compressor",
    "read_summaries",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'alma_knowledge.compression' has no attribute {name!r}")
    home = _HOMES.get(name, "results")
    value = globals()[name] = getattr(import_module(f"alma_knowledge.compression.{home}"), name)
    return value
