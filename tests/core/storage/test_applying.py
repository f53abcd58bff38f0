"""Changes to logical rows: every row, the full text, the vectors and the journal follow, and what cannot be is refused whole."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma.embedding import HashEmbedder
from alma.errors import ConflictError, CorruptStoreError, MemoryNotFoundError, StorageError
from alma.journal import Change
from alma.protocols import Write
from alma.storage.relational.logical import NO_USAGE
from alma.storage.relational.session import OpenSeal, RowName
from alma.types import Heuristic, Passage
from alma_testing.contracts.stored import found_by_words
from stores import NOW, TASK, execute, fill, new_storage, open_alma

SECOND = 1_000_000


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ALMA]:
    fill(tmp_path)
    with open_alma(tmp_path, dimension=16) as alma:
        yield alma


def id_of(alma: ALMA, kind: str) -> str:
    return alma.list_memories(kind)[0].id


@contextmanager
def writing(alma: ALMA) -> Iterator[Write]:
    with alma.storage.project("shop").write(actor="tester", operation="test", at=SECOND) as write:
        yield write


def state(alma: ALMA) -> dict[tuple[str, str], dict[str, Any]]:
    return {(stored.table, stored.key): stored.row or {} for stored in alma.storage.project("shop").rows()}


def recalled(alma: ALMA, task: str = TASK) -> list[str]:
    return [memory.id for memory in alma.retrieve(task, "helena", user_id="u1")]


def vectors(*texts: str) -> dict[str, bytes]:
    made = HashEmbedder(16).embed(texts).astype("<f2")
    return {text: row.tobytes() for text, row in zip(texts, made, strict=True)}


def test_an_archived_memory_is_out_of_both_searches_and_comes_back(shop: ALMA) -> None:
    outcome = id_of(shop, "outcome")
    assert outcome in recalled(shop)

    with writing(shop) as write:
        write.change_memory(outcome, archived_at=SECOND)
    assert outcome not in recalled(shop)
    assert not found_by_words(shop.storage.project("shop"), "login")
    with pytest.raises(MemoryNotFoundError):
        shop.get(outcome)
    assert shop.verify().ok

    with writing(shop) as write:
        write.change_memory(outcome, archived_at=None)
    assert outcome in recalled(shop)
    assert shop.verify().ok


def test_changed_columns_are_stored_with_the_time_of_the_change_and_nothing_else_moves(shop: ALMA) -> None:
    heuristic = id_of(shop, "heuristic")
    before = state(shop)

    with writing(shop) as write:
        write.change_memory(heuristic, confidence=0.25, body={"strategy": "Go canary", "metadata": {"rule": 1}})
    after = state(shop)

    assert {place for place in before if before[place] != after[place]} == {("memory", heuristic)}
    changed = shop.get(heuristic)
    assert (changed.confidence, changed.strategy, changed.metadata, changed.condition) == (
        0.25,
        "Go canary",
        {"rule": 1},
        "On deploy",
    )
    assert changed.updated_at.timestamp() == 1
    assert shop.verify().ok


def test_a_change_that_changes_nothing_writes_nothing(shop: ALMA) -> None:
    heuristic = id_of(shop, "heuristic")
    records = shop.get_stats().journal_records

    with writing(shop) as write:
        write.change_memory(heuristic, confidence=shop.get(heuristic).confidence)
    assert shop.get_stats().journal_records == records


def test_a_replaced_memory_is_found_by_its_new_words_only(shop: ALMA) -> None:
    fact = shop.add_domain_knowledge("helena", "zoo", "Giraffes sleep standing")
    new = fact.model_copy(update={"fact": "Penguins huddle together", "metadata": {"seen": 2}})

    with writing(shop) as write:
        write.replace(new, [Passage(text="Penguins huddle together")], vectors("Penguins huddle together"))

    assert shop.get(fact.id) == new
    assert recalled(shop, "penguins huddle")[0] == fact.id
    assert fact.id not in recalled(shop, "giraffes sleep standing")
    assert shop.verify().ok


def test_a_replaced_memory_may_have_more_passages_or_fewer(shop: ALMA) -> None:
    fact = shop.add_domain_knowledge("helena", "zoo", "Giraffes sleep standing")
    for texts in (["One giraffe", "Two giraffes", "Three giraffes"], ["Only a giraffe"]):
        with writing(shop) as write:
            passages = [Passage(text=text, position=number) for number, text in enumerate(texts)]
            write.replace(fact, passages, vectors(*texts))
        stored = [row["text"] for (table, key), row in state(shop).items() if table == "passage" and key.startswith(fact.id)]
        assert stored == texts
        assert shop.verify().ok


def test_deleting_a_memory_takes_everything_of_it_and_the_index_of_a_running_memory_hears_of_it(shop: ALMA) -> None:
    outcome = id_of(shop, "outcome")
    before = state(shop)
    assert outcome in recalled(shop)
    hanging = [Change(table, key, row, None) for (table, key), row in before.items() if key.partition("/")[0] == outcome]

    with writing(shop) as write:
        write.apply(hanging)
    assert outcome not in recalled(shop)
    assert {key.partition("/")[0] for _, key in state(shop)} == {key.partition("/")[0] for _, key in before} - {outcome}
    assert shop.verify().ok

    with writing(shop) as write:
        write.apply([Change(change.table, change.key, None, change.before) for change in hanging])
    assert outcome in recalled(shop)
    assert state(shop) == before
    assert shop.verify().ok


def test_a_passage_that_loses_its_vector_and_gets_it_back_is_found_by_a_running_index(shop: ALMA) -> None:
    outcome = id_of(shop, "outcome")
    digest = state(shop)["passage", f"{outcome}/0"]["text_hash"]

    def is_found() -> bool:
        return outcome in shop.retrieve(TASK, "helena", arms=["dense"]).ids

    found = [is_found()]
    for before, after in ((digest, None), (None, digest)):
        with writing(shop) as write:
            write.apply([Change("passage", f"{outcome}/0", {"text_hash": before}, {"text_hash": after})])
        found.append(is_found())
    assert found == [True, False, True]


def test_small_records_are_made_changed_and_deleted(shop: ALMA) -> None:
    small = {"version": 1, "body": {"a": 1}, "updated_at": 7}
    before = state(shop)
    for changes in (
        [Change("record", "episode/x/y", None, small)],
        [Change("record", "episode/x/y", small, {**small, "version": 2})],
    ):
        with writing(shop) as write:
            write.apply(changes)
        assert shop.verify().ok
    assert shop.storage.project("shop").record("episode", ["x/y"])["x/y"] == (2, {"a": 1})

    with writing(shop) as write:
        write.apply([Change("record", "episode/x/y", {"version": 2}, None)])
    assert state(shop) == before


IMPOSSIBLE = {
    "a row that is there already": (lambda m, row: [Change("memory", m, None, row)], "is there already"),
    "a row that is not there": (lambda m, row: [Change("memory", "nobody", {"agent": "a"}, {"agent": "b"})], "'nobody' is gone"),
    "a value that is another": (
        lambda m, row: [Change("memory", m, {"agent": "zoe"}, {"agent": "b"})],
        "changed meanwhile in agent",
    ),
    "a memory that leaves its passages": (lambda m, row: [Change("memory", m, row, None)], "cannot go while passage"),
    "a passage of no memory": (
        lambda m, row: [Change("usage", "nobody", None, {**NO_USAGE, "used": 1})],
        "there is no memory nobody",
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_is_refused_and_nothing_is_changed(shop: ALMA, name: str) -> None:
    make, expected = IMPOSSIBLE[name]
    before, memory, other = state(shop), id_of(shop, "heuristic"), id_of(shop, "outcome")

    def attempt() -> None:
        with writing(shop) as write:
            write.change_memory(other, archived_at=SECOND)
            write.apply(make(memory, before["memory", memory]))

    with pytest.raises(ConflictError, match=expected):
        attempt()
    assert state(shop) == before
    assert shop.verify().ok


def test_a_row_cannot_be_changed_twice_at_once(shop: ALMA) -> None:
    change = Change("memory", id_of(shop, "heuristic"), {"archived_at": None}, {"archived_at": 1})
    with pytest.raises(ValueError, match="twice"), writing(shop) as write:
        write.apply([change, change])


def test_a_passage_without_its_vector_is_refused(shop: ALMA) -> None:
    before = state(shop)
    outcome = id_of(shop, "outcome")
    passage = {**before["passage", f"{outcome}/0"], "position": 9, "text": "unheard", "text_hash": "0" * 32}

    with pytest.raises(StorageError, match="no vector"), writing(shop) as write:
        write.apply([Change("passage", f"{outcome}/9", None, passage)])
    assert state(shop) == before


def test_a_memory_that_changes_what_it_says_or_whose_it_is_moves_in_the_indexes(shop: ALMA) -> None:
    heuristic = id_of(shop, "heuristic")
    assert recalled(shop, "On deploy")[0] == heuristic

    with writing(shop) as write:
        write.change_memory(heuristic, owner="victor")
    assert heuristic not in recalled(shop, "On deploy")
    assert next(iter(shop.retrieve("On deploy", "victor"))).id == heuristic
    assert shop.verify().ok


def test_an_unknown_column_or_memory_is_refused(shop: ALMA) -> None:
    heuristic = id_of(shop, "heuristic")
    with pytest.raises(ValueError, match="colour"), writing(shop) as write:
        write.change_memory(heuristic, colour="red")
    with pytest.raises(MemoryNotFoundError), writing(shop) as write:
        write.change_memory("nobody", confidence=1.0)


def test_a_damaged_row_is_not_changed(shop: ALMA, tmp_path: Path) -> None:
    heuristic = id_of(shop, "heuristic")
    execute(tmp_path / "alma.db", f"UPDATE memory SET body = X'7B' WHERE id = '{heuristic}'")
    change = Change("memory", heuristic, {"archived_at": None}, {"archived_at": 1})
    with pytest.raises(CorruptStoreError, match=f"memory '{heuristic}' is damaged"), writing(shop) as write:
        write.apply([change])


class Scrambling(OpenSeal):
    """A seal that turns every byte around, so that what passes it by shows. Only a secret seal is given the embedder of a vector, the third part of
    its name."""

    def seal(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        return bytes(255 - byte for byte in f"{place} {row[:2]}".encode() + data)

    def open(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        plain, start = bytes(255 - byte for byte in data), f"{place} {row[:2]}".encode()
        assert plain.startswith(start), (place, row)
        return plain.removeprefix(start)

    def hide(self, data: bytes, /, *, place: str) -> bytes:
        return self.seal(data, place=place, row=())

    def reveal(self, data: bytes, /, *, place: str) -> bytes:
        return self.open(data, place=place, row=())


def test_changes_history_and_purging_pass_the_seal(tmp_path: Path) -> None:
    with closing(new_storage(tmp_path, seal=Scrambling())) as storage:
        project = storage.project("shop")
        memory = Heuristic(
            id="m1",
            agent="helena",
            condition="On deploy",
            strategy="Go blue-green",
            last_validated=NOW,
            created_at=NOW,
            updated_at=NOW,
        )
        passages, vector = [Passage(text="On deploy")], {"On deploy": bytes(32), "On release": bytes(range(32))}
        with project.write(actor="helena", operation="add", at=1) as write:
            write.add(memory, passages, vector)
            write.put_record("episode", "e1", {"task": "On deploy"}, version=0)
        with project.write(actor="helena", operation="learn", at=2) as write:
            write.change_memory("m1", confidence=0.5)
            write.replace(memory, [Passage(text="On release")], vector)
        assert [entry.operation for entry in project.entries(memory_ids=["m1"])] == ["add", "learn"]
        assert storage.verify().problems == ()

        erased = project.purge(["m1"], records=["episode/e1"], actor="helena", at=3)
        assert erased is not None
        assert [erased.counts[name] for name in ("memory rows", "small records", "vectors", "journal payloads")] == [1, 1, 2, 2]
        assert storage.verify().problems == ()
        assert list(project.rows()) == []
        assert project.was_purged("m1")
