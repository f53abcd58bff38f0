"""Contract of a store for reading: whole, consistent, fresh, of one project, from any number of threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.errors import ConflictError, StorageError
from alma.protocols import ListsProjects, Project, Snapshotable, Store
from alma.types.memories import Outcome, passages_of
from alma_testing.builders import make_domain_knowledge, make_heuristic, make_outcome, make_user_preference
from alma_testing.clocks import START
from alma_testing.contracts.brute_force import BruteForce
from alma_testing.contracts.store_writing import change, everything, put
from alma_testing.contracts.stored import (
    AT,
    DAY,
    OpenStore,
    WithStore,
    add,
    found_by_words,
    replayed,
    row_of,
    rows_of,
    stored_memories,
    vectors_for,
)
from alma_testing.contracts.texts import few_examples


class StoreKeeps(WithStore):
    """The store as a whole."""

    def test_a_project_that_was_never_written_to_reads_as_empty(self, store: Store, project: Project) -> None:
        nothing: tuple[object, ...] = ({}, 0, [], {}, [], {}, set())
        assert everything(project)[:7] == nothing
        assert [each.passages.tolist() for each in project.changes(after=0) if len(each.passages)] == []
        assert (project.find(["nobody"]), project.head_at(1), project.memories([1]), project.name) == ({}, "", {}, "shop")
        assert not project.was_purged("nobody")
        assert store.verify().ok
        if isinstance(store, ListsProjects):
            assert list(store.project_names()) == []

    def test_what_was_written_is_there_when_the_store_is_opened_again(self, open_store: OpenStore, tmp_path: Path) -> None:
        memory = make_outcome(project_id="shop")
        first = open_store(tmp_path / "kept")
        add(first, first.project("shop"), memory)
        before = first.id, first.fingerprint, everything(first.project("shop"))
        first.close()
        second = open_store(tmp_path / "kept")
        assert (second.id, second.fingerprint, everything(second.project("shop"))) == before
        assert stored_memories(second.project("shop"), [memory]) == [memory]
        second.close()

    def test_no_two_stores_have_one_id(self, store: Store, open_store: OpenStore, tmp_path: Path) -> None:
        other = open_store(tmp_path / "other")
        assert other.id != store.id
        other.close()

    def test_a_closed_store_refuses(self, open_store: OpenStore, tmp_path: Path) -> None:
        store = open_store(tmp_path / "closed")
        project = store.project("shop")
        add(store, project, make_outcome())
        store.close()
        with pytest.raises(StorageError):
            project.head()
        with pytest.raises(StorageError):
            put(project, "session", "s1", {}, version=0)

    def test_a_store_that_is_whole_is_verified_so(self, store: Store, project: Project) -> None:
        add(store, project, make_outcome(), make_heuristic())
        add(store, store.project("lab"), make_outcome())
        report = store.verify()
        assert (report.problems, report.projects, report.memories, report.records) == ((), 2, 3, 2)
        assert report.heads == {name: store.project(name).head_at(1) for name in ("shop", "lab")}

    def test_it_has_a_size_and_compacting_changes_nothing_that_is_read(self, store: Store, project: Project) -> None:
        add(store, project, make_outcome())
        before = everything(project)
        assert store.size() > 0
        assert store.compact()
        assert everything(project) == before
        assert store.verify().ok

    def test_projects_are_listed_once_they_hold_something(self, store: Store, project: Project) -> None:
        if not isinstance(store, ListsProjects):
            pytest.skip("this store does not list its projects")
        for name in ("shop", "lab", "'; DROP TABLE memory; --"):
            add(store, store.project(name), make_outcome())
        assert sorted(store.project_names()) == sorted(["shop", "lab", "'; DROP TABLE memory; --"])

    def test_nothing_of_a_project_is_seen_in_another(self, store: Store, project: Project) -> None:
        lab = store.project("lab")
        memory = make_outcome(task_description="Deploy the ledger")
        add(store, lab, memory)
        put(lab, "session", "s1", {"secret": 1}, version=0)
        assert everything(project) == everything(store.project("never"))
        assert project.find([memory.id]) == {}
        before = everything(lab)
        add(store, project, make_outcome(task_description="Deploy the service"))
        assert everything(lab) == before
        assert [entry.seq for entry in project.entries()] == [1]

    def test_what_another_process_wrote_is_seen_at_once(self, store: Store, project: Project, again: Store) -> None:
        other = again.project("shop")
        for number in range(3):
            memory = make_outcome(task_description=f"Ledger {number}", agent=f"agent{number}", project_id="shop")
            add(store, project, memory)
            assert everything(other) == everything(project)
            assert stored_memories(other, [memory]) == [memory]
            add(again, other, make_heuristic(agent=f"other{number}"))
            assert project.head() == 2 * number + 2
            assert len(project.partitions()) == 2 * number + 2

    def test_a_small_record_that_another_process_changed_is_a_conflict(
        self, project: Project, store: Store, again: Store
    ) -> None:
        put(project, "session", "s1", {"step": 1}, version=0)
        put(again.project("shop"), "session", "s1", {"step": 2}, version=1)
        with pytest.raises(ConflictError):
            put(project, "session", "s1", {"step": 3}, version=1)

    def test_caches_that_were_saved_are_read_anew(self, store: Store, project: Project, again: Store) -> None:
        reading = again.project("shop")
        if not (isinstance(project, Snapshotable) and isinstance(reading, Snapshotable)):
            pytest.skip("caches of this store are not saved")
        assert [len(each) for each in project.vectors_at([1, 2])] == [0, 0]
        assert project.text_lengths().upto == 0
        add(store, project, *(make_outcome(task_description=f"Task {number}") for number in range(3)))
        (changes,) = (each for each in project.changes(after=0) if len(each.passages))
        wanted = changes.passages.tolist()
        found, vectors = reading.vectors_at([*reversed(wanted), wanted[-1] + 77])
        assert {row: vector.tobytes() for row, vector in zip(found.tolist(), vectors, strict=True)} == {
            row: vector.tobytes() for row, vector in zip(wanted, changes.vectors, strict=True)
        }
        words = found_by_words(project, "task")
        lengths = project.text_lengths()
        assert lengths.upto == project.head()
        assert len(lengths.memories) == 3
        reading.hold_text_lengths(lengths)
        assert found_by_words(reading, "task") == words
        add(store, project, make_outcome(task_description="Task 4"))
        assert found_by_words(reading, "task") == found_by_words(project, "task")
        assert reading.text_lengths().memories.tolist() == project.text_lengths().memories.tolist()

    @pytest.mark.parametrize("of_one_moment", ["rows", "entries", "changes", "records"])
    def test_what_is_written_during_a_reading_is_not_in_it(
        self, store: Store, project: Project, again: Store, of_one_moment: str
    ) -> None:
        readings: dict[str, Callable[[], Iterable[object]]] = {
            "rows": project.rows,
            "entries": project.entries,
            "changes": lambda: project.changes(after=0),
            "records": lambda: project.records("session"),
        }
        for number in range(3):
            add(store, project, make_outcome(task_description=f"Task {number}"))
            put(project, "session", f"s{number}", {}, version=0)
        whole = len(list(readings[of_one_moment]()))
        reading = iter(readings[of_one_moment]())
        next(reading)
        add(again, again.project("shop"), make_outcome(task_description="Later"))
        put(again.project("shop"), "session", "s9", {}, version=0)
        assert len(list(reading)) == whole - 1
        assert project.head() == 8

    def test_a_moment_stays_as_it_is_whatever_is_written_meanwhile(self, store: Store, project: Project, again: Store) -> None:
        def read() -> tuple[object, ...]:
            taken_in = [each.passages.tolist() for each in project.changes(after=0)]
            return (
                project.head(),
                found_by_words(project, "ledger"),
                taken_in,
                project.candidates([1, 2]),
                len(project.memories([1, 2])),
            )

        add(store, project, make_outcome(task_description="Ledger of today"))
        with project.moment():
            before = read()
            add(again, again.project("shop"), make_outcome(task_description="Ledger of tomorrow"))
            assert read() == before
        assert all(one != other for one, other in zip(read(), before, strict=True))

    def test_any_history_gives_an_index_the_same_passages_at_once_or_bit_by_bit(self, store: Store) -> None:
        steps = st.lists(
            st.tuples(st.sampled_from(["add", "archive", "restore", "replace"]), st.integers(0, 5)), min_size=1, max_size=8
        )
        number = iter(range(10**6))

        @few_examples
        @given(steps=steps)
        def check(steps: list[tuple[str, int]]) -> None:
            project = store.project(f"project {next(number)}")
            fed, at_once = BruteForce(), BruteForce()
            live = play(store, project, steps, lambda: feed(fed, project))
            feed(at_once, project)
            assert passages_in(fed) == passages_in(at_once)
            assert fed.upto == at_once.upto == project.head()
            assert {held.memory for held in fed.live.values()} == {row_of(project, memory) for memory in live}
            assert found_by_words(project, "task") == {row_of(project, memory) for memory in live}
            assert sum(each.count for each in project.counts()) == len(live)
            assert replayed(project) == rows_of(project)

        check()
        assert store.verify().ok

    def test_threads_that_write_at_the_same_time_leave_one_chain(self, store: Store, project: Project) -> None:
        def work(agent: int) -> list[int]:
            return [add(store, project, make_outcome(agent=f"agent{agent}", task_description=f"Task {n}")) for n in range(8)]

        with ThreadPoolExecutor(4) as pool:
            numbers = [seq for some in pool.map(work, range(4)) for seq in some]
        assert sorted(numbers) == list(range(1, 33))
        assert [entry.seq for entry in project.entries()] == list(range(1, 33))
        assert sum(each.count for each in project.counts()) == 32
        assert store.verify().ok

    def test_a_reader_meets_a_write_whole_or_not_at_all_new_owners_too(self, store: Store, project: Project) -> None:
        def work() -> None:
            for number in range(16):
                agent = f"agent{number}"
                add(store, project, make_outcome(agent=agent, task_description=f"Task {number}"), make_heuristic(agent=agent))

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(work)
            seen = 0
            while not writing.done():
                for count in (sum(each.count for each in project.counts()), sum(each.count for each in project.growth())):
                    assert count % 2 == 0
                    assert count >= 2 * seen
                assert sum(len(each.passages) for each in project.changes(after=0)) % 2 == 0
                assert len(found_by_words(project, "task", "service")) % 2 == 0
                assert project.head() >= seen
                seen = project.head()
            writing.result()
        assert project.head() == 16
        assert len(project.partitions()) == 32


class StoreFigures(WithStore):
    """Figures for display."""

    def test_memories_are_counted_by_partition_and_day(self, store: Store, project: Project) -> None:
        days = [START + timedelta(days=number) for number in (0, 0, 2)]
        memories = [make_outcome(created_at=day, timestamp=day) for day in days]
        add(store, project, *memories, make_heuristic(created_at=days[2], last_validated=days[2] + timedelta(days=1)))
        archived = make_outcome(created_at=START - timedelta(days=9))
        add(store, project, archived)
        change(project, archived, archived_at=AT)
        counts = {each.partition.kind: (each.count, each.oldest, each.newest) for each in project.counts()}
        assert counts == {"outcome": (3, days[0], days[2]), "heuristic": (1, days[2], days[2])}
        growth = [(each.day, each.partition.kind, each.count) for each in project.growth()]
        assert [day for day, _, _ in growth] == sorted(day for day, _, _ in growth)
        assert set(growth) == {(days[0].date(), "outcome", 2), (days[2].date(), "outcome", 1), (days[2].date(), "heuristic", 1)}

    def test_the_results_of_a_day_are_summed(self, store: Store, project: Project) -> None:
        add(store, project, *(make_outcome(outcome=verdict) for verdict in ("success", "partial", "failure", "unverified")))
        later = make_outcome(created_at=START + timedelta(days=1), timestamp=START + timedelta(days=1))
        add(store, project, later)
        sums = [(each.count, each.trials, each.successes) for each in project.growth()]
        assert sums == [(4, 3.0, 1.5), (1, 1.0, 1.0)]

    def test_a_memory_of_an_earlier_event_is_counted_on_its_day(self, store: Store, project: Project) -> None:
        past = START - timedelta(days=90)
        add(store, project, make_outcome(timestamp=past, created_at=START), make_domain_knowledge(last_verified=past))
        assert {(each.day, each.partition.kind) for each in project.growth()} == {
            (past.date(), "outcome"),
            (past.date(), "domain_knowledge"),
        }

    def test_the_journal_is_counted_by_operation_and_day_and_told_newest_first(self, store: Store, project: Project) -> None:
        for number, (operation, day) in enumerate([("learn", 0), ("learn", 0), ("add", 1), ("learn", 1)]):
            add(store, project, make_outcome(task_description=str(number)), operation=operation, at=AT + day * DAY)
        activity = [(each.day, each.operation, each.count) for each in project.activity()]
        assert [day for day, _, _ in activity] == sorted(day for day, _, _ in activity)
        first, second = START.date(), START.date() + timedelta(days=1)
        assert set(activity) == {(first, "learn", 2), (second, "add", 1), (second, "learn", 1)}
        assert [(each.seq, each.operation, each.actor) for each in project.newest_records(2)] == [
            (4, "learn", "agent"),
            (3, "add", "agent"),
        ]

    def test_the_memories_with_the_most_evidence_come_first(self, store: Store, project: Project) -> None:
        tried, used, old, new, archived = (
            make_heuristic(condition="Tried"),
            make_outcome(task_description="Used", timestamp=START - timedelta(days=9)),
            make_domain_knowledge(fact="Old", last_verified=START - timedelta(days=5)),
            make_domain_knowledge(fact="New"),
            make_heuristic(condition="Archived", occurrence_count=99),
        )
        add(store, project, tried, used, old, new, archived)
        change(project, archived, archived_at=AT)
        with project.write(actor="agent", operation="usage", at=AT) as write:
            write.count_usage({used.id: {"used": 1, "thumbs_up": 1}, old.id: {"ignored": 1}})
        rows = [row_of(project, memory) for memory in (used, tried, new, old)]
        assert list(project.telling(9)) == rows
        assert list(project.telling(2)) == rows[:2]
        totals = project.usage_totals()
        assert (totals.memories, totals.used, totals.ignored, totals.thumbs_up, totals.thumbs_down, totals.ever_used) == (
            2,
            1,
            1,
            1,
            0,
            1,
        )

    def test_sizes_are_those_of_what_is_stored(self, store: Store, project: Project) -> None:
        archived = make_outcome(task_description="Deploy")
        add(store, project, make_outcome(task_description="Deploy"), archived, make_user_preference())
        change(project, archived, archived_at=AT)
        sizes = project.sizes()
        assert (sizes.archived, sizes.passages, sizes.vectors, sizes.records, sizes.purged) == (1, 3, 2, 2, 0)
        assert min(sizes.text_bytes, sizes.vector_bytes, sizes.payload_bytes) > 0


def play(store: Store, project: Project, steps: list[tuple[str, int]], after_each: Callable[[], None]) -> list[Outcome]:
    """Adds, archives, restores and replaces memories. Returns those that are live at the end."""
    memories: list[Outcome] = []
    archived: set[str] = set()
    for number, (step, choice) in enumerate(steps):
        if step == "add" or not memories:
            memories.append(make_outcome(task_description=f"Task {number}"))
            add(store, project, memories[-1])
        else:
            chosen = memories[choice % len(memories)]
            if step == "replace" and chosen.id in archived:
                continue
            if step == "replace":
                chosen = chosen.model_copy(update={"task_description": f"Task {number} anew"})
                with project.write(actor="agent", operation="edit", at=AT) as write:
                    write.replace(chosen, passages_of(chosen), vectors_for(store, passages_of(chosen)))
            else:
                change(project, chosen, archived_at=AT if step == "archive" else None)
                (archived.add if step == "archive" else archived.discard)(chosen.id)
        after_each()
    return [memory for memory in memories if memory.id not in archived]


def feed(index: BruteForce, project: Project) -> None:
    """Applies the changes that the index has not seen."""
    for each in project.changes(after=index.upto):
        index.apply(each)


def passages_in(index: BruteForce) -> set[tuple[object, ...]]:
    """Returns the live passages, with their vectors."""
    return {(*held[:5], held.vector.tobytes()) for held in index.live.values()}
