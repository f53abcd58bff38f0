"""Contracts of backends, as classes that a backend's tests inherit. Such a class defines the fixture that its contract names."""

from alma.testing.contracts.candidate_search import CandidateSearchContract
from alma.testing.contracts.embedder import EmbedderContract
from alma.testing.contracts.file_store import FileStoreContract
from alma.testing.contracts.integration import IntegrationContract
from alma.testing.contracts.portable import PortableContract
from alma.testing.contracts.reembedding import ReembeddableContract
from alma.testing.contracts.store import StoreContract
from alma.testing.contracts.text_scores import TextScoresContract
from alma.testing.contracts.vector_index import VectorIndexContract

__all__ = [
    "CandidateSearchContract",
    "EmbedderContract",
    "FileStoreContract",
    "IntegrationContract",
    "PortableContract",
    "ReembeddableContract",
    "StoreContract",
    "TextScoresContract",
    "VectorIndexContract",
]
