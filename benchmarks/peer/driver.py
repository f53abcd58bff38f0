"""Runs in the reference's environment: takes blocks of calls as JSON lines, answers with milliseconds, embedding left out.

The reference's documented `from_config` stores no vectors and so never returns anything; what works is the wiring of its `quickstart`, done here
with the benchmark's embedder in place of its model. Its query cache is off, and so is its guard that refuses to record further failures.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.hashed import DIMENSION, HashedTexts

PROJECT = "benchmark"
AGENT = "dev"


class Embedder:
    """`HashedTexts` as the reference takes an embedder."""

    dimension = DIMENSION

    def __init__(self) -> None:
        self.texts = HashedTexts()

    def encode(self, text: str) -> list[float]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.texts.rows(texts).tolist()
        return vectors


class Reference:
    """The reference over SQLite in one folder."""

    def __init__(self, folder: Path) -> None:
        os.environ["ALMA_ANTI_PATTERN_WRITE_GUARD"] = "0"
        make_storage = _of("alma.storage.sqlite_local", "SQLiteStorage").from_config
        make_engine = _of("alma.retrieval.engine", "RetrievalEngine")
        make_learning = _of("alma.learning.protocols", "LearningProtocol")
        self.embedder = Embedder()
        storage = make_storage({"storage_dir": str(folder), "db_name": "alma.db", "embedding_dim": DIMENSION})
        engine = make_engine(storage=storage, enable_cache=False)
        engine._embedder = self.embedder
        self._alma = _of("alma", "ALMA")(
            storage=storage,
            retrieval_engine=engine,
            learning_protocol=make_learning(storage=storage, scopes={}, embedder=self.embedder),
            scopes={},
            project_id=PROJECT,
        )

    def learn(self, task: str, strategy: str, succeeded: bool) -> None:
        self._alma.learn(agent=AGENT, task=task, outcome="success" if succeeded else "failure", strategy_used=strategy)

    def retrieve(self, query: str) -> int:
        return int(self._alma.retrieve(task=query, agent=AGENT).total_items)


def _of(module: str, name: str) -> Any:
    """A name of the reference, whose modules bear the same names as ALMA's and are another thing."""
    return getattr(import_module(module), name)


def answer(reference: Reference, request: dict[str, Any]) -> dict[str, Any]:
    """The times of a block of `learn` or `retrieve`, how much was found, and how often the embedder was called."""
    texts = reference.embedder.texts
    times, found, calls = [], 0, texts.calls
    for item in request["items"]:
        embedding, start = texts.seconds, perf_counter()
        if request["do"] == "learn":
            reference.learn(*item)
        else:
            found += reference.retrieve(item)
        times.append(1e3 * (perf_counter() - start - (texts.seconds - embedding)))
    return {"ms": times, "found": found, "encodes": texts.calls - calls}


def main() -> None:
    """Serves until standard input ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr
    reference = Reference(Path(sys.argv[1]))
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(reference, json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
