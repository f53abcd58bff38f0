"""Retrieval with a search of vectors outside of the process finds what the index inside finds."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import alma.memory.opening as opening
from alma import ALMA
from alma.errors import StorageError
from alma.memory.room import SearchSizes
from alma.protocols import VectorChanges, VectorsRequest
from in_process_search import InProcessSearch

TASKS = [
    f"{verb} the {thing} of {place}"
    for verb in ("Deploy", "Test", "Repair")
    for thing in ("service", "form", "bridge")
    for place in ("Oslo", "Lima", "Quito", "Accra")
]


class Switched(InProcessSearch):
    """A search that can be away."""

    is_away = False
    made: ClassVar[list["Switched"]] = []

    def __init__(self, request: VectorsRequest) -> None:
        super().__init__(request)
        Switched.made.append(self)

    @property
    def upto(self) -> int:
        if self.is_away:
            raise StorageError("it is away")
        return super().upto

    def apply(self, changes: VectorChanges, /) -> None:
        if self.is_away:
            raise StorageError("it is away")
        super().apply(changes)


@pytest.fixture(params=[5, 20_000], ids=["beside", "one scan"])
def outside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Switched]:
    Switched.made = []
    monkeypatch.setattr(opening, "candidates_named", lambda name: Switched if name == "outside" else None)
    monkeypatch.setattr("alma.vectors.composed.RETRY_SECONDS", 0.0)
    # so that even a few memories are searched as a large scope
    monkeypatch.setattr(opening, "SearchSizes", lambda: SearchSizes(all_up_to=5, sample=8, hits=10, beside_above=request.param))
    return lambda: Switched.made[-1]


def opened(folder: Path, storage: str = "outside") -> ALMA:
    return ALMA.open(folder, project_id="shop", embedding_provider="hash", storage=storage)


def scores(alma: ALMA) -> list[tuple[str, float]]:
    found = alma.retrieve("Repair the bridge of Lima", "helena", top_k=8)
    return [(item.memory.text, round(item.score, 9)) for item in found.recalled]


def test_it_finds_what_the_index_inside_finds(tmp_path: Path, outside: Callable[[], Switched]) -> None:
    with opened(tmp_path) as alma:
        for task in TASKS:
            alma.learn(agent="helena", task=task, outcome="success", strategy_used=f"carefully {task}")
        beside = scores(alma)
        assert outside().upto > 0
    with opened(tmp_path, "sqlite") as alma:
        assert [text for text, _ in scores(alma)] == [text for text, _ in beside]


def test_while_it_is_away_nothing_is_lost_and_it_catches_up(
    tmp_path: Path, outside: Callable[[], Switched], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="alma")
    with opened(tmp_path) as alma:
        alma.learn(agent="helena", task="Repair the bridge of Lima", outcome="success", strategy_used="rivets")
        assert scores(alma)
        behind = outside().upto
        outside().is_away = True
        alma.learn(agent="helena", task="Repair the bridge of Quito", outcome="success", strategy_used="bolts")
        assert len(scores(alma)) == len(scores(alma)) >= 2
        assert len([record for record in caplog.records if "does not answer" in record.message]) == 1
        outside().is_away = False
        assert len(scores(alma)) >= 2
        assert outside().upto > behind


def test_what_is_archived_is_gone_there(tmp_path: Path, outside: Callable[[], Switched]) -> None:
    with opened(tmp_path) as alma:
        fact = alma.add_domain_knowledge(agent="helena", domain="bridges", fact="The bridge of Lima has rivets")
        alma.retrieve("rivets", "helena")
        assert len(found(outside())) == 1
        alma.forget(memory_ids=[fact.id])
        alma.retrieve("rivets", "helena")
        assert len(found(outside())) == 0


def found(search: Switched) -> NDArray[np.int64]:
    return search.search(np.ones(384, dtype=np.float32), partitions=range(100), limit=100)


@pytest.mark.skipif(sys.platform == "win32", reason="locks files by flock")
def test_while_another_process_catches_up_all_vectors_are_compared(
    tmp_path: Path, outside: Callable[[], Switched], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr("alma.memory.index_cache.WAIT_SECONDS", 0.0)
    caplog.set_level(logging.WARNING, logger="alma")
    with opened(tmp_path) as alma:
        alma.learn(agent="helena", task="Repair the bridge of Lima", outcome="success", strategy_used="rivets")
        before = scores(alma)
        (path,) = tmp_path.glob("*.catching-up")
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            alma.learn(agent="helena", task="Repair the bridge of Quito", outcome="success", strategy_used="bolts")
            assert len(scores(alma)) > len(before)
            behind = outside().upto
        assert len(scores(alma)) > len(before)
        assert outside().upto > behind
    assert len([record for record in caplog.records if "another process is filling it" in record.getMessage()]) == 1
