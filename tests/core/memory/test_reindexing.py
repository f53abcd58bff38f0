"""A whole store under another embedder: old vectors serve until the new ones are all there, and nothing is lost on the way."""

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from alma import ALMA, ConflictError, EmbedderMismatchError, EmbeddingError
from alma.embedding import HashEmbedder
from alma.embedding.scale import SENTENCES
from alma.errors import ConfigurationError
from alma.memory import opening
from alma.memory.admin import reindexing
from alma.protocols import Unembedded
from alma.storage.sqlite.store import SQLStorage
from alma.types import Fingerprint
from facade import OpenStore, StoredIn
from other_process import OtherProcess

TASKS = [f"Deploy service number {number} to region {chr(97 + number)}" for number in range(12)]


class CountingEmbedder:
    """Another embedder than `HashEmbedder`, which notes every text, and does something before each call."""

    def __init__(self, name: str = "other", dimension: int = 384) -> None:
        self._hash = HashEmbedder(dimension)
        self._name = name
        self.texts: list[str] = []
        self.before: Callable[[], None] = lambda: None

    @property
    def fingerprint(self) -> Fingerprint:
        return self._hash.fingerprint.model_copy(update={"model": self._name})

    def embed(self, texts: Sequence[str], /) -> Any:
        before, self.before = self.before, lambda: None  # which may ask for vectors itself
        before()
        self.before = before
        self.texts += texts
        return -self._hash.embed(texts)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "BATCH", 4)


@pytest.fixture
def other() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def shop(open_store: OpenStore) -> ALMA:
    """A store of twelve texts: without strategies no rule is formed."""
    alma = open_store()
    alma.learn_many({"agent": "a", "task": task, "outcome": "success"} for task in TASKS)
    return alma


def recalled(alma: ALMA) -> list[str]:
    return alma.retrieve(TASKS[3], "a", profile="recall", arms=["dense"], top_k=3).ids


def vectors_in(alma: ALMA) -> dict[int, int]:
    """How many vectors the database has, by the number of their embedder."""
    database = alma._store.storage.database  # type: ignore[attr-defined] # of any of our stores
    table = f"{database.schema}.vector" if hasattr(database, "schema") else "vector"
    with database.reading() as looking:
        connection = getattr(looking, "connection", looking)  # a server's session has one
        return dict(connection.execute(f"SELECT embedder, count(*) FROM {table} GROUP BY embedder"))


def test_all_projects_are_embedded_anew_and_answer_as_before(shop: ALMA, other: CountingEmbedder) -> None:
    desk = shop.for_project("desk")
    desk.add_domain_knowledge("b", "billing", "Refunds take five days")
    before = recalled(shop)
    report = shop.reindex(other)
    assert (report.before, report.after, report.dimension) == ("hash 1", "other 1", 384)
    assert (report.texts, report.embedded, len(other.texts)) == (13, 13, 13)
    assert recalled(shop) == before
    assert desk.retrieve("How long do refunds take?", "b").total_items == 1
    assert shop.get_stats().embedder == "other"
    assert shop.verify().ok
    assert vectors_in(shop) == {2: 13}


def test_the_store_opens_with_the_new_embedder_and_no_longer_with_the_old(
    shop: ALMA, other: CountingEmbedder, open_store: OpenStore
) -> None:
    before = recalled(shop)
    shop.reindex(other)
    assert recalled(open_store(embedding_provider=other)) == before
    with pytest.raises(EmbedderMismatchError, match="alma reindex"):
        open_store(embedding_provider="hash")


def test_what_is_learned_afterwards_is_embedded_by_the_new_one(shop: ALMA, other: CountingEmbedder) -> None:
    shop.reindex(other)
    learned = shop.learn("a", "Rename a column", "success")
    assert other.texts.count("Rename a column") == 1
    assert shop.retrieve("Rename a column", "a", profile="recall").ids[0] == learned.id
    assert shop.verify().ok


def test_progress_goes_from_nothing_to_all(shop: ALMA, other: CountingEmbedder) -> None:
    told: list[tuple[int, int]] = []
    shop.reindex(other, lambda done, total: told.append((done, total)))
    assert told == [(0, 12), (4, 12), (8, 12), (12, 12)]


