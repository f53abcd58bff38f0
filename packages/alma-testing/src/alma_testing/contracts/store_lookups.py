"""Contract of a store for looking up and counting many things at once, and for reading outcomes."""

from collections.abc import Callable

import pytest

from alma.errors import MemoryNotFoundError
from alma.protocols import Lookups, Place, Project, Store
from alma.types.memories import passages_of
from alma_testing.builders import make_domain_knowledge, make_heuristic, make_outcome
from alma_testing.contracts.store_writing import change
from alma_testing.contracts.stored import AT, WithStore, add, contents, replayed, row_of, rows_of, vector_of, vectors_for

MANY = 40_000
"""More keys than one statement of SQLite or PostgreSQL accepts as values."""

Asked = Callable[[Lookups, list[str]], object]
ASKED: tuple[Asked, ...] = (
    lambda among, names: among.find(names),
    lambda among, names: among.memories(range(10**9, 10**9 + len(names))),
    lambda among, names: among.named(names),
    lambda among, names: among.vectors(names),
    lambda among, names: {key: found for key, found in among.record("session", names).items() if found[0]},
)


class StoreLookups(WithStore):
    """`Lookups` of a project and of a write, and the writing of many things at once."""

    def test_places_come_in_the_order_of_the_ids_each_once(self, store: Store, project: Project) -> None:
        memories = [make_outcome(task_description=f"Task {number}", agent=f"agent{number % 3}") for number in range(9)]
        add(store, project, *memories, make_heuristic())
        ids = [memory.id for memory in reversed(memories)]
        found = project.find([*ids[:4], "nobody", *ids[2:]])
        assert list(found) == ids
        assert [found[memory.id].partition.owner for memory in memories] == [memory.agent for memory in memories]
        assert len({place.memory for place in found.values()}) == len(ids)

    def test_a_place_says_the_use_of_a_memory(self, store: Store, project: Project) -> None:
        plain, used = make_outcome(), make_outcome()
        with project.write(actor="agent", operation="learn", at=AT) as write:
            write.add(plain, passages_of(plain), vectors_for(store, passages_of(plain)))
            write.add(used, passages_of(used), vectors_for(store, passages_of(used)))
            write.count_usage({used.id: {"used": 2}})
        found = project.find([plain.id, used.id])
        assert found[plain.id].usage is None
        assert {name: count for name, count in (found[used.id].usage or {}).items() if count} == {"used": 2}

    def test_small_records_come_in_the_order_of_the_keys_also_those_that_are_not_there(self, project: Project) -> None:
        put(project, "session", {f"s{number}": {"n": number} for number in range(5)})
        put(project, "other", {"s9": {}})
        found = project.record("session", ["s3", "s9", "s1", "s3"])
        assert list(found.items()) == [("s3", (1, {"n": 3})), ("s9", (0, {})), ("s1", (1, {"n": 1}))]

    @pytest.mark.parametrize("asked", ASKED)
    @pytest.mark.parametrize("count", [0, MANY])
    def test_any_number_of_keys_that_are_unknown_find_nothing(
        self, store: Store, project: Project, asked: Asked, count: int
    ) -> None:
        names = [f"unknown {number}" for number in range(count)]
        for _ in range(2):  # the second time the project exists
            assert asked(project, names) == {}
            add(store, project, make_outcome())

    def test_any_number_of_known_keys_are_found(self, store: Store, project: Project) -> None:
        memories = [make_outcome(task_description=f"Task {number}") for number in range(300)]
        add(store, project, *memories)
        put(project, "session", {f"s{number}": {"n": number} for number in range(300)})
        texts = [memory.task_description for memory in memories]
        assert list(project.find(memory.id for memory in memories)) == [memory.id for memory in memories]
        assert project.vectors(texts) == {text: vector_of(text, store.fingerprint.dimension) for text in texts}
        assert len(project.memories([row_of(project, memory) for memory in memories])) == 300
        assert list(project.named(memory.id for memory in memories)) == [memory.id for memory in memories]
        keys = [f"s{number}" for number in range(300)]
        assert [body["n"] for _, body in project.record("session", keys).values()] == list(range(300))

    def test_nothing_of_another_project_is_found_by_its_key(self, store: Store, project: Project) -> None:
        theirs, lab = make_outcome(task_description="Deploy the ledger"), store.project("lab")
        add(store, project, make_outcome())
        add(store, lab, theirs)
        put(lab, "session", {"s1": {}})
        assert project.find([theirs.id]) == {}
        assert project.named([theirs.id]) == {}
        assert project.vectors(["Deploy the ledger"]) == {}
        assert project.record("session", ["s1"]) == {"s1": (0, {})}
        assert list(project.outcomes_named([theirs.id])) == []
        assert list(project.outcomes(lab.partitions())) == []

    def test_one_text_is_no_list_of_keys(self, project: Project) -> None:
        for asked in (project.find, project.named, lambda keys: project.record("session", keys)):
            with pytest.raises(TypeError):
                asked("abc")

    def test_a_write_sees_what_it_has_done_and_others_do_not(self, store: Store, project: Project) -> None:
        old, new = make_outcome(task_description="Old"), make_outcome(task_description="New", agent="newcomer", project_id="shop")
        add(store, project, old)
        with project.write(actor="agent", operation="learn", at=AT) as write:
            write.add(new, passages_of(new), vectors_for(store, passages_of(new)))
            write.change_memory(old.id, archived_at=AT)
            write.put_record("session", "s1", {"n": 1}, version=0)
            write.keep_vectors({"Kept": vector_of("Kept", store.fingerprint.dimension)})
            places = write.stored.find([new.id, old.id])
            assert [place.is_archived for place in places.values()] == [False, True]
            assert places[new.id].partition.owner == "newcomer"
            assert write.stored.memories([places[new.id].memory]) == {places[new.id].memory: new}
            assert write.stored.named([new.id]) == {new.id: new}
            assert set(write.stored.vectors(["New", "Kept", "Unknown"])) == {"New", "Kept"}
            assert write.stored.record("session", ["s1"]) == {"s1": (1, {"n": 1})}
            assert project.find([new.id, old.id])[old.id].is_archived is False
            assert list(project.find([new.id])) == list(project.vectors(["New", "Kept"])) == []
            assert project.record("session", ["s1"]) == {"s1": (0, {})}
        assert list(project.find([new.id])) == [new.id]

    def test_the_use_of_many_memories_is_counted_each_for_itself(self, store: Store, project: Project) -> None:
        memories = [make_outcome(task_description=f"Task {number}") for number in range(80)]
        add(store, project, *memories)
        for amount in (1, 2):
            with project.write(actor="agent", operation="usage", at=AT) as write:
                write.stored.find([memories[0].id])
                write.count_usage({memory.id: {"used": amount * number} for number, memory in enumerate(memories)})
                write.count_usage({memory.id: {"ignored": 1} for memory in memories[:3]})
        found = {place.memory: place for place in project.find(memory.id for memory in memories).values()}
        assert [_count(place, "used") for place in found.values()] == [3 * number for number in range(80)]
        assert [_count(place, "ignored") for place in found.values()] == [2] * 3 + [0] * 77
        assert replayed(project) == rows_of(project)
        assert store.verify().ok

    def test_nothing_is_counted_if_one_of_the_memories_is_unknown(self, store: Store, project: Project) -> None:
        memory = make_outcome()
        add(store, project, memory)
        before = contents(project)
        with project.write(actor="agent", operation="usage", at=AT) as write, pytest.raises(MemoryNotFoundError, match="nobody"):
            write.count_usage({memory.id: {"used": 1}, "nobody": {"used": 1}})
        with project.write(actor="agent", operation="usage", at=AT) as write:
            write.count_usage({})
        assert (contents(project), project.head()) == (before, 1)

    def test_outcomes_come_in_the_order_in_which_they_were_recorded(self, store: Store, project: Project) -> None:
        outcomes = [make_outcome(task_description=f"Task {number}", agent=f"agent{number % 3}") for number in range(9)]
        add(store, project, *reversed(outcomes), make_heuristic(agent="agent0"))
        change(project, outcomes[4], archived_at=AT)
        wanted = [row for row, one in project.partitions().items() if one.agent in ("agent0", "agent1")]
        found = list(project.outcomes(wanted))
        assert [one.id for one in found] == [one.id for one in reversed(outcomes) if one.agent != "agent2"]
        assert [one.id for one in found if one.is_archived] == [outcomes[4].id]
        assert sorted(one.row for one in found) == [one.row for one in found]
        assert {one.body["task_description"] for one in found} == {
            one.task_description for one in outcomes if one.agent != "agent2"
        }
        assert {one.successes for one in found} == {outcomes[0].successes}
        assert list(project.outcomes([])) == []
        rows = list(project.rows_in({found[0].partition.row, found[1].partition.row}))
        assert rows == [one.row for one in found]
        assert list(project.outcomes(wanted, since=rows[2])) == found[2:]
        assert list(project.rows_in([])) == []

    def test_outcomes_are_found_by_id_and_nothing_else_is(self, store: Store, project: Project) -> None:
        first, second, rule = make_outcome(), make_outcome(), make_heuristic()
        add(store, project, first, rule, second)
        assert [one.id for one in project.outcomes_named([second.id, rule.id, "nobody", first.id])] == [first.id, second.id]

    def test_what_changes_learning_is_known_by_its_record(self, store: Store, project: Project) -> None:
        outcome, fact = make_outcome(), make_domain_knowledge()
        assert project.learned_seq() == 0
        add(store, project, fact)
        put(project, "session", {"s1": {}})
        assert project.learned_seq() == 0
        add(store, project, outcome)
        assert project.learned_seq() == 3
        put(project, "session", {"s2": {}})
        assert project.learned_seq() == 3
        put(project, "rule", {"r1": {}})
        assert project.learned_seq() == 5
        change(project, outcome, archived_at=AT)
        assert project.learned_seq() == 6
        assert project.purge([fact.id], records=[], actor="", at=AT) is not None
        assert project.learned_seq() == project.head() == 7
        assert store.verify().ok


def put(project: Project, kind: str, bodies: dict[str, dict[str, int]]) -> None:
    """Stores new small records in one write."""
    with project.write(actor="agent", operation="save", at=AT) as write:
        for key, body in bodies.items():
            write.put_record(kind, key, body, version=0)


def _count(place: Place, name: str) -> float:
    return (place.usage or {}).get(name, 0)
