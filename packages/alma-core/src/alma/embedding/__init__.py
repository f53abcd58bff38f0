"""Models that turn texts into vectors. Heavy libraries are imported only when an embedder that needs them is created."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alma.embedding.hashing import HashEmbedder
from alma.embedding.registry import NO_OPTIONS, Options, create_embedder, embedder_for, embedder_names, minilm_is_installed

if TYPE_CHECKING:
    from alma.embedding.openai import AzureOpenAIEmbedder, OpenAIEmbedder
    from alma.embedding.sentence_transformer import SentenceTransformersEmbedder
    from alma_minilm.embedder import MiniLMEmbedder

__all__ = [
    "NO_OPTIONS",
    "AzureOpenAIEmbedder",
    "HashEmbedder",
    "MiniLMEmbedder",
    "OpenAIEmbedder",
    "Options",
    "SentenceTransformersEmbedder",
    "create_embedder",
    "embedder_for",
    "embedder_names",
    "minilm_is_installed",
]

_HOMES = {
    "AzureOpenAIEmbedder": "alma.embedding.openai",
    "MiniLMEmbedder": "alma_minilm.embedder",
    "OpenAIEmbedder": "alma.embedding.openai",
    "SentenceTransformersEmbedder": "alma.embedding.sentence_transformer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
