"""Models that turn texts into vectors. Nothing heavy is imported until an embedder that needs it is made."""

from typing import TYPE_CHECKING, Any

from alma.embedding.hashing import HashEmbedder
from alma.embedding.registry import create_embedder, embedder_for, embedder_names, minilm_is_installed

if TYPE_CHECKING:
    from alma.embedding.minilm import MiniLMEmbedder

__all__ = ["HashEmbedder", "MiniLMEmbedder", "create_embedder", "embedder_for", "embedder_names", "minilm_is_installed"]


def __getattr__(name: str) -> Any:
    if name != "MiniLMEmbedder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from alma.embedding.minilm import MiniLMEmbedder

    return MiniLMEmbedder
