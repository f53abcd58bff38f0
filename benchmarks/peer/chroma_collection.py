"""A collection of Chroma in a folder, asked bare: vectors in, documents out, nothing scored beside the cosine."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.hashed import HashedTexts
from benchmarks.peer.texts import FOUND, OwnTexts, said


class Chroma:
    """Chroma's client that keeps its data in files, with vectors given to it."""

    def __init__(self, folder: Path) -> None:
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        chromadb = import_module("chromadb")
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self.embedder = OwnTexts(HashedTexts())
        self._collection = client.create_collection(
            "benchmark", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        self._count = 0

    def learn(self, task: str, strategy: str, succeeded: bool) -> None:
        self.fill([(task, strategy, succeeded)])

    def fill(self, items: Sequence[Sequence[Any]]) -> None:
        """Stores many in one call."""
        ids = [str(self._count + number) for number in range(len(items))]
        self._count += len(items)
        documents, vectors = [said(*item) for item in items], self.embedder.vectors([item[0] for item in items])
        self._collection.add(ids=ids, embeddings=vectors, documents=documents)

    def retrieve(self, query: str) -> int:
        found = self._collection.query(query_embeddings=self.embedder.vectors([query]), n_results=FOUND)
        return len(found["ids"][0])
