"""mem0 without an LLM (`infer=False`), with its default database, Qdrant, in a folder."""

from pathlib import Path

from benchmarks.hashed import DIMENSION
from benchmarks.peer.mem0_driver import USER, Embedder, configured
from benchmarks.peer.texts import FOUND, said


class Mem0:
    """mem0's `Memory` with the benchmark's vectors in place of its embedder."""

    def __init__(self, folder: Path) -> None:
        place = {
            "path": str(folder / "qdrant"),
            "collection_name": "benchmark",
            "embedding_model_dims": DIMENSION,
            "on_disk": True,
        }
        self.embedder = Embedder()
        self._memory = configured({"provider": "qdrant", "config": place}, folder)
        self._memory.embedding_model = self.embedder

    def learn(self, task: str, strategy: str, succeeded: bool) -> None:
        self._memory.add(said(task, strategy, succeeded), user_id=USER, infer=False)

    def retrieve(self, query: str) -> int:
        return len(self._memory.search(query, filters={"user_id": USER}, top_k=FOUND)["results"])
