"""Shared parts of the store contracts: storing memories in a project, and inspecting its content."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alma.journal import State, replay, rows_hash
from alma.protocols import CommonWords, Project, Store, TextScores
from alma.retrieval import fusion
from alma.types.identity import to_micros
from alma.types.memories import Memory, Passage, embedded, passages_of
from alma_testing.clocks import START

OpenStore = Callable[[Path], Store]

AT = to_micros(START)
DAY = 86_400_000_000


class WithStore:
    """Fixtures of the contracts of a store."""

    @pytest.fixture
    def store(self, open_store: OpenStore, tmp_path: Path) -> Iterator[Store]:
        """An empty store."""
        opened = open_store(tmp_path / "store")
        yield opened
        opened.close()

    @pytest.fixture
    def again(self, store: Store, open_store: OpenStore, tmp_path: Path) -> Iterator[Store]:
        """The same store, opened a second time, as another process would."""
        opened = open_store(tmp_path / "store")
        yield opened
        opened.close()

    @pytest.fixture
    def project(self, store: Store) -> Project:
        """A project of it that was never written to."""
        return store.project("shop")


def vector_of(text: str, dimension: int) -> bytes:
    """Returns a float16 unit vector that is derived from the text."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype("<f2").tobytes()


def vectors_for(store: Store, passages: Sequence[Passage]) -> dict[str, bytes]:
    """Returns the vectors of the passages that are embedded."""
    return {passage.text: vector_of(passage.text, store.fingerprint.dimension) for passage in embedded(passages)}


def add(
    store: Store, project: Project, *memories: Memory, passages: Sequence[Passage] = (), at: int = AT, operation: str = "learn"
) -> int:
    """Stores memories in one write, and returns its `seq`."""
    with project.write(actor="agent", operation=operation, at=at) as write:
        for memory in memories:
            chosen = passages or passages_of(memory)
            write.add(memory, chosen, vectors_for(store, chosen))
        return write.seq


def contents(project: Project) -> str:
    """Returns a hash of the project's content. A row that cannot be read changes it."""
    return rows_hash((stored.table, stored.key, stored.row or {"fault": stored.fault}) for stored in project.rows())


def rows_of(project: Project) -> State:
    """Returns the logical rows by table and key."""
    return {(stored.table, stored.key): stored.row or {"fault": stored.fault} for stored in project.rows()}


def replayed(project: Project) -> State:
    """Returns the logical rows by replaying the journal."""
    state: State = {}
    for entry in project.entries():
        replay(entry.changes, state)
    return state


def row_of(project: Project, memory: Memory) -> int:
    """Returns the row number of a memory."""
    places = project.find([memory.id])
    assert memory.id in places, f"{memory.id} is not there"
    return places[memory.id].memory


def record(project: Project, kind: str, key: str) -> tuple[int, dict[str, Any]]:
    """Returns version and body of one small record."""
    return project.record(kind, [key])[key]


def stored_memories(project: Project, memories: Iterable[Memory]) -> list[object]:
    """Returns the memories as the project reads them."""
    rows = [row_of(project, memory) for memory in memories]
    found = project.memories(rows)
    return [found[row] for row in rows]


def text_scores(
    project: Project, *words: str, owners: Collection[str] | None = None, common: CommonWords = fusion.COMMON
) -> TextScores:
    """Returns the results of full text in all partitions, or in those of some owners."""
    partitions = [number for number, each in project.partitions().items() if owners is None or each.owner in owners]
    return fusion.score_words(project.text_lists(words, partitions=partitions, common=common))


def found_by_words(project: Project, *words: str) -> set[int]:
    """Returns the memories that full text finds."""
    return set(text_scores(project, *words).memories.tolist())
