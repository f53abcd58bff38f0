"""Contract of a graph backend for relationships and for the times at which they held."""

from dataclasses import replace
from datetime import timedelta

import pytest

from alma.errors import ValidationError
from alma_graph import BackendGraphStore, GraphBackend, GraphQuery, Relationship
from alma_graph.backends import EntityFilter, RelationshipFilter
from alma_testing.graph_contracts.samples import EVERYONE, WithBackend, day, ids_of, link, person


class GraphRelationships(WithBackend):
    """Relationships are directed, typed and dated; each end is an entity."""

    @pytest.fixture
    def peopled(self, backend: GraphBackend) -> GraphBackend:
        backend.write(EVERYONE)
        return backend

    def test_a_relationship_comes_back_as_it_was_added(self, peopled: GraphBackend) -> None:
        one = link(
            "alice", "WORKS_FOR", "acme", "r", properties={"role": "CTO"}, confidence=0.75, valid_from=day(3), valid_to=day(9)
        )
        assert peopled.add_relationship(one) == "r"
        assert peopled.get_relationships("alice") == [one]

    def test_a_confidence_is_kept_to_nine_decimals(self, peopled: GraphBackend) -> None:
        peopled.write(relationships=[link("alice", "KNOWS", "bob", f"r{number}", confidence=number / 7) for number in range(8)])
        assert [each.confidence for each in peopled.relationships()] == [round(number / 7, 9) for number in range(8)]

    def test_a_relationship_to_what_is_no_entity_is_refused(self, peopled: GraphBackend) -> None:
        with pytest.raises(ValidationError, match="'nobody', which is no entity"):
            peopled.add_relationship(link("alice", "KNOWS", "nobody"))
        with pytest.raises(ValidationError, match="'nobody', which is no entity"):
            peopled.write([person("Carol")], [link("alice", "KNOWS", "bob"), link("nobody", "KNOWS", "alice")])
        assert (list(peopled.relationships()), peopled.get_entity("carol")) == ([], None)

    def test_a_relationship_of_a_known_id_replaces_the_former(self, peopled: GraphBackend) -> None:
        for confidence in (0.5, 0.9):
            peopled.write(relationships=[link("alice", "WORKS_FOR", "acme", "r", confidence=confidence)])
        assert peopled.get_relationships("alice") == [link("alice", "WORKS_FOR", "acme", "r", confidence=0.9)]

    def test_an_equal_relationship_of_another_id_is_the_same(self, peopled: GraphBackend) -> None:
        peopled.add_relationship(link("alice", "WORKS_FOR", "acme", "r", confidence=0.5, properties={"a": 1}))
        assert peopled.add_relationship(link("alice", "WORKS_FOR", "acme", "s", confidence=0.9, properties={"b": 2})) == "r"
        assert peopled.get_relationships("acme") == [
            link("alice", "WORKS_FOR", "acme", "r", confidence=0.9, properties={"a": 1, "b": 2})
        ]

    def test_a_relationship_that_moves_to_other_ends_is_there_alone(self, peopled: GraphBackend) -> None:
        peopled.write(relationships=[link("alice", "WORKS_FOR", "acme", "r")])
        peopled.write(relationships=[link("bob", "WORKS_FOR", "globex", "r")])
        assert list(peopled.relationships()) == [link("bob", "WORKS_FOR", "globex", "r")]
        assert (peopled.get_relationships("alice"), peopled.get_relationships("acme")) == ([], [])

    def test_a_relationship_may_lead_to_its_own_source(self, peopled: GraphBackend) -> None:
        peopled.add_relationship(link("alice", "TRUSTS", "alice"))
        for direction in ("both", "outgoing", "incoming"):
            assert ids_of(peopled.get_relationships_directional("alice", direction)) == ["alice-TRUSTS-alice"]

    def test_relationships_are_chosen_by_direction_and_type(self, peopled: GraphBackend) -> None:
        peopled.write(
            relationships=[link("alice", "KNOWS", "bob"), link("bob", "KNOWS", "alice"), link("alice", "works with", "bob")]
        )
        assert ids_of(peopled.get_relationships_directional("alice", "outgoing", "KNOWS")) == ["alice-KNOWS-bob"]
        assert ids_of(peopled.get_relationships_directional("alice", "in")) == ["bob-KNOWS-alice"]
        assert ids_of(peopled.get_relationships_directional("alice", relation_type="works with")) == ["alice-works with-bob"]
        assert len(peopled.get_relationships("alice")) == 3
        with pytest.raises(ValidationError, match="outgoing"):
            peopled.get_relationships_directional("alice", "sideways")

    def test_a_relationship_is_deleted_and_its_ends_stay(self, peopled: GraphBackend) -> None:
        peopled.add_relationship(link("alice", "WORKS_FOR", "acme"))
        assert peopled.delete_relationship("alice-WORKS_FOR-acme")
        assert (peopled.get_relationships("alice"), len(peopled.get_entities())) == ([], 4)

    def test_an_end_may_be_named_by_a_merged_id_or_a_name(self, peopled: GraphBackend) -> None:
        peopled.add_entity(person("Alice", "alice-2"))
        peopled.add_relationship(link("alice-2", "KNOWS", "BOB", "r"))
        assert peopled.get_relationships("alice") == [link("alice", "KNOWS", "bob", "r")]

    @pytest.mark.parametrize(
        "wrong",
        [
            link("alice", "KNOWS", "bob", confidence=1.5),
            link("alice", "KNOWS", "bob", confidence=float("nan")),
            link("alice", "", "bob", "r"),
            link("alice", "KNOWS", "bob", valid_from=day(5), valid_to=day(4)),
        ],
        ids=["confidence above 1", "NaN", "no type", "ends before it begins"],
    )
    def test_a_relationship_that_cannot_be_is_refused(self, peopled: GraphBackend, wrong: Relationship) -> None:
        with pytest.raises(ValidationError):
            peopled.add_relationship(wrong)
        assert list(peopled.relationships()) == []

    def test_what_held_at_a_time_is_found_from_its_beginning_until_before_its_end(self, peopled: GraphBackend) -> None:
        peopled.add_relationship(link("alice", "WORKS_FOR", "acme", "r", valid_from=day(10), valid_to=day(20)))
        moments = (day(10) - timedelta(microseconds=1), day(10), day(20) - timedelta(microseconds=1), day(20))
        assert [len(peopled.get_relationships_as_of("acme", at)) for at in moments] == [0, 1, 1, 0]

    def test_an_open_interval_holds_always(self, peopled: GraphBackend) -> None:
        peopled.write(relationships=[
            link("alice", "KNOWS", "bob", "always"),
            link("alice", "KNOWS", "bob", "since", valid_from=day(10)),
            link("alice", "KNOWS", "bob", "until", valid_to=day(10)),
        ])  # fmt: skip
        assert ids_of(peopled.get_relationships_as_of("alice", day(1))) == ["always", "until"]
        assert ids_of(peopled.get_relationships_as_of("alice", day(10).replace(tzinfo=None))) == ["always", "since"]

    def test_there_and_back_again_is_three_intervals(self, peopled: GraphBackend) -> None:
        stays = (("acme", 1, 10), ("globex", 10, 20), ("acme", 20, None))
        for target, start, end in stays:
            to = None if end is None else day(end)
            peopled.add_relationship(link("alice", "WORKS_FOR", target, f"r{start}", valid_from=day(start), valid_to=to))
        assert ids_of(peopled.get_relationships("alice")) == ["r1", "r10", "r20"]
        assert [peopled.get_relationships_as_of("alice", day(at))[0].target_id for at in (5, 15, 25)] == [
            "acme",
            "globex",
            "acme",
        ]

    def test_an_interval_can_be_closed(self, peopled: GraphBackend) -> None:
        one = link("alice", "WORKS_FOR", "acme", "r", valid_from=day(1))
        peopled.write(relationships=[one])
        peopled.write(relationships=[replace(one, valid_to=day(5))])
        assert (len(peopled.get_relationships_as_of("alice", day(4))), peopled.get_relationships_as_of("alice", day(6))) == (
            1,
            [],
        )

    def test_a_filter_that_names_nothing_finds_nothing(self, peopled: GraphBackend) -> None:
        peopled.add_relationship(link("alice", "KNOWS", "bob"))
        empty = (RelationshipFilter(ids=[]), RelationshipFilter(entities=[]), RelationshipFilter(types=[]))
        assert [peopled.select_relationships(each) for each in empty] == [[], [], []]
        assert [peopled.select_entities(each) for each in (EntityFilter(ids=[]), EntityFilter(containing=[]))] == [[], []]

    def test_a_store_on_it_answers_by_name(self, peopled: GraphBackend) -> None:
        graph = BackendGraphStore(peopled)
        graph.add_relationship(link("alice", "WORKS_FOR", "acme"))
        assert ids_of(graph.get_relationships("ALICE", relationship_type="WORKS_FOR")) == ["alice-WORKS_FOR-acme"]
        assert ids_of(graph.get_relationships_as_of("acme", day(1))) == ["alice-WORKS_FOR-acme"]
        assert (graph.get_relationships("nobody"), graph.delete_entity("Alice"), graph.get_entity("alice")) == ([], True, None)

    def test_a_traversal_finds_what_is_near_with_a_shortest_path(self, peopled: GraphBackend) -> None:
        peopled.write(
            [person("Carol"), person("Dan")],
            [
                link("alice", "KNOWS", "bob"),
                link("bob", "KNOWS", "carol"),
                link("carol", "KNOWS", "alice"),
                link("carol", "KNOWS", "dan"),
            ],
        )
        peopled.write([person("Eve")], [link("dan", "KNOWS", "eve"), link("alice", "WORKS_FOR", "acme")])
        found = BackendGraphStore(peopled).traverse("Alice", max_hops=2, relation_types=["KNOWS"])
        assert ids_of(found.entities) == ["alice", "bob", "carol", "dan"]
        assert list(found.paths) == [["alice", "bob"], ["alice", "carol"], ["alice", "carol", "dan"]]
        assert sorted(ids_of(found.relationships)) == [
            "alice-KNOWS-bob",
            "bob-KNOWS-carol",
            "carol-KNOWS-alice",
            "carol-KNOWS-dan",
        ]

    def test_a_query_starts_from_several_entities_and_has_a_limit(self, peopled: GraphBackend) -> None:
        peopled.write(
            [person(f"P{number}") for number in range(9)], [link("acme", "EMPLOYS", f"p{number}") for number in range(9)]
        )
        peopled.add_relationship(link("bob", "WORKS_FOR", "globex"))
        found = BackendGraphStore(peopled).query(GraphQuery(["Bob", "ACME", "unknown"], max_hops=1, limit=4))
        assert (ids_of(found.entities)[:2], len(found.entities)) == (["bob", "acme"], 6)