def test_an_equal_text_is_embedded_once_in_a_batch(shop: ALMA, other: CountingEmbedder) -> None:
    desk = shop.for_project("desk")
    for _ in range(2):
        desk.learn("b", "Close the ticket", "success")
    shop.for_project("lab").learn("b", "Close the ticket", "success")
    shop.reindex(other)
    assert other.texts.count("Close the ticket") == 1
    assert vectors_in(shop) == {2: 14}


def test_the_embedder_that_it_has_already_leaves_everything_as_it_is(shop: ALMA) -> None:
    report = shop.reindex("hash")
    assert (report.texts, report.embedded) == (0, 0)
    assert vectors_in(shop) == {1: 12}


def test_an_empty_store_changes_too(open_store: OpenStore, other: CountingEmbedder) -> None:
    alma = open_store()
    assert alma.reindex(other).embedded == 0
    alma.learn("a", "Deploy", "success")
    assert other.texts == ["Deploy", *SENTENCES]  # an embedder that was not measured is compared once


def test_what_is_neither_a_name_nor_an_embedder_is_refused(shop: ALMA) -> None:
    with pytest.raises(ConfigurationError, match="must be a name or an embedder"):
        shop.reindex(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="a method `embed`, not"):
        shop.reindex(SimpleNamespace(fingerprint=HashEmbedder(32).fingerprint))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="no embedder 'nope'"):
        shop.reindex("nope")
    assert vectors_in(shop) == {1: 12}


def test_a_name_is_taken_with_its_dimension(shop: ALMA) -> None:
    before = recalled(shop)
    assert shop.reindex("hash", embedding_dim=100).dimension == 100
    assert recalled(shop)[0] == before[0]
    assert shop.verify().ok


def test_a_model_that_fails_leaves_the_old_one_serving_and_what_was_done_is_kept(shop: ALMA, other: CountingEmbedder) -> None:
    before = recalled(shop)

    def fail_at_the_third() -> None:
        if len(other.texts) == 8:
            raise RuntimeError("out of memory")

    other.before = fail_at_the_third
    with pytest.raises(EmbeddingError, match=r"out of memory; 8 of 12 texts are done and kept, run it again"):
        shop.reindex(other)
    assert recalled(shop) == before
    assert shop.verify().ok
    assert shop.get_stats().embedder == "hash"

    again = CountingEmbedder()
    assert (shop.reindex(again).embedded, len(again.texts)) == (4, 4)
    assert recalled(shop) == before


def test_old_vectors_serve_while_new_ones_are_made_and_what_is_learned_meanwhile_is_not_missed(
    shop: ALMA, other: CountingEmbedder
) -> None:
    before, seen = recalled(shop), []

    def work() -> None:
        seen.append(recalled(shop))
        if len(seen) <= 4:
            shop.learn("b", f"Written meanwhile, number {len(seen)}", "success")

    other.before = work
    report = shop.reindex(other)
    assert seen == [before] * len(seen)
    assert (report.embedded, report.texts) == (16, 16)
    other.before = lambda: None
    assert shop.verify().ok
    assert shop.retrieve("Written meanwhile, number 4", "b", profile="recall").total_items > 0


PROGRAM = """
import os, signal, sys
sys.path[:0] = {path!r}
from test_reindexing import CountingEmbedder
from alma import ALMA
from alma.memory import opening
from alma.memory.admin import reindexing
reindexing.BATCH = 4
embedder = CountingEmbedder()
embedder.before = lambda: len(embedder.texts) == 8 and os.kill(os.getpid(), signal.SIGKILL)
ALMA.open({folder!r}, project_id="shop").reindex(embedder)
"""


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_where_it_stopped(shop: ALMA, tmp_path: Path) -> None:
    before = recalled(shop)
    path = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "support")]
    program = PROGRAM.format(path=path, folder=str(tmp_path / "store"))
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert recalled(shop) == before
    assert vectors_in(shop) == {1: 12, 2: 8}
    assert shop.verify().ok
    again = CountingEmbedder()
    assert (shop.reindex(again).embedded, again.texts) == (4, TASKS[8:])
    assert recalled(shop) == before


