"""LangGraph's `SqliteStore` with its index of vectors, in one file."""

import sqlite3
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.hashed import DIMENSION, HashedTexts
from benchmarks.peer.texts import FOUND, OwnTexts, said

NAMESPACE = ("benchmark", "dev")


class LangGraph:
    """A store that embeds the field `task` of each item."""

    def __init__(self, folder: Path) -> None:
        self.embedder = OwnTexts(HashedTexts())
        connection = sqlite3.connect(folder / "store.db", check_same_thread=False, isolation_level=None)
        index = {"dims": DIMENSION, "embed": self._vectors, "fields": ["task"]}
        self._store = import_module("langgraph.store.sqlite").SqliteStore(connection, index=index)
        self._store.setup()
        self._count = 0

    def learn(self, task: str, strategy: str, succeeded: bool) -> None:
        self._count += 1
        self._store.put(NAMESPACE, str(self._count), {"task": task, "text": said(task, strategy, succeeded)})

    def retrieve(self, query: str) -> int:
        return len(self._store.search(NAMESPACE, query=query, limit=FOUND))

    def _vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return self.embedder.vectors(texts)
