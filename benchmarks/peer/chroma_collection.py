"""A collection of Chroma in a folder, asked bare: vectors in, documents out, nothing scored beside the cosine."""

import os
from importlib import import_module
from pathlib import Path

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
        self._count += 1
        text = said(task, strategy, succeeded)
        self._collection.add(ids=[str(self._count)], embeddings=self.embedder.vectors([task]), documents=[text])

    def retrieve(self, query: str) -> int:
        found = self._collection.query(query_embeddings=self.embedder.vectors([query]), n_results=FOUND)
        return len(found["ids"][0])