def test_a_set_begun_for_one_embedder_is_given_up_for_another(shop: ALMA, other: CountingEmbedder) -> None:
    other.before = lambda: (_ for _ in ()).throw(RuntimeError("no")) if other.texts else None  # type: ignore[assignment]
    with pytest.raises(EmbeddingError):
        shop.reindex(other)
    assert vectors_in(shop) == {1: 12, 2: 4}
    third = CountingEmbedder("third")
    assert shop.reindex(third).embedded == 12
    assert vectors_in(shop) == {3: 12}
    assert shop.verify().ok


def test_two_at_once_with_different_embedders_end_with_one_of_them(shop: ALMA, open_store: OpenStore) -> None:
    first, second = CountingEmbedder("first"), CountingEmbedder("second")

    def the_other_begins() -> None:
        first.before = lambda: None
        open_store().reindex(second)

    first.before = the_other_begins
    with pytest.raises(ConflictError, match="another process"):
        shop.reindex(first)
    assert open_store(embedding_provider=second).verify().ok


@pytest.mark.slow
def test_a_running_process_is_told_at_its_next_call(shop: ALMA, other: CountingEmbedder, tmp_path: Path) -> None:
    setup = f"from alma import ALMA\nalma = ALMA.open({str(tmp_path / 'store')!r}, project_id='shop')\n"
    with OtherProcess(setup) as process:
        ask = f"len(alma.retrieve({TASKS[3]!r}, 'a').ids)"
        assert process.ask(ask) == "5"
        shop.reindex(other)
        for call in (ask, "alma.learn('a', 'Something new', 'success')", f"alma.learn('a', {TASKS[0]!r}, 'success')"):
            told = process.ask(call)
            assert "EmbedderMismatchError" in told
            assert "open it again" in told
    assert shop.get_stats().total == 12
    assert shop.verify().ok


def test_another_object_of_the_same_process_is_told_too(shop: ALMA, other: CountingEmbedder, open_store: OpenStore) -> None:
    second = open_store()
    second.retrieve(TASKS[0], "a")
    shop.reindex(other)
    with pytest.raises(EmbedderMismatchError, match="open it again"):
        second.retrieve(TASKS[0], "a")
    with pytest.raises(EmbedderMismatchError, match="open it again"):
        second.learn("a", "Something", "success")
    assert second.verify().ok
    assert second.reindex(other).embedded == 0  # it catches up with what the store has become
    assert second.retrieve(TASKS[0], "a").total_items


@pytest.mark.parametrize(
    "ask",
    [
        lambda alma: alma.strategies(TASKS[0], agent="a"),
        lambda alma: alma.check("a", "Something", task=TASKS[0]),
        lambda alma: alma.assess(strategy="Something", context=TASKS[1], agent="a"),
    ],
    ids=("strategies", "check", "assess"),
)
def test_vectors_of_two_embedders_are_never_compared(
    shop: ALMA, other: CountingEmbedder, open_store: OpenStore, ask: Callable[[ALMA], object]
) -> None:
    for number in range(3):
        shop.learn("a", TASKS[number], "failure", strategy_used="Something", error_message="no")
    second = open_store()
    shop.reindex(other)
    with pytest.raises(EmbedderMismatchError, match="open it again"):
        ask(second)


def test_a_call_under_way_during_the_switch_stores_no_old_vector(shop: ALMA, other: CountingEmbedder) -> None:
    room = shop._room
    vectors = room.store.texts.of(["Learned with the old one"], room.project)
    shop.reindex(other)
    with pytest.raises(EmbedderMismatchError), room.project.write(actor="a", operation="test", at=0):
        pass
    assert len(vectors) == 1


def test_an_episode_goes_on_across_the_switch(shop: ALMA, other: CountingEmbedder) -> None:
    with shop.episode(agent="a", task="Move the database") as episode:
        shop.reindex(other)
        episode.step("pg_dump", ok=False, error="disk full")
        episode.succeed(strategy="dump to the other disk")
    assert "Move the database" in other.texts
    assert shop.verify().ok


