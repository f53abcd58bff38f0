"""A whole store under another embedder: old vectors serve until the new ones are all there, and nothing is lost on the way."""

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from alma import ALMA, ConflictError, EmbedderMismatchError, EmbeddingError
from alma.embedding import HashEmbedder
from alma.embedding.scale import SENTENCES
from alma.errors import ConfigurationError
from alma.memory import opening, room
from alma.memory.admin import reindexing
from alma.memory.index_cache import IndexCache
from alma.memory.room import SearchSizes
from alma.protocols import Embedder, Reembeddable, Unembedded
from alma.storage.sqlite.store import SQLStorage
from alma.types import Fingerprint
from facade import OpenStore, StoredIn
from other_process import OtherProcess
from sized import open_sized

TASKS = [f"Deploy service number {number} to region {chr(97 + number)}" for number in range(12)]


class CountingEmbedder:
    """Another embedder than `HashEmbedder`, which notes every text, and does something before each call."""

    def __init__(self, name: str = "other", dimension: int = 384) -> None:
        self.hash = HashEmbedder(dimension)
        self.name = name
        self.texts: list[str] = []
        self.before: Callable[[], None] = lambda: None

    @property
    def fingerprint(self) -> Fingerprint:
        return self.hash.fingerprint.model_copy(update={"model": self.name})

    def embed(self, texts: Sequence[str], /) -> Any:
        before, self.before = self.before, lambda: None  # which may ask for vectors itself
        before()
        self.before = before
        self.texts += texts
        return -self.hash.embed(texts)


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


def serving(alma: ALMA) -> tuple[str, int]:
    """Returns the embedder that serves, and the number of its vectors. Those of former embedders have to be gone."""
    assert isinstance(alma.storage, Reembeddable)
    assert alma.storage.drop_left_over() == 0
    return alma.get_stats().embedder, alma.verify().vectors


def progress(alma: ALMA, embedder: Embedder) -> tuple[int, int]:
    """Returns the number of texts that have a vector of the embedder that is to serve next, and of all texts."""
    assert isinstance(alma.storage, Reembeddable)
    return alma.storage.next_vectors(embedder.fingerprint).progress()


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
    assert serving(shop) == ("other", 13)


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
    assert serving(shop) == ("other", 14)


def test_the_embedder_that_it_has_already_leaves_everything_as_it_is(shop: ALMA) -> None:
    report = shop.reindex("hash")
    assert (report.texts, report.embedded) == (0, 0)
    assert serving(shop) == ("hash", 12)


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
    assert serving(shop) == ("hash", 12)


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
from alma.memory import opening, room
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
    assert (serving(shop), progress(shop, CountingEmbedder())) == (("hash", 12), (8, 12))
    assert shop.verify().ok
    again = CountingEmbedder()
    assert (shop.reindex(again).embedded, again.texts) == (4, TASKS[8:])
    assert recalled(shop) == before


def test_a_set_begun_for_one_embedder_is_given_up_for_another(shop: ALMA, other: CountingEmbedder) -> None:
    other.before = lambda: (_ for _ in ()).throw(RuntimeError("no")) if other.texts else None  # type: ignore[assignment]
    with pytest.raises(EmbeddingError):
        shop.reindex(other)
    assert (serving(shop), progress(shop, other)) == (("hash", 12), (4, 12))
    third = CountingEmbedder("third")
    assert shop.reindex(third).embedded == 12
    assert serving(shop) == ("third", 12)
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


def test_a_call_under_way_during_the_switch_stores_no_old_vector(open_store: OpenStore, other: CountingEmbedder) -> None:
    former = CountingEmbedder("former")
    alma = open_store(embedding_provider=former)
    alma.learn("a", TASKS[0], "success")

    def switch() -> None:
        former.before = lambda: None
        alma.reindex(other)

    former.before = switch
    with pytest.raises(EmbedderMismatchError, match="open it again"):
        alma.learn("a", "Learned with the old one", "success")
    assert former.texts[-1] == "Learned with the old one"
    assert alma.get_stats().total == 1
    assert serving(alma) == ("other", 1)


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


def test_snapshots_of_the_old_vectors_are_removed(
    other: CountingEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = SearchSizes(codes_above=4)
    monkeypatch.setattr(room, "IndexCache", partial(IndexCache, wide_up_to=4))
    with open_sized(tmp_path, sizes, dimension=64) as alma:
        alma.learn_many({"agent": "a", "task": task, "outcome": "success"} for task in TASKS)
        alma.retrieve(TASKS[3], "a")
    assert list(tmp_path.glob("*.index"))
    with open_sized(tmp_path, sizes, dimension=64) as alma:
        alma.reindex(other)
        assert list(tmp_path.glob("*.index")) == []


def test_archived_memories_come_back_with_new_vectors(shop: ALMA, other: CountingEmbedder) -> None:
    gone = shop.retrieve(TASKS[3], "a", profile="recall").ids[0]
    before = shop.get_stats().journal_records
    shop.forget(memory_ids=[gone])
    shop.reindex(other)
    assert gone not in recalled(shop)
    shop.undo(to=before)
    assert recalled(shop)[0] == gone


@pytest.mark.not_on("file", "postgres", reason="stops between two of SQLite's statements")
def test_a_text_that_went_while_it_was_embedded_leaves_no_vector(shop: ALMA, other: CountingEmbedder) -> None:
    storage = shop.storage
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
        assert [(one.name, one.closed) for one in made] == [
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
