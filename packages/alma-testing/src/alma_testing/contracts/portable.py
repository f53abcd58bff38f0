"""Contract of a store for lists, export and import."""

import base64
from collections.abc import Callable, Iterable
from datetime import timedelta

import pytest

from alma.errors import ConflictError
from alma.protocols import Project, Snapshot, Store
from alma.types.custom import DEFINITIONS
from alma.types.episodes import END, EPISODE, LEASE, STEP
from alma.types.exported import ExportedCounts, ExportedMemory, ExportedRecord, ExportedUsage
from alma.types.identity import owner_name, to_micros
from alma.types.memories import Memory, Passage, passages_of
from alma.types.strategies import RULE, WORKS, RuleRecord
from alma_testing.builders import make_domain_knowledge, make_heuristic, make_outcome, make_user_preference
from alma_testing.clocks import START
from alma_testing.contracts.store_writing import change, everything, put
from alma_testing.contracts.stored import (
    AT,
    WithStore,
    add,
    contents,
    replayed,
    row_of,
    rows_of,
    stored_memories,
    vector_of,
    vectors_for,
)

TIMES = ("seen_at", "created_at", "updated_at")
TURNS = (
    Passage(text="First", keywords="more words", speaker="user"),
    Passage(text="Second\n\u2028line", speaker="assistant", position=1, is_own=False),
)


