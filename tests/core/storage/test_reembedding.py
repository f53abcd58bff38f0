"""The vectors of two embedders in one database: told apart, checked, and changed over whole or not at all."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from alma import ALMA
from alma.embedding import HashEmbedder
from alma.errors import AlmaError, CorruptStoreError
from alma.protocols import Unembedded
from alma.storage.relational import reembedding
from alma.storage.relational.reembedding import NextVectors
from alma.storage.sqlite.store import SQLStorage
from stores import NOW, Driver, Filled, execute, fill, open_alma, rows

OTHER = HashEmbedder(32)
BY_EMBEDDER = "SELECT embedder, count(*), min(length(vector)) FROM vector GROUP BY embedder"


@pytest.fixture
def filled(tmp_path: Path) -> Filled:
    return fill(tmp_path)


@pytest.fixture
def storage(filled: Filled) -> Iterator[SQLStorage]:
    opened = SQLStorage(filled.path, at=NOW)
    yield opened
    opened.close()


def make(vectors: NextVectors, passages: list[Unembedded]) -> int:
    made = OTHER.embed([passage.text for passage in passages]).astype("<f2")
    return vectors.put({passage: row.tobytes() for passage, row in zip(passages, made, strict=True)})


def test_every_text_of_every_project_is_asked_for_in_order(storage: SQLStorage) -> None:
    vectors = storage.next_vectors(OTHER.fingerprint)
    done, total = vectors.progress()
    asked: list[Unembedded] = []
    while batch := vectors.missing(after=asked[-1].row if asked else 0, limit=2):
        asked += batch
    assert [passage.row for passage in asked] == sorted({passage.row for passage in asked})
    assert (done, total) == (0, len({(passage.project, passage.text) for passage in asked}))
    assert len({passage.project for passage in asked}) == 2


def test_equal_texts_share_a_vector_and_are_counted_once(storage: SQLStorage) -> None:
    vectors = storage.next_vectors(OTHER.fingerprint)
    passages = list(vectors.missing(after=0, limit=100))
    assert make(vectors, passages) == vectors.progress()[1] < len(passages)
    assert make(vectors, passages) == 0
    assert vectors.missing(after=0, limit=100) == []


def test_a_set_is_gone_on_with_by_the_next_process(storage: SQLStorage, filled: Filled) -> None:
    make(storage.next_vectors(OTHER.fingerprint), list(storage.next_vectors(OTHER.fingerprint).missing(after=0, limit=2)))
    again = SQLStorage(filled.path, at=NOW)
    assert again.next_vectors(OTHER.fingerprint).progress()[0] == 2
    again.close()


def test_verify_counts_the_serving_vectors_and_looks_at_the_next_ones_too(storage: SQLStorage, filled: Filled) -> None:
    count = storage.verify().vectors
    vectors = storage.next_vectors(OTHER.fingerprint)
    make(vectors, list(vectors.missing(after=0, limit=100)))
    assert (storage.verify().vectors, storage.verify().problems) == (count, ())
    execute(filled.path, "UPDATE vector SET vector = zeroblob(64) WHERE row = (SELECT max(row) FROM vector WHERE embedder = 2)")
    (problem,) = storage.verify().problems
    assert "was changed" in problem.what


def test_left_over_vectors_are_no_damage_and_are_dropped_in_chunks(
    storage: SQLStorage, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reembedding, "LEFT_OVER_CHUNK", 2)
    vectors = storage.next_vectors(OTHER.fingerprint)
    count = make(vectors, list(vectors.missing(after=0, limit=100)))
    storage.next_vectors(HashEmbedder(64).fingerprint)
    assert storage.verify().ok
    assert storage.drop_left_over() == count
    assert [embedder for embedder, *_ in rows(filled.path, BY_EMBEDDER)] == [1]


def test_no_other_embedder_is_taken_while_the_one_that_serves_is_not_known_for_sure(storage: SQLStorage, filled: Filled) -> None:
    execute(filled.path, "UPDATE store SET value = replace(value, '16', '32') WHERE key = 'embedder'")
    with pytest.raises(CorruptStoreError, match="id or embedder is damaged"):
        storage.next_vectors(OTHER.fingerprint)
    assert not storage.verify().ok


def test_a_damaged_text_ends_the_re_embedding_rather_than_being_tried_for_ever(storage: SQLStorage, filled: Filled) -> None:
    vectors = storage.next_vectors(OTHER.fingerprint)
    execute(
        filled.path,
        "UPDATE passage SET text_hash = zeroblob(16) WHERE row = (SELECT min(row) FROM passage WHERE text_hash NOTNULL)",
    )
    with pytest.raises(CorruptStoreError, match="text of passage"):
        vectors.missing(after=0, limit=100)


def test_a_changed_over_store_is_seen_anew_and_the_old_sight_of_it_is_refused(storage: SQLStorage) -> None:
    vectors = storage.next_vectors(OTHER.fingerprint)
    old = storage.project("shop")
    make(vectors, list(vectors.missing(after=0, limit=100)))
    assert not vectors.switch()  # strategies could no longer be compared
    compared = vectors.compared()
    made = OTHER.embed([text for _, text in compared]).astype("<f2")
    vectors.put_compared({place: row.tobytes() for place, row in zip(compared, made, strict=True)})
    assert vectors.switch()
    new = storage.renewed()
    assert (new.id, new.fingerprint) == (storage.id, OTHER.fingerprint)
    assert next(new.project("shop").changes(after=0)).vectors.shape[1] == 32
    for look in (old.head, lambda: next(old.changes(after=0)), lambda: old.write(actor="a", operation="o", at=0).__enter__()):
        with pytest.raises(AlmaError, match="re-embedded"):
            look()
    assert new.verify().ok


def test_a_store_that_does_not_say_the_number_of_its_embedder_is_damaged(filled: Filled) -> None:
    execute(filled.path, "DELETE FROM store WHERE key = 'embedder_number'")
    with pytest.raises(CorruptStoreError, match="which embedder"):
        SQLStorage(filled.path, at=NOW)


@pytest.fixture
def driver(mocker: MockerFixture) -> Driver:
    made = Driver()
    mocker.patch("sqlite3.connect", made.connect)
    return made


@pytest.mark.slow
def test_a_fault_before_any_statement_leaves_the_old_vectors_or_the_new_ones_serving(driver: Driver, tmp_path: Path) -> None:
    with open_alma(tmp_path, dimension=16) as alma:
        learned = alma.learn("a", "Deploy the shop", "success")
    step, changes_over = 0, 0
    while True:
        with ALMA.open(tmp_path, project_id="shop") as alma:
            serving = alma.storage.fingerprint.dimension
            target = 48 - serving  # there and back again
            is_broken = broke(alma, driver, step, target)
        step += 1
        with ALMA.open(tmp_path, project_id="shop") as alma:
            found = alma.storage.fingerprint.dimension
            assert found in (serving, target)
            assert alma.retrieve("Deploy the shop", "a").ids == [learned.id]
            assert alma.verify().ok
            changes_over += found == target
        if not is_broken:
            break
    assert step > 10
    assert changes_over >= 1
    assert [count for _, count, _ in rows(tmp_path / "alma.db", BY_EMBEDDER)] == [1]


def broke(alma: ALMA, driver: Driver, number: int, dimension: int) -> bool:
    """Whether re-embedding failed when its statement of that number could not run; `False` if it has not so many."""
    left = number

    def fail_in_time(statement: str) -> None:
        nonlocal left
        left -= 1
        if left < 0 and statement != "ROLLBACK":
            raise sqlite3.OperationalError("disk I/O error")

    with driver.doing(fail_in_time):
        try:
            alma.reindex(HashEmbedder(dimension))
        except AlmaError:
            return True
    return False