def test_an_open_of_the_former_embedder_exports_nothing_after_the_switch(
    shop: ALMA, other: CountingEmbedder, open_store: OpenStore, tmp_path: Path
) -> None:
    """The file would name the former embedder and hold vectors of the new one, which no import accepts."""
    former = open_store()
    shop.reindex(other)
    with pytest.raises(EmbedderMismatchError, match="open it again"):
        former.export(tmp_path / "shop.jsonl", vectors=True)
    assert not (tmp_path / "shop.jsonl").exists()
    shop.export(tmp_path / "shop.jsonl", vectors=True)
    shop.for_project("copy").import_from(tmp_path / "shop.jsonl")
    assert shop.for_project("copy").get_stats().total == len(TASKS)


@pytest.mark.not_on("file", "postgres", reason="keeps no snapshot of an index")
def test_snapshots_of_the_old_vectors_are_removed(shop: ALMA, other: CountingEmbedder, tmp_path: Path) -> None:
    index = shop._room.index
    index._make.keywords.update(codes_above=1, wide_up_to=1)
    index.current()
    index.save()
    assert list((tmp_path / "store").glob("*.index"))
    shop.reindex(other)
    assert list((tmp_path / "store").glob("*.index")) == []


def test_archived_memories_come_back_with_new_vectors(shop: ALMA, other: CountingEmbedder) -> None:
    gone = shop.retrieve(TASKS[3], "a", profile="recall").ids[0]
    with shop._room.project.write(actor="a", operation="archive", at=1) as write:
        write.change_memory(gone, archived_at=1)
    shop.reindex(other)
    with shop._room.project.write(actor="a", operation="restore", at=2) as write:
        write.change_memory(gone, archived_at=None)
    assert recalled(shop)[0] == gone


@pytest.mark.not_on("file", "postgres", reason="stops between two of SQLite's statements")
def test_a_text_that_went_while_it_was_embedded_leaves_no_vector(shop: ALMA, other: CountingEmbedder) -> None:
    storage = shop._store.storage
    assert isinstance(storage, SQLStorage)
    made = storage.next_vectors(other.fingerprint)
    (passage, *_) = made.missing(after=0, limit=1)
    vector = np.zeros(384, "<f2").tobytes()
    assert made.put({Unembedded(99_999, passage.project, "purged"): vector}) == 0
    assert made.put({Unembedded(passage.row, passage.project, "another text"): vector}) == 0
    assert made.switch() is False
    assert shop.get_stats().embedder == "hash"


class OwnEmbedder(CountingEmbedder):
    """One that is made by name, and holds something."""

    def __init__(self, name: str, made: list["OwnEmbedder"]) -> None:
        super().__init__(name)
        self.closed = 0
        made.append(self)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[OwnEmbedder]:
    """The embedders that were made by their names, in order."""
    found: list[OwnEmbedder] = []

    def create(name: str, **given: object) -> OwnEmbedder:
        return OwnEmbedder(name, found)

    for module in (opening, reindexing):
        monkeypatch.setattr(module, "create_embedder", create)
    return found


def test_embedders_that_are_made_by_name_are_closed_once_they_serve_no_more(
    made: list[OwnEmbedder], tmp_path: Path, stored_in: StoredIn
) -> None:
    with ALMA.open(tmp_path / "own", project_id="shop", embedding_provider="first", **stored_in(tmp_path / "own")) as alma:
        alma.learn("a", TASKS[0], "success")
        alma.reindex("second")
        alma.reindex("second")
        with pytest.raises(EmbedderMismatchError):
            ALMA.open(tmp_path / "own", project_id="shop", embedding_provider="first", **stored_in(tmp_path / "own"))
        assert [(one._name, one.closed) for one in made] == [
            ("first", 1),
            ("first", 1),
            ("second", 0),
            ("second", 1),
            ("first", 1),
        ]
    assert [one.closed for one in made] == [1] * 5


def test_an_embedder_made_by_name_that_fails_is_closed_and_the_old_one_stays_open(
    made: list[OwnEmbedder], tmp_path: Path, stored_in: StoredIn
) -> None:
    def fail() -> None:
        raise OSError("no network")

    with ALMA.open(tmp_path / "own", project_id="shop", embedding_provider="first", **stored_in(tmp_path / "own")) as alma:
        alma.learn("a", TASKS[0], "success")
        with pytest.raises(EmbeddingError):
            alma.reindex("second", lambda done, total: setattr(made[-1], "before", fail))
        assert [one.closed for one in made] == [1, 0, 1]