class PortableContract(WithStore):
    """Promises of an `alma.protocols.Portable` project of a store: `snapshot`, `listed`, `writes`.

    A test class that inherits this defines a fixture `open_store`, as for `StoreContract`, of which this is a part.
    """

    def test_a_snapshot_of_a_project_that_was_never_written_to_is_empty(self, store: Store, project: Project) -> None:
        add(store, store.project("lab"), make_outcome())
        assert read(project) == ((0, ""), ExportedCounts(), [], [])

    def test_a_snapshot_has_each_memory_as_it_was_made_and_in_that_order(self, store: Store, project: Project) -> None:
        memories = [make_outcome(), make_heuristic(confidence=0.25), make_user_preference(), make_domain_knowledge()]
        for days, memory in enumerate(memories):
            at = START + timedelta(days=days)
            add(store, project, memory.model_copy(update={"created_at": at, "updated_at": at}))
        add(store, store.project("lab"), make_outcome())
        rows = rows_of(project)
        _, _, _, lines = read(project)
        assert [line.id for line in lines] == [memory.id for memory in memories]
        for line in lines:
            row = rows["memory", line.id]
            assert {name: to_micros(getattr(line, name)) for name in TIMES} == {name: row[name] for name in TIMES}
            plain = line.model_dump(include={"kind", "agent", "body", "confidence", "successes", "trials"})
            assert plain == {name: row[name] for name in plain}

    def test_a_memory_comes_with_its_passages_by_position_and_its_usage(self, store: Store, project: Project) -> None:
        memory, plain = make_domain_knowledge(), make_outcome()
        add(store, project, memory, passages=TURNS)
        add(store, project, plain)
        with project.write(actor="agent", operation="usage", at=AT) as write:
            write.count_usage({memory.id: {"used": 2, "thumbs_down": 1, "credited_successes": 0.25, "credited_trials": 0.75}})
        _, _, _, (line, other) = read(project)
        passages = [each.model_dump(exclude={"is_embedded", "vector"}) for each in line.passages]
        assert passages == [{name: getattr(turn, name) for name in passages[0]} for turn in TURNS]
        assert [each.is_embedded for each in line.passages] == [True, False]
        counted = ExportedUsage(used=2, ignored=0, thumbs_up=0, thumbs_down=1, credited_successes=0.25, credited_trials=0.75)
        assert (line.usage, other.usage) == (counted, None)

    def test_vectors_are_in_a_snapshot_where_they_are_asked_for(self, store: Store, project: Project) -> None:
        add(store, project, make_domain_knowledge(), passages=TURNS)
        with project.snapshot() as stored:
            (bare,), (full,) = list(stored.memories(vectors=False)), list(stored.memories(vectors=True))
        assert [each.vector for each in bare.passages] == [None, None]
        vector = base64.b64encode(vector_of("First", store.fingerprint.dimension)).decode()
        assert [each.vector for each in full.passages] == [vector, None]

    def test_archived_memories_are_in_a_snapshot_and_all_is_counted(self, store: Store, project: Project) -> None:
        memory = make_outcome()
        add(store, project, memory, make_heuristic(), make_user_preference())
        change(project, memory, archived_at=AT)
        put(project, "session", "s1", {}, version=0)
        _, counts, _, lines = read(project)
        assert counts == ExportedCounts(memories=3, archived=1, records=1)
        assert {line.id: line.archived_at for line in lines if line.archived_at} == {memory.id: START}
        assert len(lines) == 3

    def test_a_snapshot_has_the_small_records_by_kind_and_key(self, store: Store, project: Project) -> None:
        for kind, key in (("session", "b"), ("note", "z"), ("session", "a")):
            put(project, kind, key, {"of": [key]}, version=0)
        put(project, "session", "b", {"of": "b again"}, version=1, at=AT + 1_000_000)
        put(store.project("lab"), "session", "c", {}, version=0)
        later = START + timedelta(seconds=1)
        _, _, records, _ = read(project)
        assert records == [
            ExportedRecord(kind="note", key="z", version=1, updated_at=START, body={"of": ["z"]}),
            ExportedRecord(kind="session", key="a", version=1, updated_at=START, body={"of": ["a"]}),
            ExportedRecord(kind="session", key="b", version=2, updated_at=later, body={"of": "b again"}),
        ]

    def test_a_snapshot_of_an_agent_has_its_memories_and_rules_and_no_others(self, store: Store, project: Project) -> None:
        mine, archived = make_outcome(agent="ann"), make_heuristic(agent="ann")
        add(store, project, mine, make_outcome(agent="bob"), make_user_preference(user_id="ann"), archived)
        add(store, store.project("lab"), make_outcome(agent="ann"))
        change(project, archived, archived_at=AT)
        for name in ("ann", "bob", owner_name("ann", "eve")):
            put(project, RULE, f"of {name}", RuleRecord(name, 0, name, WORKS, ()).body(), version=0)
        head, counts, records, lines = read(project, agent="ann")
        assert {line.id for line in lines} == {mine.id, archived.id}
        assert {record.key for record in records} == {"of ann", f"of {owner_name('ann', 'eve')}"}
        assert counts == ExportedCounts(memories=2, archived=1, records=2)
        assert head == (5, project.head_at(5))
        assert read(project, agent="nobody")[1:] == (ExportedCounts(), [], [])

    def test_a_snapshot_of_an_agent_has_its_episodes_and_the_definitions_of_kinds(self, project: Project) -> None:
        for number, name in enumerate(("ann", "bob")):
            put(project, EPISODE, f"e{number}", {"agent": name}, version=0)
            put(project, STEP, f"e{number}/1", {"text": name}, version=0)
            put(project, END, f"e{number}", {"status": "success"}, version=0)
            put(project, LEASE, f"e{number}", {}, version=0)
        put(project, DEFINITIONS, "recipe", {}, version=0)
        put(project, "session", "e0", {}, version=0)
        of_all, of_ann = read(project), read(project, agent="ann")
        keys = {(record.kind, record.key) for record in of_ann[2]}
        assert keys == {(EPISODE, "e0"), (STEP, "e0/1"), (END, "e0"), (DEFINITIONS, "recipe")}
        assert (of_all[1].records, len(of_all[2]), of_ann[1].records) == (8, 8, 4)
        assert LEASE not in {record.kind for record in of_all[2]}

    def test_a_snapshot_is_of_one_moment(self, store: Store, project: Project, again: Store) -> None:
        memories = [make_outcome(task_description=f"Task {number}") for number in range(2)]
        add(store, project, *memories)
        put(project, "session", "s1", {"step": 1}, version=0)
        before, other = read(project), again.project("shop")
        with project.snapshot() as stored:
            assert stored.head() == (2, project.head_at(2))
            first = next(lines := stored.memories(vectors=False))
            add(again, other, make_outcome(task_description="Later"))
            change(other, memories[1], archived_at=AT)
            put(other, "session", "s1", {"step": 2}, version=1)
            put(other, "session", "s2", {}, version=0)
            assert [first, *lines] == before[3]
            assert lines_of(stored) == before
        after = read(project)
        assert after[0] == (6, project.head_at(6))
        assert after[1] == ExportedCounts(memories=3, archived=1, records=2)

    def test_memories_are_listed_by_the_time_they_were_made(self, store: Store, project: Project) -> None:
        rows = made_on(store, project, 3, 0, 2, 1)
        by_time = [rows[number] for number in (1, 3, 2, 0)]
        assert listed(project, project.partitions()) == by_time
        assert listed(project, project.partitions(), newest_first=True) == by_time[::-1]

    def test_a_list_is_as_long_as_was_asked_and_begins_when_it_was_asked(self, store: Store, project: Project) -> None:
        rows = made_on(store, project, 0, 2, 4)
        partitions, since = project.partitions(), to_micros(START + timedelta(days=1))
        assert listed(project, partitions, limit=2) == rows[:2]
        assert listed(project, partitions, limit=2, newest_first=True) == rows[:0:-1]
        assert listed(project, partitions, since=since) == rows[1:]
        assert listed(project, partitions, since=since, limit=1) == rows[1:2]

    def test_only_what_is_in_the_partitions_and_not_archived_is_listed(self, store: Store, project: Project) -> None:
        mine, other, archived = make_outcome(agent="ann"), make_outcome(agent="bob"), make_outcome(agent="ann")
        add(store, project, mine, other, archived)
        change(project, archived, archived_at=AT)
        partition = {each.owner: row for row, each in project.partitions().items()}
        assert listed(project, [partition["ann"]]) == [row_of(project, mine)]
        assert set(listed(project, partition.values())) == {row_of(project, mine), row_of(project, other)}
        assert listed(project, []) == []

    def test_nothing_of_another_project_is_listed(self, store: Store, project: Project) -> None:
        lab, mine = store.project("lab"), make_outcome()
        add(store, lab, make_outcome())
        assert listed(project, lab.partitions()) == []
        add(store, project, mine)
        assert listed(project, [*lab.partitions(), *project.partitions()]) == [row_of(project, mine)]

    def test_each_of_the_writes_of_a_large_call_has_a_record_of_its_own(self, store: Store, project: Project) -> None:
        add(store, project, make_outcome())
        memories = [make_outcome(task_description=f"Task {number}", project_id="shop") for number in range(3)]
        assert add_each(store, project, *memories) == [2, 3, 4]
        entries = list(project.entries(after=1))
        written = [(each.seq, each.actor, each.operation, each.at) for each in entries]
        assert written == [(seq, "agent", "import", AT) for seq in (2, 3, 4)]
        for memory, entry in zip(memories, entries, strict=True):
            assert [each.key for each in entry.changes if each.table == "memory"] == [memory.id]
        assert len({project.head_at(seq) for seq in (1, 2, 3, 4)}) == 4
        assert stored_memories(project, memories) == memories
        assert replayed(project) == rows_of(project)
        assert store.verify().ok

    def test_all_writes_of_a_large_call_land_together(self, store: Store, project: Project, again: Store) -> None:
        other = again.project("shop")
        with project.writes(actor="agent", operation="import", at=AT) as begin:
            for number in range(2):
                memory = make_outcome(task_description=f"Task {number}")
                with begin() as write:
                    write.add(memory, passages_of(memory), vectors_for(store, passages_of(memory)))
                assert (other.head(), rows_of(other)) == (0, {})
        assert other.head() == project.head() == 2

    @pytest.mark.parametrize("is_inside", [True, False], ids=["inside a write", "between two"])
    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_an_exception_undoes_every_write_of_a_large_call(
        self, store: Store, project: Project, error: type[BaseException], is_inside: bool
    ) -> None:
        add(store, project, make_outcome(task_description="Deploy the service"))
        before, memory = everything(project), make_outcome(task_description="Deploy the ledger", agent="newcomer")

        def work() -> None:
            with project.writes(actor="agent", operation="import", at=AT) as begin:
                with begin() as write:
                    write.add(memory, passages_of(memory), vectors_for(store, passages_of(memory)))
                with begin() as write:
                    write.put_record("session", "s1", {}, version=0)
                    if is_inside:
                        raise error("stop")
                raise error("stop")

        with pytest.raises(error):
            work()
        assert everything(project) == before
        assert add(store, project, memory) == 2
        assert store.verify().ok

    def test_a_later_write_of_a_large_call_meets_what_an_earlier_one_did(self, store: Store, project: Project) -> None:
        memory = make_outcome()
        add(store, project, make_heuristic())
        before = contents(project)
        with pytest.raises(ConflictError):
            add_each(store, project, memory, memory)
        assert (contents(project), project.head()) == (before, 1)


