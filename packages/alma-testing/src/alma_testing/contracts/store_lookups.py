"""Contract of a store for looking up, counting and learning many things at once."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from alma.errors import MemoryNotFoundError
from alma.observing import place_of
from alma.protocols import Lookups, Place, Project, Store
from alma.types.evidence import NO_STRATEGY, Evidence, StoredEvidence, TaskPlace, class_id, evidence_id
from alma.types.memories import Outcome
from alma.types.passages import passages_of
from alma_testing.builders import make_heuristic, make_outcome
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

    def test_a_place_says_the_evidence_and_the_use_of_a_memory(self, store: Store, project: Project) -> None:
        plain, resting = make_outcome(), make_outcome()
        with project.write(actor="agent", operation="learn", at=AT) as write:
            write.add(plain, passages_of(plain), vectors_for(store, passages_of(plain)))
            write.add(resting, passages_of(resting), vectors_for(store, passages_of(resting)), evidence="e1")
            write.count_usage({resting.id: {"used": 2}})
        found = project.find([plain.id, resting.id])
        assert (found[plain.id].evidence, found[plain.id].usage) == (None, None)
        assert found[resting.id].evidence == "e1"
        assert {name: count for name, count in (found[resting.id].usage or {}).items() if count} == {"used": 2}

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
        assert project.learned.of_tasks([class_id("agent", "task:a")]) == []

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

    def test_rules_are_recounted_together_and_those_that_are_gone_are_left_out(self, store: Store, project: Project) -> None:
        rules = [make_heuristic(condition=f"Case {number}") for number in range(40)]
        add(store, project, *rules)
        counts = {"successes": 7.0, "trials": 9.0, "seen_at": AT + 1}
        with project.write(actor="agent", operation="learn", at=AT + 2) as write:
            write.recount({rule.id: {**counts, "confidence": number / 40} for number, rule in enumerate(rules)})
            write.recount({"nobody": {**counts, "confidence": 0.5}})
        found = project.candidates([row_of(project, rule) for rule in rules])
        assert sorted(each.confidence for each in found) == [number / 40 for number in range(40)]
        assert {(each.successes, each.trials, each.seen_at) for each in found} == {(7.0, 9.0, AT + 1)}
        assert replayed(project) == rows_of(project)
        assert store.verify().ok

    def test_rules_that_a_write_read_are_recounted_from_what_is_stored_now(self, store: Store, project: Project) -> None:
        _, changed, replaced = rules = [make_heuristic(condition=f"Case {number}", project_id="shop") for number in range(3)]
        add(store, project, *rules)
        counts = {"successes": 7.0, "trials": 9.0, "seen_at": AT + 1, "confidence": 0.25}
        with project.write(actor="agent", operation="learn", at=AT + 2) as write:
            assert write.stored.named([rule.id for rule in rules]) == {rule.id: rule for rule in rules}
            write.change_memory(changed.id, confidence=0.75, successes=3.0)
            anew = replaced.model_copy(update={"confidence": 0.5, "strategy": "canary"})
            write.replace(anew, passages_of(anew), vectors_for(store, passages_of(anew)))
            assert write.stored.named([changed.id])[changed.id].confidence == 0.75
            assert write.stored.named([replaced.id]) == {replaced.id: anew}
            write.recount({rule.id: counts for rule in rules})
            assert {rule.confidence for rule in write.stored.named([rule.id for rule in rules]).values()} == {0.25}
        assert replayed(project) == rows_of(project)
        assert store.verify().ok

    def test_all_evidence_on_tasks_is_read_at_once(self, project: Project) -> None:
        places = [(f"agent{number % 4}", f"task:{number}") for number in range(70)]
        store_evidence(project, [_evidence(place, trials) for place in places for trials in range(5)])
        wanted = [class_id(*place) for place in (("agent0", "task:1"), *places[1:], places[1])]
        found = project.learned.of_tasks(wanted)
        assert {(stored.evidence.agent, stored.evidence.task_class) for stored in found} == set(places[1:])
        assert sorted(_trials(stored) for stored in found) == sorted(list(range(5)) * 69)
        assert project.learned.of_tasks([]) == []

    def test_the_newest_evidence_is_read_for_each_agent(self, project: Project) -> None:
        for number in range(6):
            place = ("one" if number % 2 else "two", f"task:{number}")
            store_evidence(project, [replace(_evidence(place, 1), task=f"Task {number}", observed_at=AT + number)])
        found = project.learned.newest(["two", "nobody", "one"], most=2)
        assert {agent: [stored.evidence.task for stored in some] for agent, some in found.items()} == {
            "two": ["Task 4", "Task 2"],
            "nobody": [],
            "one": ["Task 5", "Task 3"],
        }
        assert project.learned.newest([], most=2) == {}

    def test_old_evidence_that_is_still_used_is_among_the_newest(self, project: Project) -> None:
        made = [replace(_evidence(("one", f"task:{n}"), 1), task=f"Task {n}", observed_at=AT + n) for n in range(4)]
        store_evidence(project, made)
        (used,) = (stored for stored in project.learned.of_tasks([class_id("one", "task:0")]))
        with project.write(actor="agent", operation="learn", at=AT) as write:
            write.put_evidence([(used, replace(used.evidence, observed_at=AT + 9))])
        found = project.learned.newest(["one"], most=2)
        assert [stored.evidence.task for stored in found["one"]] == ["Task 0", "Task 3"]

    def test_the_first_outcome_that_evidence_counts_is_found(self, store: Store, project: Project) -> None:
        outcomes = [_outcome("Deploy the ledger"), _outcome("Deploy the ledger")]
        evidence = evidence_id("agent", "task:a", NO_STRATEGY)
        for outcome in outcomes:
            with project.write(actor="agent", operation="learn", at=AT) as write:
                write.add(outcome, passages_of(outcome), {}, evidence=evidence)
        assert project.learned.first_outcomes([evidence, "unknown"]) == {
            evidence: (row_of(project, outcomes[0]), outcomes[0].successes)
        }

    def test_what_was_learned_last_is_known_by_its_record(self, project: Project) -> None:
        assert project.learned.upto() == 0
        store_evidence(project, [_evidence(("agent", "task:a"), 1)])
        assert project.learned.upto() == project.head()

    def test_a_task_with_a_single_outcome_is_read_from_that(self, store: Store, project: Project) -> None:
        first = _outcome("Deploy the ledger")
        place = place_of(first, "Deploy the ledger", is_step=False)
        with project.write(actor="agent", operation="learn", at=AT) as write:
            write.add(first, passages_of(first), {}, evidence=evidence_id(first.agent, place, NO_STRATEGY))
        (found,) = project.learned.of_tasks([class_id(first.agent, place)])
        assert (found.is_stored, found.evidence.task, _trials(found)) == (False, "Deploy the ledger", 1)
        assert found.first in (None, (row_of(project, first), first.successes))
        assert list(project.learned.behind([row_of(project, first)]).values()) == [found]
        assert project.learned.newest([first.agent], most=1) == {first.agent: [found]}


def put(project: Project, kind: str, bodies: dict[str, dict[str, int]]) -> None:
    """Stores new small records in one write."""
    with project.write(actor="agent", operation="save", at=AT) as write:
        for key, body in bodies.items():
            write.put_record(kind, key, body, version=0)


def store_evidence(project: Project, evidence: Iterable[Evidence]) -> None:
    """Stores new evidence in one write, and counts each once more in another."""
    new = list(evidence)
    with project.write(actor="agent", operation="learn", at=AT) as write:
        write.put_evidence((None, one) for one in new)
    with project.write(actor="agent", operation="learn", at=AT) as write:
        write.put_evidence((StoredEvidence(True, one), replace(one, unverified=1)) for one in new)


def _evidence(place: TaskPlace, trials: int) -> Evidence:
    hashed = f"{trials:016x}"
    made = Evidence(evidence_id(*place, hashed), *place, hashed, f"Strategy {trials}")
    return replace(made, lifetime=replace(made.lifetime, trials=float(trials)))


def _outcome(task: str) -> Outcome:
    return make_outcome(task_description=task, task_type="deploying", strategy_used="")


def _trials(stored: StoredEvidence) -> float:
    return stored.evidence.lifetime.trials


def _count(place: Place, name: str) -> float:
    return (place.usage or {}).get(name, 0)
