"""alma-memory 0.11 over SQLite.

Its documented `from_config` stores no vectors and so never returns anything; what works is the wiring of its `quickstart`, done here with the
benchmark's embedder in place of its model. Its query cache is off, and so is its guard that refuses to record further failures.
"""

import os
from importlib import import_module
from pathlib import Path
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
