"""Contract of a store for history and forgetting."""

import json
from datetime import timedelta

from alma.journal import tombstones
from alma.protocols import Project, Store
from alma.types.identity import to_micros
from alma_testing.builders import make_heuristic, make_outcome, make_user_preference
from alma_testing.clocks import START
from alma_testing.contracts.store_writing import change, put
from alma_testing.contracts.stored import AT, WithStore, add, found_by_words, record, replayed, row_of, rows_of

TELLTALE = "Zanzibar-4711"


class StoreRemembers(WithStore):
    """`rows`, `entries`, `stale`, `purge`."""

    def test_the_journal_tells_what_changed_a_memory_oldest_first(self, store: Store, project: Project) -> None:
        one, other = make_outcome(), make_heuristic()
        add(store, project, one)
        add(store, project, other)
        change(project, one, confidence=0.5)
        with project.write(actor="agent", operation="usage", at=AT) as write:
            write.count_usage({one.id: {"used": 1}})
        assert [entry.seq for entry in project.entries(memory_ids=[one.id])] == [1, 3, 4]
        assert [entry.seq for entry in project.entries(memory_ids=[one.id], after=1)] == [3, 4]
        assert [entry.seq for entry in project.entries(after=2)] == [3, 4]
        assert list(project.entries(memory_ids=["nobody"])) == []
        assert [entry.seq for entry in project.entries(memory_ids=[one.id, other.id, one.id])] == [1, 2, 3, 4]

    def test_replaying_the_journal_gives_the_rows_archived_ones_too(self, store: Store, project: Project) -> None:
        memory = make_outcome()
        add(store, project, memory, make_user_preference())
        put(project, "session", "s1", {"step": 1}, version=0)
        put(project, "session", "s1", {"step": 2}, version=1)
        change(project, memory, archived_at=AT)
        assert replayed(project) == rows_of(project)
        assert ("memory", memory.id) in rows_of(project)
        assert all(stored.fault == "" for stored in project.rows())

    def test_stale_memories_are_old_and_doubtful_and_not_archived(self, store: Store, project: Project) -> None:
        old, doubtful, archived, both = (
            make_outcome(timestamp=START - timedelta(days=9)),
            make_outcome(confidence=0.1),
            make_outcome(timestamp=START - timedelta(days=9), confidence=0.1),
            make_outcome(timestamp=START - timedelta(days=9), confidence=0.1),
        )
        add(store, project, old, doubtful, archived, both, make_heuristic(confidence=0.1))
        change(project, archived, archived_at=AT)
        place = project.find([old.id]).get(old.id)
        assert place is not None
        partitions, before = [place.partition.row], to_micros(START - timedelta(days=5))
        assert set(project.stale(partitions, seen_before=before, below=None)) == {old.id, both.id}
        assert set(project.stale(partitions, seen_before=None, below=0.5)) == {doubtful.id, both.id}
        assert list(project.stale(partitions, seen_before=before, below=0.5)) == [both.id]
        assert list(project.stale([], seen_before=None, below=None)) == []

    def test_memories_within_times_were_seen_and_made_then_and_are_not_archived(self, store: Store, project: Project) -> None:
        days = [START - timedelta(days=number) for number in range(6)]
        early = make_outcome(created_at=days[4], timestamp=days[5])
        late = make_outcome(created_at=days[2], timestamp=days[3])
        told_later = make_outcome(created_at=days[0], timestamp=days[5])
        archived = make_outcome(created_at=days[4], timestamp=days[3])
        add(store, project, early, late, told_later, archived, make_heuristic())
        change(project, archived, archived_at=AT)
        place = project.find([early.id]).get(early.id)
        assert place is not None
        at, partitions = [to_micros(day) for day in days], [place.partition.row]
        one, two, three = (row_of(project, memory) for memory in (early, late, told_later))
        assert list(project.within(partitions)) == [one, two, three]
        assert list(project.within(partitions, since=at[3])) == list(project.within(partitions, since=at[4])) == [two]
        assert list(project.within(partitions, until=at[5])) == list(project.within(partitions, until=at[4])) == [one, three]
        assert list(project.within(partitions, known_by=at[4])) == [one]
        assert list(project.within(partitions, since=at[5], until=at[3], known_by=at[2])) == [one, two]
        assert list(project.within(partitions, since=at[2])) == list(project.within([])) == []
        other = row_of(project, archived)
        assert list(project.within(partitions, until=at[4], among=[three, two, one, other])) == [one, three]
        assert list(project.within(partitions, until=at[4], among=[three, 10**9])) == [three]
        assert list(project.within(partitions, among=[])) == list(project.within([], among=[one])) == []

    def test_a_purged_memory_is_gone_and_the_rest_is_as_it_was(self, store: Store, project: Project) -> None:
        secret, other = make_outcome(task_description=TELLTALE, strategy_used=""), make_heuristic()
        add(store, project, secret, other)
        put(project, "session", "s1", {"step": 1}, version=0)
        with project.write(actor="agent", operation="usage", at=AT) as write:
            write.count_usage({secret.id: {"used": 1}})
        kept = {key: row for key, row in rows_of(project).items() if secret.id not in key[1]}
        erased = project.purge([secret.id, "nobody"], records=[], actor="agent", at=AT + 1)
        assert erased is not None
        assert (erased.seq, list(erased.known)) == (4, [secret.id])
        assert project.find([secret.id]) == {}
        assert found_by_words(project, "zanzibar") == set()
        assert project.vectors([TELLTALE]) == {}
        assert rows_of(project) == kept
        assert store.verify().ok

    def test_the_journal_of_what_was_purged_keeps_its_chain_and_the_rest(self, store: Store, project: Project) -> None:
        secret, other = make_outcome(task_description=TELLTALE), make_heuristic()
        add(store, project, secret, other)
        add(store, project, make_outcome())
        hashes = [project.head_at(1), project.head_at(2)]
        project.purge([secret.id], records=[], actor="agent", at=AT + 1)
        entries = list(project.entries())
        assert [(entry.seq, entry.is_purged) for entry in entries] == [(1, True), (2, False), (3, False)]
        assert [project.head_at(1), project.head_at(2)] == hashes
        written = json.dumps(
            [[change.table, change.key, change.before, change.after] for entry in entries for change in entry.changes]
        )
        assert TELLTALE not in written
        assert secret.id not in written
        assert other.id in written

    def test_a_purged_id_is_known_as_purged_and_no_other(self, store: Store, project: Project) -> None:
        secret, other = make_outcome(task_description=TELLTALE), make_outcome()
        add(store, project, secret, other)
        project.purge([secret.id], records=[], actor="agent", at=AT + 1)
        assert project.was_purged(secret.id)
        assert not project.was_purged(other.id)
        assert not project.was_purged("nobody")
        assert not store.project("lab").was_purged(secret.id)

    def test_what_another_project_purged_is_noted_and_stated(self, store: Store, project: Project) -> None:
        add(store, project, make_outcome())
        before = rows_of(project)
        with project.write(actor="", operation="import", at=AT) as write:
            write.apply([tombstones(["purged elsewhere"], b"salt")])
        assert project.was_purged("purged elsewhere")
        assert rows_of(project) == before
        with project.snapshot() as snapshot:
            assert [bytes.fromhex(stated.salt) for stated in snapshot.purged()] == [b"salt"]
        with project.snapshot(agent="agent") as snapshot:
            assert list(snapshot.purged()) == []
        assert store.verify().ok

    def test_purging_what_was_never_there_does_nothing(self, store: Store, project: Project) -> None:
        add(store, project, make_outcome())
        assert project.purge(["nobody"], records=["session/none"], actor="agent", at=AT) is None
        assert project.head() == 1

    def test_what_names_a_purged_memory_is_left_and_told(self, store: Store, project: Project) -> None:
        secret, other = make_outcome(task_description=TELLTALE), make_heuristic(metadata={"like": TELLTALE})
        add(store, project, secret, other)
        put(project, "session", "s1", {"shown": [secret.id]}, version=0)
        erased = project.purge([secret.id], records=[], actor="agent", at=AT)
        assert erased is not None
        assert any("session/s1" in name for name in erased.left)
        assert any(other.id in name for name in erased.left)
        assert sum(erased.counts.values()) > 0
        assert record(project, "session", "s1") == (1, {"shown": [secret.id]})

    def test_small_records_can_be_purged(self, store: Store, project: Project) -> None:
        put(project, "session", "s1", {"text": TELLTALE}, version=0)
        put(project, "session", "s2", {"text": "other"}, version=0)
        assert project.purge([], records=["session/s1"], actor="agent", at=AT) is not None
        assert record(project, "session", "s1") == (0, {})
        assert record(project, "session", "s2") == (1, {"text": "other"})

    def test_row_numbers_are_never_used_twice(self, store: Store, project: Project) -> None:
        seen: set[int] = set()
        passages: set[int] = set()
        for number in range(3):
            memory = make_outcome(task_description=f"Task {number}")
            add(store, project, memory)
            live = [row for change in project.changes(after=0) for row in change.passages.tolist()]
            assert row_of(project, memory) not in seen
            assert not passages.intersection(live)
            seen.add(row_of(project, memory))
            passages.update(live)
            project.purge([memory.id], records=[], actor="agent", at=AT)
