"""The contract of graph backends: batches, projects, threads and connections, with what entities and relationships promise."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import pytest

from alma.errors import ConfigurationError, StorageError
from alma_graph import BackendGraphStore, EntityExtractor, GraphBackend
from alma_graph.backends import EntityFilter, KeepsPosition, RelationshipFilter
from alma_testing.graph_contracts.entities import GraphEntities
from alma_testing.graph_contracts.relationships import GraphRelationships
from alma_testing.graph_contracts.samples import ALICE, EVERYONE, Connect, WithBackend, content_of, ids_of, link, person


class GraphBatches(WithBackend):
    """Many are written and read in few statements, and the same again changes nothing."""

    def test_a_large_batch_is_written_and_read_page_by_page(self, backend: GraphBackend) -> None:
        people = [person(f"Person {number:05}", f"p{number:05}") for number in range(self.many)]
        links = [link(one.id, "KNOWS", other.id) for one, other in pairwise(people)]
        backend.write(people, links)
        assert ids_of(backend.entities()) == ids_of(people)
        assert ids_of(backend.relationships()) == ids_of(links)
        some = ids_of(people[:: self.many // 1_500])
        assert ids_of(backend.select_entities(EntityFilter(ids=some))) == some
        around = backend.select_relationships(RelationshipFilter(entities=some, direction="out"))
        assert [each.source_id for each in around] == [each for each in some if each != people[-1].id]

    def test_the_same_batch_again_changes_nothing(self, backend: GraphBackend) -> None:
        links = [link("alice", "KNOWS", "bob"), link("alice", "WORKS_FOR", "acme", confidence=0.5)]
        backend.write(EVERYONE, links)
        before = content_of(backend)
        backend.write(EVERYONE, links)
        assert content_of(backend) == before

    def test_the_last_of_two_with_one_id_counts(self, backend: GraphBackend) -> None:
        links = [link("alice", "KNOWS", "bob", "r"), link("bob", "KNOWS", "alice", "r")]
        backend.write([*EVERYONE, replace(ALICE, name="Alicia")], links)
        assert backend.get_entity("alice") == replace(ALICE, name="Alicia")
        assert list(backend.relationships()) == links[1:]

    def test_a_hub_gives_as_many_as_are_asked_for_in_order(self, backend: GraphBackend) -> None:
        people = [person(f"P{number:03}") for number in range(700)]
        backend.write([ALICE, *people], [link("alice", "KNOWS", each.id) for each in people])
        assert len(backend.get_relationships("alice")) == 700
        some = backend.select_relationships(RelationshipFilter(entities=["alice"], limit=3))
        assert ids_of(some) == ["alice-KNOWS-p000", "alice-KNOWS-p001", "alice-KNOWS-p002"]

    def test_an_empty_batch_is_none(self, backend: GraphBackend) -> None:
        backend.write()
        backend.delete()
        assert content_of(backend) == ({}, {})


class GraphProjects(WithBackend):
    """Projects in one database do not see each other."""

    def test_two_projects_are_apart_though_ids_and_names_are_the_same(self, backend: GraphBackend) -> None:
        shop, bank = backend.for_project("shop"), backend.for_project("bank")
        shop.write(EVERYONE, [link("alice", "WORKS_FOR", "acme")])
        bank.add_entity(replace(ALICE, name="Alicia"))
        assert (shop.get_entity("alice"), bank.get_entity("alice")) == (ALICE, replace(ALICE, name="Alicia"))
        assert (bank.find_entities("acme"), bank.resolve("Acme"), bank.get_relationships("alice")) == ([], None, [])
        assert (list(bank.relationships()), bank.delete_entity("acme"), backend.get_entities()) == ([], False, [])
        bank.clear()
        assert (len(shop.get_entities()), bank.get_entities()) == (4, [])

    def test_names_of_projects_and_ids_that_read_alike_are_apart(self, backend: GraphBackend) -> None:
        backend.for_project("a").add_entity(person("Alice", "bc"))
        backend.for_project("ab").add_entity(person("Bob", "c"))
        assert [ids_of(backend.for_project(each).get_entities()) for each in ("a", "ab", "abc")] == [["bc"], ["c"], []]

    def test_each_project_keeps_a_position_until_it_is_cleared(self, backend: GraphBackend) -> None:
        shop, bank = backend.for_project("shop"), backend.for_project('it\'s "bank"')
        assert isinstance(shop, KeepsPosition)
        assert isinstance(bank, KeepsPosition)
        assert shop.read_position() == 0
        for position in (7, 2**40):
            shop.write_position(position)
        bank.write_position(3)
        assert (shop.read_position(), bank.read_position()) == (2**40, 3)
        shop.clear()
        assert (shop.read_position(), bank.read_position(), shop.get_entities()) == (0, 3, [])


class GraphThreads(WithBackend):
    """Threads share a backend."""

    def test_two_threads_that_write_the_same_leave_it_once(self, backend: GraphBackend) -> None:
        backend.write(EVERYONE)
        gate = threading.Barrier(2)

        def write(own: int) -> None:
            gate.wait()
            for number in range(10):
                extra = person(f"Of {own} {number}", f"{own}-{number}")
                backend.write([ALICE, extra], [link("alice", "WORKS_FOR", "acme"), link("alice", "KNOWS", extra.id)])

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write, range(2)))
        assert len(list(backend.entities())) == 24
        assert len(list(backend.relationships())) == 21

    def test_a_thread_reads_while_another_writes(self, backend: GraphBackend) -> None:
        backend.write(EVERYONE)
        done = threading.Event()

        def write() -> None:
            try:
                for number in range(20):
                    backend.write([person(f"P{number}")], [link("alice", "KNOWS", f"p{number}")])
            finally:
                done.set()

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            counts = [0]
            while not done.is_set():
                counts.append(len(backend.get_relationships("alice")))
            writing.result()
        assert counts == sorted(counts)
        assert len(backend.get_relationships("alice")) == 20


class GraphBackendContract(GraphEntities, GraphRelationships, GraphBatches, GraphProjects, GraphThreads):
    """Promises of an `alma.graph.GraphBackend`.

    A test class that inherits this defines a fixture `connect`: a callable that returns a new backend of one database, which is empty when a test
    begins. `many` of the class is the size of the largest batch.
    """

    def test_what_is_extracted_from_a_text_is_found_by_name(self, backend: GraphBackend) -> None:
        graph = BackendGraphStore(backend)
        for _ in range(2):
            entities, relationships = EntityExtractor().extract("Alice from Acme Corp reviewed the PR that Bob submitted.")
            for entity in entities:
                graph.add_entity(entity)
            for relationship in relationships:
                graph.add_relationship(relationship)
        assert {each.name for each in backend.get_entities()} >= {"Alice", "Acme Corp", "Bob"}
        (found,) = graph.get_relationships("alice", relationship_type="WORKS_FOR")
        target = graph.get_entity(found.target_id)
        assert target is not None
        assert target.name == "Acme Corp"

    def test_a_closed_backend_refuses(self, connect: Connect) -> None:
        backend = connect()
        backend.close()
        backend.close()
        with pytest.raises(StorageError):
            backend.get_entities()
        with pytest.raises(StorageError):
            backend.add_entity(ALICE)


class LastingGraphBackendContract(GraphBackendContract):
    """The same for a backend whose database stays when it is closed: `connect` connects to the same one each time."""

    def test_everything_is_there_after_a_new_connection(self, connect: Connect) -> None:
        before = connect()
        before.write(EVERYONE, [link("alice", "WORKS_FOR", "acme", confidence=0.5)])
        before.add_entity(person("Alice", "alice-2"))
        content = content_of(before)
        before.close()
        after = connect()
        assert content_of(after) == content
        assert after.add_relationship(link("alice-2", "KNOWS", "bob", "r")) == "r"
        after.close()


class ServedGraphBackendContract(LastingGraphBackendContract):
    """The same for a backend on a server. Two more fixtures are callables like `connect`: `refused` has the wrong password "wrong-secret",
    `unreachable` the address of no server.
    """

    def test_two_connections_see_what_each_other_wrote(self, connect: Connect) -> None:
        one, other = connect(), connect()
        one.write(EVERYONE)
        other.add_relationship(link("alice", "WORKS_FOR", "acme"))
        assert ids_of(one.get_relationships("alice")) == ["alice-WORKS_FOR-acme"]
        one.close()
        other.close()

    def test_a_wrong_password_is_an_error_that_does_not_repeat_it(self, refused: Callable[[], GraphBackend]) -> None:
        with pytest.raises(ConfigurationError, match="refuses") as caught:
            refused()
        assert "wrong-secret" not in str(caught.value)

    def test_a_server_that_is_not_there_is_an_error_of_storage(self, unreachable: Callable[[], GraphBackend]) -> None:
        with pytest.raises(StorageError):
            unreachable()
