"""Contracts of backends, as classes that a backend's tests inherit. Such a class defines the fixture that its contract names."""

from alma_testing.contracts.candidate_search import CandidateSearchContract
from alma_testing.contracts.embedder import EmbedderContract
from alma_testing.contracts.file_store import FileStoreContract
from alma_testing.contracts.integration import IntegrationContract
from alma_testing.contracts.portable import PortableContract
from alma_testing.contracts.reembedding import ReembeddableContract
from alma_testing.contracts.store import StoreContract
from alma_testing.contracts.text_scores import TextScoresContract
from alma_testing.contracts.vector_index import VectorIndexContract

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
