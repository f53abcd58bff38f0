"""Contract of a graph backend for entities."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from alma.errors import ConflictError, ValidationError
from alma_graph import Entity, GraphBackend
from alma_testing.graph_contracts.samples import ALICE, AT, EVERYONE, HOSTILE, WithBackend, firm, ids_of, link, person


class GraphEntities(WithBackend):
    """Entities are kept, found by their names, and deleted with their relationships."""

    def test_an_entity_comes_back_as_it_was_added(self, backend: GraphBackend) -> None:
        one = Entity("e-1", "Alice Müller", "person", {"age": 41, "tags": ["a", {"b": None}], "rate": 0.25, "active": True}, AT)
        assert backend.add_entity(one) == "e-1"
        assert backend.get_entity("e-1") == one

    def test_an_entity_that_is_added_twice_is_one_with_the_newer_properties(self, backend: GraphBackend) -> None:
        backend.add_entity(person("Alice", role="engineer"))
        backend.add_entity(person("Alice", team="search"))
        assert backend.get_entities() == [person("Alice", team="search")]

    def test_two_of_one_name_and_type_are_one_that_is_found_by_both_ids(self, backend: GraphBackend) -> None:
        backend.add_entity(person("Alice", "a-1", role="engineer"))
        assert backend.add_entity(person(" ALICE ", "a-2", team="search")) == "a-1"
        assert ids_of(backend.get_entities()) == ["a-1"]
        found = backend.resolve("a-2")
        assert found is not None
        assert (found.id, found.properties["role"], found.properties["team"]) == ("a-1", "engineer", "search")

    def test_an_id_that_was_merged_stays_known_when_the_entity_is_added_anew(self, backend: GraphBackend) -> None:
        for one in (person("Alice", "a-1"), person("Alice", "a-2"), person("Alice", "a-1", role="lead")):
            backend.add_entity(one)
        found = backend.resolve("a-2")
        assert found is not None
        assert found.properties["role"] == "lead"

    def test_one_name_of_two_types_is_two_and_the_error_lists_them(self, backend: GraphBackend) -> None:
        backend.write([Entity("tool", "Mercury", "tool"), Entity("planet", "Mercury", "place")])
        with pytest.raises(ValidationError, match=r"Mercury \(place, id 'planet'\), Mercury \(tool, id 'tool'\)"):
            backend.resolve("mercury")
        assert backend.resolve("tool") is not None

    def test_a_name_is_found_in_any_case_and_any_unicode_form(self, backend: GraphBackend) -> None:
        backend.write([person("Zoë Ångström", "z"), person("ΣΊΣΥΦΟΣ", "s"), person("Straße", "t")])
        spellings = ("zoë ångström", "ZOE\u0308  A\u030aNGSTRO\u0308M", "σίσυφος", "STRASSE")
        assert [found.id if (found := backend.resolve(each)) else None for each in spellings] == ["z", "z", "s", "t"]

    def test_an_entity_is_found_by_an_alias(self, backend: GraphBackend) -> None:
        backend.write([firm("International Business Machines", "ibm-1", aliases=["IBM", "Big Blue"]), firm("IBM Research", "r")])
        found = backend.resolve("big blue")
        assert found is not None
        assert found.id == "ibm-1"
        assert backend.resolve("blue") is None

    def test_a_renamed_entity_is_found_by_its_new_name_only(self, backend: GraphBackend) -> None:
        backend.add_entity(ALICE)
        backend.add_entity(replace(ALICE, name="Alicia"))
        assert (backend.resolve("alicia") is None, backend.find_entities("alice")) == (False, [])

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_text_of_any_kind_is_kept_as_it_is(self, backend: GraphBackend, text: str) -> None:
        one = Entity(text, text, text.lower(), {text: text, "list": [text]}, AT)
        backend.add_entity(ALICE)
        assert backend.add_entity(one) == text
        assert backend.get_entity(text) == one
        assert ids_of(backend.get_entities(text)) == [text]
        assert ids_of(backend.find_entities(text)) == [text]
        backend.add_relationship(link("alice", text, text, text, properties={text: text}))
        assert backend.get_relationships("alice") == [link("alice", text, text, text, properties={text: text})]
        assert ids_of(backend.search_entities(text, top_k=5))[:1] in ([text], [])
        assert (backend.delete_entity(text), ids_of(backend.get_entities())) == (True, ["alice"])

    def test_properties_of_any_size_and_shape_come_back(self, backend: GraphBackend) -> None:
        properties: dict[str, Any] = {
            "text": "word " * 10_000,
            "big": 2**80,
            "list": "[1, 2]",
            "map": "{a: 1}",
            "none": None,
            "": {},
        }
        backend.add_entity(person("Alice", **properties))
        found = backend.get_entity("alice")
        assert found is not None
        assert found.properties == properties

    @pytest.mark.parametrize(
        "moment",
        [datetime(1, 1, 2, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(9999, 12, 30, tzinfo=UTC)],
    )
    def test_a_time_is_exact_to_the_microsecond(self, backend: GraphBackend, moment: datetime) -> None:
        backend.add_entity(replace(ALICE, created_at=moment))
        assert backend.get_entities()[0].created_at == moment

    @pytest.mark.parametrize(
        "wrong",
        [
            person("Alice", " "),
            replace(ALICE, name=""),
            replace(ALICE, name="a\x00b"),
            replace(ALICE, name="\ud800"),
            replace(ALICE, entity_type=""),
            replace(ALICE, properties={"rate": float("nan")}),
            replace(ALICE, properties={"of": {1, 2}}),
            replace(ALICE, name="x" * 1_001),
        ],
        ids=["blank id", "no name", "NUL", "half a character", "no type", "NaN", "a set", "too long"],
    )
    def test_what_cannot_be_kept_is_refused_and_nothing_is_stored(self, backend: GraphBackend, wrong: Entity) -> None:
        with pytest.raises(ValidationError):
            backend.add_entity(wrong)
        with pytest.raises(ValidationError):
            backend.write([person("Bob"), wrong])
        assert backend.get_entities() == []

    def test_entities_are_listed_by_type_project_and_agent(self, backend: GraphBackend) -> None:
        backend.write([
            person("Alice", project_id="shop", agent="clerk"),
            person("Bob", project_id="shop", agent="buyer"),
            firm("Acme", project_id="bank", agent="clerk"),
        ])  # fmt: skip
        assert ids_of(backend.get_entities("Person")) == ["alice", "bob"]
        assert ids_of(backend.get_entities(project_id="shop")) == ["alice", "bob"]
        assert ids_of(backend.get_entities(project_id="shop", agent="clerk")) == ["alice"]
        assert ids_of(backend.get_entities(agent="clerk", limit=1)) == ["acme"]

    def test_an_id_of_another_stated_project_is_a_conflict(self, backend: GraphBackend) -> None:
        backend.add_entity(person("Alice", project_id="shop"))
        with pytest.raises(ConflictError, match="project_id"):
            backend.add_entity(person("Alice", project_id="bank"))

    def test_those_named_exactly_so_are_found_before_those_whose_name_contains_it(self, backend: GraphBackend) -> None:
        backend.write([person("Ann", "z"), person("Anna", "a"), person("Joanne", "b"), person("Bob")])
        assert ids_of(backend.find_entities("ann")) == ["z", "a", "b"]
        assert ids_of(backend.find_entities("ann", limit=2)) == ["z", "a"]
        assert ids_of(backend.find_entities(entity_type="organization")) == []

    def test_a_search_gives_entities_with_most_of_its_words_first(self, backend: GraphBackend) -> None:
        backend.write([firm("Acme Corp", "acme"), firm("Acme Rockets Corp", "rockets"), firm("Globex")])
        assert ids_of(backend.search_entities("rockets by acme")) == ["rockets", "acme"]
        assert ids_of(backend.search_entities("acme", embedding=[0.1], top_k=1)) == ["acme"]
        assert backend.search_entities("  ") == []

    def test_what_is_unknown_is_not_there(self, backend: GraphBackend) -> None:
        assert (backend.get_entity("x"), backend.resolve("x"), backend.get_relationships("x")) == (None, None, [])
        assert (backend.delete_entity("x"), backend.delete_relationship("x")) == (False, False)

    def test_an_entity_is_deleted_with_its_relationships(self, backend: GraphBackend) -> None:
        backend.write(
            EVERYONE, [link("alice", "WORKS_FOR", "acme"), link("bob", "KNOWS", "alice"), link("bob", "WORKS_FOR", "acme")]
        )
        assert backend.delete_entity("alice")
        assert ids_of(backend.get_entities()) == ["acme", "bob", "globex"]
        assert ids_of(backend.relationships()) == ["bob-WORKS_FOR-acme"]

    def test_deleting_again_does_nothing(self, backend: GraphBackend) -> None:
        backend.write(EVERYONE, [link("alice", "WORKS_FOR", "acme")])
        for _ in range(2):
            backend.delete(["alice", "nobody"], ["alice-WORKS_FOR-acme", "nothing"])
        assert ids_of(backend.get_entities()) == ["acme", "bob", "globex"]
