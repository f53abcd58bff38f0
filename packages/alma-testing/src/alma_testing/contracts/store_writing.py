"""Contract of a write: all of it is stored, or nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.errors import ConflictError, MemoryNotFoundError
from alma.journal import net, reversed_changes
from alma.protocols import Project, Store, Write
from alma.types.identity import Partition
from alma.types.memories import Memory, Passage, passages_of
from alma.types.stored import Change
from alma_testing.builders import (
    make_anti_pattern,
    make_domain_knowledge,
    make_heuristic,
    make_outcome,
    make_user_preference,
)
from alma_testing.contracts.stored import (
    AT,
    WithStore,
    add,
    contents,
    found_by_words,
    record,
    replayed,
    row_of,
    rows_of,
    stored_memories,
    vectors_for,
)
from alma_testing.contracts.texts import few_examples, storable_texts

MAKERS: tuple[Callable[..., Memory], ...] = (
    make_outcome,
    make_heuristic,
    make_anti_pattern,
    make_domain_knowledge,
    make_user_preference,
)


class StoreWrites(WithStore):
    """`Project.write`, and the operations inside it."""

    def test_memories_of_every_kind_come_back_as_they_were(self, store: Store, project: Project) -> None:
        memories = [maker(project_id="shop", metadata={"page": [1, None, "x"]}, confidence=0.25) for maker in MAKERS]
        add(store, project, *memories)
        assert stored_memories(project, memories) == memories

    def test_what_a_write_adds_and_then_changes_is_searchable_as_it_is_in_the_end(self, store: Store, project: Project) -> None:
        kept, archived, replaced = memories = [make_outcome(task_description=f"Zanzibar {number}") for number in range(3)]
        with project.write(actor="agent", operation="learn", at=AT) as write:
            for memory in memories:
                write.add(memory, passages_of(memory), vectors_for(store, passages_of(memory)))
            write.change_memory(archived.id, archived_at=AT)
            anew = replaced.model_copy(update={"task_description": "Elsewhere"})
            write.replace(anew, passages_of(anew), vectors_for(store, passages_of(anew)))
        assert found_by_words(project, "zanzibar") == {row_of(project, kept)}
        assert found_by_words(project, "elsewhere") == {row_of(project, replaced)}
        assert store.verify().ok

    def test_any_text_comes_back_as_it_was(self, store: Store, project: Project) -> None:
        @few_examples
        @given(text=storable_texts, maker=st.sampled_from(MAKERS))
        def check(text: str, maker: Callable[..., Memory]) -> None:
            fields = dict.fromkeys(("task_description", "condition", "pattern", "fact", "preference"), text)
            chosen = {name: value for name, value in fields.items() if name in maker().__class__.model_fields}
            memory = maker(project_id="shop", metadata={text: text}, **chosen)
            add(store, project, memory)
            assert stored_memories(project, [memory]) == [memory]

        check()

    def test_passages_come_back_as_they_were_and_unknown_rows_are_left_out(self, store: Store, project: Project) -> None:
        turns = [
            Passage(text="First", keywords="more words", speaker="user"),
            Passage(text="Second\n\u2028line", speaker="assistant", position=1, is_own=False),
        ]
        add(store, project, make_domain_knowledge(), passages=turns)
        (change,) = (each for each in project.changes(after=0) if len(each.passages))
        rows = change.passages.tolist()
        assert [project.passages([*rows, 10**9])[row] for row in rows] == turns[:1]
        assert project.passages([10**9]) == {}

    def test_a_taken_id_is_a_conflict_and_nothing_of_the_write_stays(self, store: Store, project: Project) -> None:
        memory = make_outcome()
        add(store, project, memory)
        before, head = contents(project), project.head()
        with pytest.raises(ConflictError):
            add(store, project, make_outcome(task_description="Another"), make_heuristic(id=memory.id))
        assert (contents(project), project.head()) == (before, head)

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_an_exception_inside_undoes_all_of_it(
        self, store: Store, project: Project, again: Store, error: type[BaseException]
    ) -> None:
        old = make_outcome(task_description="Deploy the service")
        add(store, project, old)
        before = everything(project)
        with pytest.raises(error):
            fail_in(project, lambda write: do_everything(store, write, old), error)
        assert everything(project) == before
        assert everything(again.project("shop")) == before
        assert store.verify().ok

    def test_a_first_write_that_fails_leaves_a_project_that_reads_as_empty(self, store: Store, project: Project) -> None:
        with pytest.raises(ValueError, match="stop"):
            fail_in(project, lambda write: write.put_record("session", "s1", {}, version=0))
        assert (project.head(), rows_of(project), dict(project.partitions())) == (0, {}, {})
        add(store, project, make_outcome())
        assert project.head() == 1

    def test_what_a_write_did_lands_with_one_record_that_lists_it(self, store: Store, project: Project) -> None:
        old = make_outcome(task_description="Deploy the service")
        add(store, project, old)
        with project.write(actor="ann", operation="everything", at=AT + 1) as write:
            assert write.seq == project.head() + 1
            do_everything(store, write, old)
        (entry,) = project.entries(after=1)
        assert (entry.seq, entry.actor, entry.operation, entry.at) == (2, "ann", "everything", AT + 1)
        assert not entry.is_purged
        assert replayed(project) == rows_of(project)
        assert {change.table for change in entry.changes} >= {"memory", "passage", "usage", "record"}

    def test_numbers_of_records_have_no_gap_and_each_record_a_hash(self, store: Store, project: Project) -> None:
        for number in range(4):
            with pytest.raises(ValueError, match="stop"):
                fail_in(project, lambda write: write.put_record("session", "lost", {}, version=0))
            assert add(store, project, make_outcome(task_description=f"Task {number}")) == number + 1
        assert [entry.seq for entry in project.entries()] == [1, 2, 3, 4]
        hashes = [project.head_at(seq) for seq in (1, 2, 3, 4)]
        assert len(set(hashes)) == 4
        assert all(bytes.fromhex(each) for each in hashes)
        assert (project.head_at(5), project.head_at(0)) == ("", "")

    def test_usage_adds_up_never_below_0_and_an_unknown_memory_is_an_error(self, store: Store, project: Project) -> None:
        memory = make_outcome()
        add(store, project, memory)
        counted: list[dict[str, float]] = [
            {"used": 1},
            {"used": 2, "thumbs_up": 1},
            {"ignored": 3, "thumbs_down": 1},
            {"credited_successes": 0.75, "credited_trials": 1.0},
            {"credited_successes": -0.5, "used": -9},
        ]
        for counts in counted:
            with project.write(actor="agent", operation="usage", at=AT) as write:
                write.count_usage({memory.id: counts})
        (found,) = project.candidates([row_of(project, memory)])
        assert (found.used, found.ignored, found.thumbs_up, found.thumbs_down) == (0, 3, 1, 1)
        assert (found.credited_successes, found.credited_trials) == (0.25, 1.0)
        with project.write(actor="agent", operation="usage", at=AT) as write, pytest.raises(MemoryNotFoundError):
            write.count_usage({"nobody": {"used": 1}})

    def test_a_small_record_is_put_only_over_the_version_that_was_read(self, project: Project) -> None:
        assert record(project, "session", "s1") == (0, {})
        put(project, "session", "s1", {"step": [1]}, version=0)
        put(project, "session", "s1", {"step": "two"}, version=1)
        for version in (0, 1, 3):
            with pytest.raises(ConflictError):
                put(project, "session", "s1", {"step": "lost"}, version=version)
        assert record(project, "session", "s1") == (2, {"step": "two"})
        assert record(project, "session", "s2") == record(project, "other", "s1") == (0, {})

    def test_many_small_records_are_put_together_or_none(self, project: Project) -> None:
        put(project, "session", "s1", {"step": 1}, version=0)
        with project.write(actor="agent", operation="save", at=AT + 1) as write:
            write.put_records({("session", "s1"): (1, {"step": 2}), ("session", "s2"): (0, {}), ("other", "s1"): (0, {"n": 1})})
            assert write.stored.record("session", ["s1", "s2"]) == {"s1": (2, {"step": 2}), "s2": (1, {})}
            write.put_record("session", "s1", {"step": 3}, version=2)
            write.put_records({})
        after = rows_of(project)
        for name, version in ((("session", "s1"), 2), (("session", "s2"), 0), (("session", "s3"), 1)):
            with pytest.raises(ConflictError), project.write(actor="agent", operation="save", at=AT + 2) as write:
                write.put_records({("session", "new"): (0, {}), name: (version, {"step": "lost"})})
        assert rows_of(project) == after
        assert replayed(project) == rows_of(project)

    def test_a_write_puts_no_small_record_over_one_that_it_took_away(self, project: Project) -> None:
        put(project, "session", "s1", {"step": 1}, version=0)
        put(project, "session", "s2", {"step": 1}, version=0)
        taken = Change("record", "session/s2", {"version": 1, "body": {"step": 1}, "updated_at": AT}, None)
        with project.write(actor="agent", operation="save", at=AT + 1) as write:
            assert write.stored.record("session", ["s1"]) == {"s1": (1, {"step": 1})}
            write.drop_record("session", "s1", {"step": 1}, version=1)
            assert write.stored.record("session", ["s2"]) == {"s2": (1, {"step": 1})}
            write.apply([taken])
            for key in ("s1", "s2"):
                with pytest.raises(ConflictError):
                    write.put_record("session", key, {"step": 2}, version=1)
        assert record(project, "session", "s1") == record(project, "session", "s2") == (0, {})

    def test_small_records_are_listed_by_key_or_the_newest_first(self, project: Project) -> None:
        for at, key in enumerate("bac"):
            put(project, "session", key, {"n": at}, version=0, at=AT + at)
        put(project, "session", "b", {"n": 9}, version=1, at=AT + 9)
        put(project, "other", "x", {}, version=0)
        assert list(project.records("session")) == [("a", 1, {"n": 1}), ("b", 2, {"n": 9}), ("c", 1, {"n": 2})]
        assert [key for key, _, _ in project.records("session", newest=2)] == ["b", "c"]
        assert list(project.records("nothing")) == []

    def test_small_records_are_listed_whose_key_is_under_another(self, project: Project) -> None:
        for key in ("a", "a/1", "a/2", "a/b/3", "a0", "ab/1", "b/1", "a."):
            put(project, "session", key, {}, version=0)
        put(project, "other", "a/4", {}, version=0)
        assert [key for key, _, _ in project.records("session", under="a")] == ["a/1", "a/2", "a/b/3"]
        assert list(project.records("session", under="c")) == []

    def test_a_small_record_that_came_to_be_before_its_write_counts_from_then(self, project: Project) -> None:
        put(project, "session", "b", {"n": 2}, version=0, at=AT + 2)
        with project.write(actor="agent", operation="save", at=AT + 3) as write:
            write.put_record("session", "a", {"n": 1}, version=0, at=AT + 1)
        assert [key for key, _, _ in project.records("session", newest=2)] == ["b", "a"]

    def test_an_archived_memory_is_out_of_every_search_until_it_is_brought_back(self, store: Store, project: Project) -> None:
        memory = make_outcome(task_description="Deploy the ledger")
        add(store, project, memory)
        row, before = row_of(project, memory), contents(project)
        change(project, memory, archived_at=AT + 5)
        assert project.find([memory.id])[memory.id].is_archived
        assert (list(project.candidates([row])), found_by_words(project, "ledger"), list(project.counts())) == ([], set(), [])
        change(project, memory, archived_at=None)
        assert contents(project) == before
        assert len(project.candidates([row])) == 1

    def test_fields_of_a_memory_can_be_changed(self, store: Store, project: Project) -> None:
        memory = make_outcome(project_id="shop")
        add(store, project, memory)
        change(project, memory, confidence=0.5, body={"user_feedback": "Well done"})
        (found,) = stored_memories(project, [memory])
        changed = {"confidence": 0.5, "user_feedback": "Well done", "updated_at": found.updated_at}  # type: ignore[attr-defined]
        assert found == memory.model_copy(update=changed)
        with pytest.raises(MemoryNotFoundError):
            change(project, make_outcome(), confidence=0.5)

    def test_a_replacement_takes_the_place_of_a_memory(self, store: Store, project: Project) -> None:
        memory = make_outcome(project_id="shop", task_description="Deploy the ledger")
        add(store, project, memory)
        changed = memory.model_copy(update={"task_description": "Deploy the website"})
        with project.write(actor="agent", operation="edit", at=AT) as write:
            write.replace(changed, passages_of(changed), vectors_for(store, passages_of(changed)))
        assert stored_memories(project, [memory]) == [changed]
        assert [each.count for each in project.counts()] == [1]
        assert replayed(project) == rows_of(project)
        with project.write(actor="agent", operation="edit", at=AT) as write, pytest.raises(MemoryNotFoundError):
            write.replace(make_outcome(), [Passage(text="Nothing")], {})

    def test_a_replacement_is_archived_or_brought_back_by_the_same_write(self, store: Store, project: Project) -> None:
        memory = make_outcome(project_id="shop", task_description="Deploy the ledger")
        add(store, project, memory)
        for at, found in ((AT, 0), (None, 1)):
            changed = memory.model_copy(update={"task_description": f"Deploy the website {found}"})
            with project.write(actor="agent", operation="edit", at=AT) as write:
                write.replace(changed, passages_of(changed), vectors_for(store, passages_of(changed)), archived_at=at)
            assert project.find([memory.id])[memory.id].is_archived is (at is not None)
            assert len(found_by_words(project, "website")) == found
            assert stored_memories(project, [memory]) == [changed]
            assert replayed(project) == rows_of(project)
        assert store.verify().ok

    def test_changes_taken_back_and_made_again_give_the_same_rows(self, store: Store, project: Project) -> None:
        old = make_outcome(task_description="Deploy the service")
        add(store, project, old)
        before = contents(project)
        with project.write(actor="agent", operation="everything", at=AT + 1) as write:
            do_everything(store, write, old)
        after, words = contents(project), found_by_words(project, "ledger", "service")
        changes = net(change for entry in project.entries(after=1) for change in entry.changes)
        with project.write(actor="agent", operation="undo", at=AT + 2) as write:
            write.apply(reversed_changes(changes))
        assert contents(project) == before
        assert len(found_by_words(project, "ledger", "service")) == 1
        texts = [Passage(text=(change.after or {})["text"]) for change in changes if change.table == "passage"]
        with project.write(actor="agent", operation="redo", at=AT + 3) as write:
            write.apply(changes, vectors_for(store, texts))
        assert contents(project) == after
        assert len(found_by_words(project, "ledger", "service")) == len(words)
        assert replayed(project) == rows_of(project)
        assert store.verify().ok

    def test_a_change_that_does_not_fit_is_a_conflict_and_changes_nothing(self, store: Store, project: Project) -> None:
        add(store, project, make_outcome())
        (entry,) = project.entries()
        before = contents(project)
        with pytest.raises(ConflictError):
            fail_in(project, lambda write: write.apply(entry.changes))
        assert contents(project) == before

    def test_vectors_are_kept_by_text(self, store: Store, project: Project) -> None:
        memory = make_outcome(task_description="Deploy the ledger")
        add(store, project, memory)
        wanted = vectors_for(store, passages_of(memory))
        assert project.vectors(["Deploy the ledger", "Something else"]) == wanted
        add(store, project, make_outcome(task_description="Deploy the ledger"))
        (change, *_) = (each for each in project.changes(after=1) if len(each.passages))
        assert change.vectors.astype("<f2").tobytes() == wanted["Deploy the ledger"]

    def test_candidates_tell_what_ranking_needs(self, store: Store, project: Project) -> None:
        heuristic, outcome = make_heuristic(confidence=0.5), make_outcome()
        add(store, project, heuristic, outcome)
        rows = [row_of(project, memory) for memory in (heuristic, outcome)]
        found = {each.memory: each for each in project.candidates([*rows, 10**9])}
        assert set(found) == set(rows)
        first = found[rows[0]]
        assert (first.confidence, first.successes, first.trials, first.seen_at) == (0.5, 4.0, 5.0, AT)
        assert first.partition != found[rows[1]].partition
        assert (first.used, first.ignored, first.thumbs_up, first.thumbs_down) == (0, 0, 0, 0)
        assert (first.credited_successes, first.credited_trials) == (0, 0)

    def test_equal_contents_have_equal_hashes_and_ties_whoever_owns_them(self, store: Store, project: Project) -> None:
        same = [make_outcome(agent=name) for name in ("ann", "bob")]
        other = make_outcome(strategy_used="Canary")
        add(store, project, *same, other)
        found = {each.memory: each.content_hash for each in project.candidates([row_of(project, m) for m in (*same, other)])}
        assert found[row_of(project, same[0])] == found[row_of(project, same[1])] != found[row_of(project, other)]
        changes = list(project.changes(after=0))
        memories, ties = (np.concatenate([getattr(each, name) for each in changes]).tolist() for name in ("memories", "ties"))
        by_row = dict(zip(memories, ties, strict=True))
        assert by_row[row_of(project, same[0])] == by_row[row_of(project, same[1])] != by_row[row_of(project, other)]

    def test_partitions_are_told_by_owner_and_kind(self, store: Store, project: Project) -> None:
        memories = [
            make_outcome(agent="ann"),
            make_heuristic(agent="ann"),
            make_outcome(agent="bob"),
            make_user_preference(user_id="ann"),
        ]
        add(store, project, *memories)
        wanted = [
            (False, "ann", "outcome"),
            (False, "ann", "heuristic"),
            (False, "bob", "outcome"),
            (True, "ann", "user_preference"),
        ]
        partitions = project.partitions()
        assert {(each.is_user, each.owner, each.kind) for each in partitions.values()} == set(wanted)
        assert all(row == each.row for row, each in partitions.items())
        for memory, (is_user, owner, kind) in zip(memories, wanted, strict=True):
            place = project.find([memory.id]).get(memory.id)
            assert place is not None
            assert place.partition == Partition(place.partition.row, is_user, owner, kind)


def put(project: Project, kind: str, key: str, body: dict[str, Any], *, version: int, at: int = AT) -> None:
    """Stores a small record in a write of its own."""
    with project.write(actor="agent", operation="save", at=at) as write:
        write.put_record(kind, key, body, version=version)


def change(project: Project, memory: Memory, **columns: Any) -> None:
    """Changes a memory in a write of its own."""
    with project.write(actor="agent", operation="change", at=AT) as write:
        write.change_memory(memory.id, **columns)


def fail_in(project: Project, work: Callable[[Write], None], error: type[BaseException] = ValueError) -> None:
    """Starts a write that does some work and then fails."""
    with project.write(actor="agent", operation="learn", at=AT + 1) as write:
        write.put_record("session", "before", {}, version=0)
        work(write)
        raise error("stop")


def do_everything(store: Store, write: Write, old: Memory) -> None:
    """Adds, counts, stores and changes in one write."""
    new = make_outcome(task_description="Deploy the ledger", agent="newcomer")
    write.add(new, passages_of(new), vectors_for(store, passages_of(new)))
    write.count_usage({old.id: {"used": 1}})
    write.put_record("session", "s1", {"step": 1}, version=0)
    write.change_memory(old.id, confidence=0.5)


def everything(project: Project) -> tuple[object, ...]:
    """Returns everything that can be read of a project."""
    return (
        rows_of(project),
        project.head(),
        [entry.seq for entry in project.entries()],
        dict(project.partitions()),
        list(project.counts()),
        project.vectors(["Deploy the ledger", "Deploy the service"]),
        found_by_words(project, "ledger", "service"),
        [(each.upto, each.passages.tolist(), each.removed.tolist()) for each in project.changes(after=0)],
        record(project, "session", "s1"),
        project.usage_totals(),
    )
