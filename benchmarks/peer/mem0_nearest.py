"""Runs in an environment with mem0ai: keeps what worked in mem0 without an LLM, and names what worked on the nearest task. One call a line, as JSON.

`{"learn": [task, strategy, vector]}` stores a task that succeeded with its strategy; `{"nearest": [task, vector]}` answers with the strategy of
the best memory found and its score, or with null. Vectors come from the other process: those of the model that all policies use.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.peer.mem0_driver import USER, configured


class GivenVectors:
    """Answers mem0, which asks for the vector of a text, with the vector that came with the call."""

    def __init__(self) -> None:
        self.vector: list[float] = []

    def embed(self, *_: object, **__: object) -> list[float]:
        return self.vector

    def embed_batch(self, texts: list[str], *_: object, **__: object) -> list[list[float]]:
        return [self.vector for _ in texts]


def main(folder: str, dimension: str) -> None:
    """Serves until standard input ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr
    place = {"path": str(Path(folder, "qdrant")), "collection_name": "worked", "embedding_model_dims": int(dimension)}
    memory, vectors = configured({"provider": "qdrant", "config": place}, Path(folder)), GivenVectors()
    memory.embedding_model = vectors
    print(json.dumps("ready"), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(answered(memory, vectors, json.loads(line))), file=replies, flush=True)


def answered(memory: Any, vectors: GivenVectors, asked: dict[str, list[Any]]) -> object:
    """Does one call."""
    if "learn" in asked:
        task, strategy, vectors.vector = asked["learn"]
        memory.add(task, user_id=USER, metadata={"strategy": strategy}, infer=False)
        return None
    task, vectors.vector = asked["nearest"]
    found = memory.search(task, filters={"user_id": USER}, top_k=1)["results"]
    return [found[0]["metadata"]["strategy"], found[0]["score"]] if found else None


if __name__ == "__main__":
    main(*sys.argv[1:])
