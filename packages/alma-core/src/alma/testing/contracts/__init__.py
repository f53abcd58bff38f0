"""What every backend promises, as classes that the backend's tests inherit. A class defines the fixture that its contract names."""

from alma.testing.contracts.embedder import EmbedderContract
from alma.testing.contracts.portable import PortableContract
from alma.testing.contracts.reembedding import ReembeddableContract
from alma.testing.contracts.store import StoreContract
from alma.testing.contracts.text_scores import TextScoresContract
from alma.testing.contracts.vector_index import VectorIndexContract

__all__ = [
    "EmbedderContract",
    "PortableContract",
    "ReembeddableContract",
    "StoreContract",
    "TextScoresContract",
    "VectorIndexContract",
]
