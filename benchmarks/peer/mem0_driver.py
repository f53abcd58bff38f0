"""Runs in an environment with mem0ai and psycopg: takes one call a line as JSON, answers with a line. Its memories are in pgvector.

mem0 is used as it can be without an LLM (`infer=False`), with the benchmark's hashed words in place of its embedder: a call embeds in some tens
of microseconds, as ours does.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.hashed import DIMENSION, HashedTexts

USER = "helena"


class Embedder:
    """`HashedTexts` as mem0 takes an embedder."""

    def __init__(self) -> None:
        self.texts = HashedTexts()

    def embed(self, text: str, *_: object, **__: object) -> list[float]:
        row: list[float] = self.texts.rows([text])[0].tolist()
        return row

    def embed_batch(self, texts: list[str], *_: object, **__: object) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def configured(vector_store: dict[str, Any], folder: Path) -> Any:
    """Returns mem0's `Memory` over a database, with whatever else it keeps in a folder. It never reaches the LLM that it names."""
    os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="none", MEM0_DIR=str(folder))
    config = {"vector_store": vector_store, "history_db_path": str(folder / "history.db")}
    return import_module("mem0").Memory.from_config(config)


def opened(url: str, collection: str, folder: Path) -> Any:
    place = {"connection_string": url, "collection_name": collection, "embedding_model_dims": DIMENSION, "hnsw": True}
    memory = configured({"provider": "pgvector", "config": place}, folder)
    memory.embedding_model = Embedder()
    return memory


def main(url: str, collection: str, folder: str) -> None:
    memory = opened(url, collection, Path(folder))
    print("ready", flush=True)
    for line in sys.stdin:
        call, text = json.loads(line)
        if call == "add":
            memory.add(text, user_id=USER, infer=False)
            print("1", flush=True)
        else:
            found = memory.search(text, filters={"user_id": USER}, top_k=10)
            print(len(found["results"]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
