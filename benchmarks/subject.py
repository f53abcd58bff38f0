"""ALMA as a subject of measurement: blocks of calls in, milliseconds of each call out, embedding left out."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from benchmarks.hashed import DIMENSION, HashedTexts
from benchmarks.texts import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alma import ALMA
    from alma.types.identity import Fingerprint

Item = TypeVar("Item")
Result = TypeVar("Result")

PROJECT = "benchmark"
AGENT = "dev"
BATCH = 2_000


class Subject(Protocol):
    """A memory that is measured. Each call takes a block and gives the milliseconds of each of its operations."""

    @property
    def encodes(self) -> int: ...

    def learn(self, tasks: Sequence[Task]) -> list[float]: ...

    def retrieve(self, queries: Sequence[str]) -> list[float]: ...


class HashedEmbedder:
    """`HashedTexts` as ALMA takes an embedder."""

    def __init__(self) -> None:
        from alma.types.identity import Fingerprint

        self.texts = HashedTexts()
        self._fingerprint = Fingerprint(
            model="benchmark-hash", revision="1", dimension=DIMENSION, precision="float32", token_limit=0, preparation="none"
        )

    @property
    def fingerprint(self) -> "Fingerprint":
        return self._fingerprint

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        return self.texts.rows(texts)


class AlmaSubject:
    """One store of ALMA in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        from alma import ALMA

        self.folder = folder
        self._embedder = HashedEmbedder()
        self._alma = ALMA.open(folder, project_id=PROJECT, embedding_provider=self._embedder)

    @property
    def alma(self) -> "ALMA":
        """The store itself."""
        return self._alma

    @property
    def embedding_seconds(self) -> float:
        """What making vectors took so far."""
        return self._embedder.texts.seconds

    def learn(self, tasks: Sequence[Task]) -> list[float]:
        """Durable, one call a task."""
        return [self.timed(partial(self._alma.learn, **_arguments(task)))[0] for task in tasks]

    def retrieve(self, queries: Sequence[str]) -> list[float]:
        """One call a query. Several of which none finds anything are a fault of the benchmark and an error."""
        answers = [self.timed(partial(self._alma.retrieve, task=query, agent=AGENT)) for query in queries]
        if len(queries) > 1 and not any(answer.total_items for _, answer in answers):
            raise RuntimeError(f"none of {len(queries)} retrievals found anything")
        return [milliseconds for milliseconds, _ in answers]

    def fill(self, tasks: Sequence[Task], advance: Callable[[int], object]) -> float:
        """Learns all tasks by `learn_many`, a few thousand a call; gives the seconds."""
        return self._filled(tasks, lambda batch: self._alma.learn_many([_arguments(task) for task in batch]), advance)

    def fill_facts(self, texts: Sequence[str], advance: Callable[[int], object]) -> float:
        """Adds texts as facts by `add_many`; gives the seconds."""
        from alma import DomainKnowledge

        def add(batch: Sequence[str]) -> object:
            return self._alma.add_many([DomainKnowledge(agent=AGENT, domain="notes", fact=text) for text in batch])

        return self._filled(texts, add, advance)

    @property
    def encodes(self) -> int:
        """How often the embedder was called."""
        return self._embedder.texts.calls

    def close(self) -> None:
        """Closes the store, which keeps its vector index."""
        self._alma.close()

    def _filled(
        self, items: Sequence[Item], store: Callable[[Sequence[Item]], object], advance: Callable[[int], object]
    ) -> float:
        seconds = 0.0
        for start in range(0, len(items), BATCH):
            batch = items[start : start + BATCH]
            seconds += self.timed(partial(store, batch))[0] / 1e3
            advance(len(batch))
        return seconds

    def timed(self, call: Callable[[], Result]) -> tuple[float, Result]:
        """The milliseconds that a call took besides embedding, and what it gave."""
        embedding = self._embedder.texts.seconds
        start = perf_counter()
        result = call()
        return 1e3 * (perf_counter() - start - (self._embedder.texts.seconds - embedding)), result


def _arguments(task: Task) -> dict[str, Any]:
    return {"agent": AGENT, "task": task.task, "outcome": task.succeeded, "strategy_used": task.strategy}
