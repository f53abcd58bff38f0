"""The contract notices what is broken: each of these backends breaks one promise, and the check of that promise fails."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from alma.errors import ValidationError
from alma.testing import GraphBackendContract
from alma_graph import Entity, Relationship
from alma_graph.backends import EntityFilter, GraphBackend, RelationshipFilter, SQLiteGraphBackend
from alma_testing.graph_contracts.samples import EVERYONE

CONTRACT = GraphBackendContract()


class PassesOverDanglingOnes(SQLiteGraphBackend):
    def write(self, entities: Sequence[Entity] = (), relationships: Sequence[Relationship] = ()) -> None:
        try:
            super().write(entities, relationships)
        except ValidationError:
            super().write(entities)


class ComparesNamesByCase(SQLiteGraphBackend):
    def resolve(self, reference: str) -> Entity | None:
        found = super().resolve(reference)
        return found if found and reference in (found.id, found.name) else None


class RoundsTimes(SQLiteGraphBackend):
    def write(self, entities: Sequence[Entity] = (), relationships: Sequence[Relationship] = ()) -> None:
        super().write([replace(each, created_at=each.created_at.replace(microsecond=0)) for each in entities], relationships)


class HasOneProject(SQLiteGraphBackend):
    def for_project(self, project_id: str) -> "HasOneProject":
        return self


class KeepsTwoOfOneName(SQLiteGraphBackend):
    def add_entity(self, entity: Entity) -> str:
        self.write([entity])
        return entity.id


class KeepsEqualRelationships(SQLiteGraphBackend):
    def add_relationship(self, relationship: Relationship) -> str:
        self.write(relationships=[relationship])
        return relationship.id


class ForgetsPropertiesOfTheFormer(SQLiteGraphBackend):
    def add_entity(self, entity: Entity) -> str:
        kept = self.resolve(entity.name)
        super().add_entity(entity)
        if kept:
            self.write([replace(entity, id=kept.id)])
        return kept.id if kept else entity.id


class IgnoresTimes(SQLiteGraphBackend):
    def select_relationships(self, wanted: RelationshipFilter) -> list[Relationship]:
        return super().select_relationships(replace(wanted, as_of=None))


class IgnoresLimits(SQLiteGraphBackend):
    def select_relationships(self, wanted: RelationshipFilter) -> list[Relationship]:
        return super().select_relationships(replace(wanted, limit=10_000))


class ListsOnePage(SQLiteGraphBackend):
    def entities(self) -> Iterator[Entity]:
        return islice(super().entities(), 500)


class IgnoresDirections(SQLiteGraphBackend):
    def select_relationships(self, wanted: RelationshipFilter) -> list[Relationship]:
        return super().select_relationships(replace(wanted, direction="both"))


class ClearsNoPosition(SQLiteGraphBackend):
    def clear(self) -> None:
        position = self.read_position()
        super().clear()
        self.write_position(position)


class FindsPartsBeforeWholes(SQLiteGraphBackend):
    def find_entities(self, name: str | None = None, entity_type: str | None = None, limit: int = 10) -> list[Entity]:
        return self.select_entities(EntityFilter(containing=[(name or "").casefold()], limit=limit))


Check = Callable[[GraphBackend], None]
CASES: list[tuple[type[SQLiteGraphBackend], Check]] = [
    (PassesOverDanglingOnes, CONTRACT.test_a_relationship_to_what_is_no_entity_is_refused),
    (ComparesNamesByCase, CONTRACT.test_a_name_is_found_in_any_case_and_any_unicode_form),
    (RoundsTimes, CONTRACT.test_an_entity_comes_back_as_it_was_added),
    (HasOneProject, CONTRACT.test_two_projects_are_apart_though_ids_and_names_are_the_same),
    (KeepsTwoOfOneName, CONTRACT.test_two_of_one_name_and_type_are_one_that_is_found_by_both_ids),
    (KeepsEqualRelationships, CONTRACT.test_an_equal_relationship_of_another_id_is_the_same),
    (ForgetsPropertiesOfTheFormer, CONTRACT.test_two_of_one_name_and_type_are_one_that_is_found_by_both_ids),
    (IgnoresTimes, CONTRACT.test_what_held_at_a_time_is_found_from_its_beginning_until_before_its_end),
    (IgnoresLimits, CONTRACT.test_a_hub_gives_as_many_as_are_asked_for_in_order),
    (ListsOnePage, CONTRACT.test_a_large_batch_is_written_and_read_page_by_page),
    (IgnoresDirections, CONTRACT.test_relationships_are_chosen_by_direction_and_type),
    (ClearsNoPosition, CONTRACT.test_each_project_keeps_a_position_until_it_is_cleared),
    (FindsPartsBeforeWholes, CONTRACT.test_those_named_exactly_so_are_found_before_those_whose_name_contains_it),
]
NEED_PEOPLE = {PassesOverDanglingOnes, KeepsEqualRelationships, IgnoresTimes, IgnoresDirections}
"""Those whose check begins with the people of the contract."""


@pytest.mark.parametrize(("broken", "check"), CASES, ids=[broken.__name__ for broken, _ in CASES])
def test_a_broken_backend_fails_the_check_of_the_promise_that_it_breaks(broken: type[SQLiteGraphBackend], check: Check) -> None:
    sound, unsound = SQLiteGraphBackend(), broken()
    if broken in NEED_PEOPLE:
        sound.write(EVERYONE)
        unsound.write(EVERYONE)
    check(sound)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(unsound)
