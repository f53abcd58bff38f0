"""Models that turn texts into vectors. Heavy libraries are imported only when an embedder that needs them is created."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from alma.embedding.hashing import HashEmbedder
from alma.embedding.registry import (
    MINILM_EMBEDDER,
    NO_OPTIONS,
    Options,
    create_embedder,
    embedder_for,
    embedder_names,
    minilm_is_installed,
)
from alma.extensions import extension

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
    "AzureOpenAIEmbedder": "openai",
    "OpenAIEmbedder": "openai",
    "SentenceTransformersEmbedder": "sentence_transformer",
}


def __getattr__(name: str) -> Any:
    if name == "MiniLMEmbedder":
        return extension(MINILM_EMBEDDER, "local", "The minilm embedder needs alma_minilm, which is").MiniLMEmbedder
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"alma.embedding.{_HOMES[name]}"), name)
