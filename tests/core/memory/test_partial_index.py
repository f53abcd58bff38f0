"""A process reads the vectors of the partitions that are asked for. What it answers is what it would if it had read all of them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA, StorageError
from alma.memory.index_cache import IndexCache
from alma.memory.opening import open_store
from alma.memory.room import Room
from alma.vectors import ProjectIndex, SnapshotIdentity
from facade import ManualClock

READERS = [("dev", None), ("ops", None), ("lead", None), ("dev", "ann"), ("new", None)]
WORDS = ("mail", "disk", "cart", "user", "form", "auth", "page")
QUESTION = "Fix the mail form on disk 3"


def _room(folder: Path, *, codes_above: int = 20_000) -> Room:
    store = open_store(
        folder,
        db_name="alma.db",
        embedder="hash",
        embedding_dim=32,
        agents={"lead": {"inherit_from": ["dev", "ops"]}, "ops": {"share_with": ["lead"]}},
        scoring=None,
        clock=ManualClock(),
    )
    project = store.storage.project("shop")
    identity = SnapshotIdentity(store.storage.id, "shop", store.storage.fingerprint)
    index = IndexCache(project, identity=identity, path=folder / "shop.index", codes_above=codes_above, wide_up_to=codes_above)
    return store.projects.setdefault("shop", Room(store, project, index))


def _opened(folder: Path, *, codes_above: int = 20_000) -> ALMA:
    return ALMA(_room(folder, codes_above=codes_above))


def _held(room: Room, partitions: Collection[int] | None = None) -> int:
    """How many passages the index holds, once it was asked for these partitions, or for all."""
    index = room.index.current(partitions)
    assert isinstance(index, ProjectIndex)
    return len(index)


def _partitions(room: Room, agent: str) -> Sequence[int]:
    """Those that an agent reads."""
    return room.scopes.readable(agent=agent, user_id=None).rows


def _fill(alma: ALMA, start: int, count: int) -> None:
    for number in range(start, start + count):
        agent, user = READERS[number % 4]
        task = f"Fix the {WORDS[number % 7]} {WORDS[number // 3 % 7]} {number % 11}"
        alma.learn(agent, task, number % 3 != 0, f"Restart the {WORDS[number % 5]}", user_id=user)
        alma.add_domain_knowledge(agent, "notes", f"The {WORDS[number % 6]} is on disk {number % 9}", user_id=user)


def _answers(alma: ALMA, reader: tuple[str, str | None]) -> Sequence[object]:
    agent, user = reader
    found = alma.retrieve(QUESTION, agent, user_id=user, top_k=20)
    warned = alma.check(agent, "Restart the mail", user_id=user)
    return [(item.memory.id, item.score) for item in found.recalled], [one.similarity for one in warned.warnings]


def _listed(alma: ALMA, number: int) -> str:
    return alma.list_memories("outcome", limit=9)[number % 9].id


OPERATIONS: dict[str, Callable[[ALMA, int], object]] = {
    "learn": lambda alma, number: _fill(alma, number, 3),
    "forget": lambda alma, number: alma.forget(memory_ids=[_listed(alma, number)]),
    "purge": lambda alma, number: alma.forget(memory_ids=[_listed(alma, number)], purge=True),
}

steps = st.lists(st.tuples(st.sampled_from([*OPERATIONS, "ask", "ask", "ask"]), st.integers(0, 999)), min_size=4, max_size=12)


@settings(max_examples=12, deadline=None)
@given(steps)
def test_what_is_asked_in_whatever_order_is_answered_as_from_all_vectors(told: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with _opened(folder) as writer:
            _fill(writer, 0, 40)
            room = _room(folder)
            with ALMA(room) as whole, _opened(folder, codes_above=12) as partial:
                room.index.current()
                for what, number in told:
                    if what == "ask":
                        reader = READERS[number % len(READERS)]
                        assert _answers(partial, reader) == _answers(whole, reader)
                    else:
                        OPERATIONS[what]((writer, partial)[number % 2], number)
                for reader in READERS:
                    assert _answers(partial, reader) == _answers(whole, reader)


def test_a_small_reader_reads_its_own_vectors_alone(tmp_path: Path) -> None:
    with _opened(tmp_path) as alma:
        _fill(alma, 0, 40)
        alma.add_domain_knowledge("new", "notes", "The mail is on disk 3")
    room = _room(tmp_path)
    with ALMA(room) as alma:
        alma.retrieve(QUESTION, "new")
        assert _held(room, _partitions(room, "new")) == 1
        alma.retrieve(QUESTION, "dev")
        assert 1 < _held(room, _partitions(room, "new")) < _held(room)


def test_partitions_that_came_one_by_one_are_searched_to_the_last_bit_like_all_at_once(tmp_path: Path) -> None:
    with _opened(tmp_path) as alma:
        _fill(alma, 0, 40)
    query = np.random.default_rng(3).normal(size=32).astype(np.float32)
    partial, whole = _room(tmp_path), _room(tmp_path)
    with ALMA(partial), ALMA(whole):
        rows = sorted(whole.project.partitions())
        for row in reversed(rows):
            partial.index.current([row])
        found, expected = (one.index.current(rows).search(query, partitions=rows, limit=30) for one in (partial, whole))
        for name in ("passages", "memories", "ties", "scores"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("asked", [["dev"], ["lead"], ["new", "lead", "dev"], ["lead", "new", "ops"]])
def test_large_kinds_from_snapshots_and_small_ones_are_held_together(tmp_path: Path, asked: list[str]) -> None:
    with _opened(tmp_path, codes_above=15) as alma:
        _fill(alma, 0, 80)
        for reader in READERS:
            _answers(alma, reader)
        alma.add_domain_knowledge("new", "notes", "The mail is on disk 3")
    large = list(tmp_path.glob("*.index"))
    assert len(large) > 1
    with _opened(tmp_path) as writer:
        _fill(writer, 100, 10)
        writer.forget(memory_ids=[_listed(writer, 4)], purge=False)
    room = _room(tmp_path)
    with _opened(tmp_path, codes_above=15) as alma, ALMA(room) as whole:
        room.index.current()
        for agent in asked:
            alma.retrieve(QUESTION, agent)
        for reader in READERS:
            assert _answers(alma, reader) == _answers(whole, reader)
        _fill(alma, 200, 5)
        for reader in READERS:
            assert _answers(alma, reader) == _answers(whole, reader)


def test_a_read_that_fails_leaves_no_half_of_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _opened(tmp_path, codes_above=15) as alma:
        _fill(alma, 0, 80)
        _answers(alma, ("lead", None))
        alma.add_domain_knowledge("new", "notes", "The mail is on disk 3")
    with _opened(tmp_path) as writer:
        _fill(writer, 100, 10)
    partial, other = _room(tmp_path, codes_above=15), _room(tmp_path)
    with ALMA(partial) as alma, ALMA(other) as whole:
        alma.retrieve(QUESTION, "new")
        with monkeypatch.context() as broken:
            broken.setattr(partial.project, "changes", _failing)
            with pytest.raises(StorageError, match="busy"):
                alma.retrieve(QUESTION, "lead")
        for reader in READERS:
            assert _answers(alma, reader) == _answers(whole, reader)
        assert _held(partial) == _held(other)


def _failing(*_: object, **__: object) -> Iterator[object]:
    raise StorageError("the database is busy")
    yield


def test_what_is_asked_for_in_the_middle_of_a_moment_lacks_nothing_afterwards(tmp_path: Path) -> None:
    with _opened(tmp_path) as alma:
        _fill(alma, 0, 40)
    room, other = _room(tmp_path), _room(tmp_path)
    with ALMA(room) as alma, ALMA(other) as whole:
        ops = _partitions(room, "ops")
        room.index.current(_partitions(room, "dev"))
        with room.project.moment():
            before = _held(other, ops)
            room.project.head()
            with ThreadPoolExecutor(1) as another:
                another.submit(_fill, alma, 100, 8).result()
                another.submit(alma.retrieve, QUESTION, "dev").result()
            assert _held(room, ops) == before
        assert [_answers(alma, reader) for reader in READERS] == [_answers(whole, reader) for reader in READERS]


def test_all_that_was_read_stays_all_while_others_add_agents(tmp_path: Path) -> None:
    with _opened(tmp_path) as alma:
        _fill(alma, 0, 40)
    room = _room(tmp_path)
    with ALMA(room), _opened(tmp_path) as other:
        few = _partitions(room, "lead")[:1]
        room.index.current(few)
        count = _held(room)
        other.add_domain_knowledge("late", "notes", "The mail is on disk 3")
        assert _held(room, few) == count + 1
