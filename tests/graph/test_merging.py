"""Entities: what is one by its name, what is made one, and how it is taken apart."""

from pathlib import Path

import pytest
from benchmarks.graph import score_names

from alma import ALMA
from alma.errors import ValidationError
from graph_scenes import targets


def test_no_pair_of_names_becomes_one_entity_wrongly() -> None:
    found = score_names()
    assert (found["wrong"], found["missed"]) == (0, 0)
    assert found["pairs"] >= 200


def test_a_person_is_found_by_first_name_only_while_one_has_it(alma: ALMA) -> None:
    alma.graph.relate("Alice Smith", "knows", "Bob", agent="dev", source_type="person")
    found = alma.graph.entity("alice")
    assert found is not None
    assert found.name == "Alice Smith"
    alma.graph.relate("Alice Jones", "knows", "Bob", agent="dev", source_type="person")
    with pytest.raises(ValidationError, match=r"'person:alice smith', 'person:alice jones'"):
        alma.graph.entity("alice")


def test_a_first_name_that_is_stated_is_no_longer_name(alma: ALMA) -> None:
    alma.graph.relate("Alice Smith", "knows", "Bob", agent="dev", source_type="person")
    alma.graph.relate("Alice", "knows", "Carl", agent="dev", source_type="person")
    assert targets(alma.graph.relations("Alice Smith")) == ["Bob"]


def test_a_name_without_a_type_is_the_one_entity_that_has_it(alma: ALMA) -> None:
    alma.graph.relate("Mercury", "orbits", "Sun", agent="dev")
    alma.graph.relate("Mercury", "has", "no moon", agent="dev", source_type="planet")
    found = alma.graph.entity("Mercury")
    assert found is not None
    assert (found.entity_type, len(alma.graph.relations("Mercury"))) == ("planet", 2)
    alma.graph.relate("Mercury", "lead_by", "Eve", agent="dev", source_type="project")
    assert len(alma.graph.entities("Mercury")) == 3


def test_a_merge_keeps_the_first_name_and_a_split_brings_the_other_back(alma: ALMA) -> None:
    alma.graph.relate("IBM", "located_in", "Armonk", agent="dev", source_type="organization")
    alma.graph.relate("Big Blue", "makes", "mainframes", agent="dev", source_type="organization")
    merged = alma.graph.merge("IBM", "Big Blue", agent="dev", reason="a nickname")
    assert (merged.name, merged.properties) == ("IBM", {"aliases": ["Big Blue"]})
    assert targets(alma.graph.relations("Big Blue")) == ["mainframes", "Armonk"]
    apart = alma.graph.split("IBM", "Big Blue", agent="dev")
    assert (apart.name, targets(alma.graph.relations("Big Blue"))) == ("Big Blue", ["mainframes"])
    assert targets(alma.graph.relations("IBM")) == ["Armonk"]


def test_a_merge_can_be_undone(alma: ALMA) -> None:
    alma.graph.relate("IBM", "located_in", "Armonk", agent="dev")
    alma.graph.relate("Big Blue", "makes", "mainframes", agent="dev")
    before = alma.get_stats().journal_records
    alma.graph.merge("IBM", "Big Blue", agent="dev")
    alma.undo(to=before)
    assert targets(alma.graph.relations("IBM")) == ["Armonk"]


def test_three_are_one_and_one_leaves(alma: ALMA) -> None:
    for name in ("A", "B", "C"):
        alma.graph.relate(name, "knows", f"friend of {name}", agent="dev")
    alma.graph.merge("A", "B", agent="dev")
    alma.graph.merge("A", "C", agent="dev")
    assert len(alma.graph.relations("B")) == 3
    alma.graph.split("A", "C", agent="dev")
    assert (len(alma.graph.relations("A")), targets(alma.graph.relations("C"))) == (2, ["friend of C"])


def test_different_types_are_never_one(alma: ALMA) -> None:
    alma.graph.relate("Jordan", "plays", "ball", agent="dev", source_type="person")
    alma.graph.relate("Amman", "part_of", "the kingdom", agent="dev", source_type="place")
    with pytest.raises(ValidationError, match="never one"):
        alma.graph.merge("Jordan", "Amman", agent="dev")


def test_a_name_that_is_no_part_is_not_split_off(alma: ALMA) -> None:
    alma.graph.relate("Ann", "knows", "Bob", agent="dev")
    with pytest.raises(ValidationError, match="is no part of"):
        alma.graph.split("Ann", "Bob", agent="dev")


def test_the_words_of_a_merge_go_with_the_memory_that_has_them(alma: ALMA, tmp_path: Path) -> None:
    said = alma.add_domain_knowledge(agent="dev", domain="people", fact="Big Blue makes mainframes.")
    alma.graph.relate("Big Blue", "makes", "mainframes", agent="dev", evidence=said.id)
    alma.graph.relate("IBM", "located_in", "Armonk", agent="dev")
    alma.graph.merge("IBM", "Big Blue", agent="dev", reason="Big Blue is a nickname")
    alma.purge([said.id])
    alma.export(tmp_path / "shop.json")
    assert "big blue" not in (tmp_path / "shop.json").read_text("utf-8").lower()
    assert alma.graph.entity("Big Blue") is None
