"""Projections: brought up step by step, or killed anywhere, a database has what a rebuild gives."""

import importlib.util
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import graph_histories
from alma.errors import StorageError, ValidationError
from alma_graph import Entity, GraphBackend, GraphProjection, create_graph_backend
from alma_graph.backends import KeepsPosition
from alma_testing.graph_contracts.samples import content_of
from graph_histories import History

NAMES = [
    "sqlite",
    pytest.param("ladybug", marks=pytest.mark.skipif(not importlib.util.find_spec("ladybug"), reason="Ladybug is not installed")),
]


class BrokenOffError(Exception):
    """Something breaks in the middle."""


class BreaksAfter:
    """A history of which the `calls`-th question fails."""

    def __init__(self, history: History, calls: int) -> None:
        self._history, self._left = history, calls

    @property
    def project_id(self) -> str:
        return self._history.project_id

    def touched(self, after: int) -> object:
        return self._history.touched(after)

    def entities(self, ids: object) -> object:
        self._count()
        return self._history.entities(ids)  # type: ignore[arg-type]  # passed on

    def relationships(self, ids: object) -> object:
        self._count()
        return self._history.relationships(ids)  # type: ignore[arg-type]  # passed on

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise BrokenOffError


def shop(backend: GraphBackend) -> GraphBackend:
    return backend.for_project("shop")


def position(backend: GraphBackend) -> int:
    kept = shop(backend)
    assert isinstance(kept, KeepsPosition)
    return kept.read_position()


@pytest.mark.parametrize("seed", range(5))
def test_step_by_step_gives_what_the_source_has(seed: int) -> None:
    backend, history = create_graph_backend("memory"), History(seed)
    projection = GraphProjection(backend)
    for _ in range(20):
        assert projection.catch_up(history.happen(17)).position == len(history.log)
    assert content_of(shop(backend)) == (history.people, history.links)
    assert projection.check(history).is_none


def test_a_projection_that_is_up_to_date_looks_at_nothing() -> None:
    backend, history = create_graph_backend("memory"), History(1).happen(50)
    projection = GraphProjection(backend)
    projection.catch_up(history)
    assert projection.catch_up(BreaksAfter(history, 0)).entities == 0  # type: ignore[arg-type]  # it passes everything on


def test_only_what_was_touched_is_looked_at() -> None:
    backend, history = create_graph_backend("memory"), History(1).happen(300)
    projection = GraphProjection(backend)
    projection.catch_up(history)
    history.happen(1)
    assert projection.catch_up(history).entities <= 3


@pytest.mark.parametrize("calls", range(12))
def test_broken_off_anywhere_it_goes_on_to_what_a_rebuild_gives(calls: int) -> None:
    backend, history = create_graph_backend("memory"), History(3)
    projection = GraphProjection(backend)
    projection.catch_up(history.happen(600))
    history.happen(1_500)
    try:
        projection.catch_up(BreaksAfter(history, calls))  # type: ignore[arg-type]  # it passes everything on
    except BrokenOffError:
        assert position(backend) == 600
    projection.catch_up(history)
    assert content_of(shop(backend)) == (history.people, history.links)


def test_a_rebuild_takes_away_what_does_not_belong_there() -> None:
    backend, history = create_graph_backend("memory"), History(1).happen(100)
    projection = GraphProjection(backend)
    projection.catch_up(history)
    shop(backend).write(
        [Entity("x", "Not of the source", "person"), replace(next(iter(history.people.values())), name="Changed")]
    )
    drift = projection.check(history)
    assert (drift.is_none, drift.found.entities - drift.expected.entities) == (False, 1)
    projection.rebuild(history)
    assert projection.check(history).is_none


def test_a_source_that_is_an_older_copy_is_projected_anew() -> None:
    backend = create_graph_backend("memory")
    projection = GraphProjection(backend)
    projection.catch_up(History(1).happen(200))
    older = History(1).happen(120)
    assert projection.catch_up(older).position == 120
    assert projection.check(older).is_none


def test_projects_in_one_database_are_apart() -> None:
    backend = create_graph_backend("memory")
    projection = GraphProjection(backend)
    one, other = History(1).happen(100), History(2, project_id="bank").happen(50)
    for each in (one, other):
        projection.catch_up(each)
    projection.rebuild(other)
    assert (projection.check(one).is_none, projection.check(other).is_none) == (True, True)
    assert (position(backend), backend.get_entities()) == (100, [])


def test_a_database_that_fails_keeps_the_position(tmp_path: Path) -> None:
    backend = create_graph_backend("sqlite", database_path=tmp_path / "graph.db")
    history = History(1).happen(40)
    GraphProjection(backend).catch_up(history)
    backend.close()
    with pytest.raises(StorageError):
        GraphProjection(backend).catch_up(history.happen(10))
    again = create_graph_backend("sqlite", database_path=tmp_path / "graph.db")
    assert position(again) == 40
    GraphProjection(again).catch_up(history)
    assert GraphProjection(again).check(history).is_none
    again.close()


def test_a_backend_that_keeps_no_position_is_refused() -> None:
    class Forgetful(GraphBackend):
        write = delete = select_entities = select_relationships = clear = close = None  # type: ignore[assignment]  # never called

    with pytest.raises(ValidationError, match="Forgetful"):
        GraphProjection(Forgetful())


@pytest.fixture
def projecting() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, graph_histories.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that can be killed at once are forks")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kills", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_catches_up_to_what_a_rebuild_gives(
    name: str, kills: int, tmp_path: Path, projecting: subprocess.Popen[str]
) -> None:
    chance, differing = random.Random(kills), []
    for seed in range(kills):
        file = tmp_path / f"graph-{seed}"
        kill_once(projecting, name, file, seed, chance.uniform(0, 0.3), is_begun=seed % 2 == 1)
        backend = create_graph_backend(name, database_path=file)
        history = History(seed).happen(position(backend) + 40)
        GraphProjection(backend).catch_up(history)
        rebuilt = create_graph_backend("memory")
        GraphProjection(rebuilt).rebuild(history)
        if content_of(shop(backend)) != content_of(shop(rebuilt)) or len(list(shop(backend).entities())) != len(history.people):
            differing.append(seed)
        backend.close()
    assert differing == []


def kill_once(process: subprocess.Popen[str], name: str, file: Path, seed: int, seconds: float, *, is_begun: bool) -> None:
    """Has a history projected into a file, for a while, or for a while after some was written, and kills who does it."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(name, file, seed, file=process.stdin, flush=True)
    child = int(process.stdout.readline())
    if is_begun:
        assert process.stdout.readline() == "written\n"
    select.select([], [], [], seconds)
    os.kill(child, signal.SIGKILL)
    assert any(line == "ended\n" for line in process.stdout)