Lines = tuple[tuple[int, str], ExportedCounts, list[ExportedRecord], list[ExportedMemory]]


def lines_of(stored: Snapshot) -> Lines:
    """Returns all content of an open snapshot, without vectors."""
    memories = list(stored.memories(vectors=False))
    return stored.head(), stored.counts(), list(stored.records()), memories


def read(project: Project, *, agent: str | None = None) -> Lines:
    """Returns all content of a new snapshot."""
    with project.snapshot(agent=agent) as stored:
        return lines_of(stored)


def add_each(store: Store, project: Project, *memories: Memory) -> list[int]:
    """Stores memories in one call, each in a write of its own, and returns the `seq` of each."""
    numbers = []
    with project.writes(actor="agent", operation="import", at=AT) as begin:
        for memory in memories:
            with begin() as write:
                numbers.append(write.seq)
                write.add(memory, passages_of(memory), vectors_for(store, passages_of(memory)))
    return numbers


def listed(
    project: Project, partitions: Iterable[int], *, since: int | None = None, limit: int = 9, newest_first: bool = False
) -> list[int]:
    """Returns the listed rows, oldest first unless `newest_first`."""
    return list(project.listed([*partitions], since=since, limit=limit, newest_first=newest_first))


def made_on(store: Store, project: Project, *days: int) -> list[int]:
    """Stores memories of several kinds in one write, each made the given number of days after the start. Returns their rows."""
    makers: tuple[Callable[..., Memory], ...] = (make_outcome, make_heuristic, make_domain_knowledge)
    memories = [makers[at % 3](created_at=START + timedelta(days=day)) for at, day in enumerate(days)]
    add(store, project, *memories)
    return [row_of(project, memory) for memory in memories]
