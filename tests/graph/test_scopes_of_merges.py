"""A merge is known to more readers than the entities that it joins: what one of them may not read stays unknown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ValidationError
from graph_scenes import targets


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[ALMA]:
    """The middle reads what the first recorded, and the last what the middle recorded, but not the first's."""
    agents = {"first": {"share_with": ["middle"]}, "middle": {"share_with": ["last"]}}
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", agents=agents) as alma:
        alma.graph.relate("Secret Sam", "advises", "Hidden Corp", agent="first", source_type="person")
        alma.graph.relate("Ann", "works_for", "Acme", agent="middle", source_type="person")
        yield alma


@pytest.mark.parametrize("names", [("Secret Sam", "Ann"), ("Ann", "Secret Sam")])
def test_a_merge_with_an_unknown_entity_shows_neither_its_id_nor_its_name(chain: ALMA, names: tuple[str, str]) -> None:
    chain.graph.merge(*names, agent="middle")
    shown = [*chain.graph.entities(agent="last"), *chain.graph.relations("Ann", agent="last")]
    assert "Ann" in str(shown)
    assert "secret" not in str(shown).lower()
    assert chain.graph.entity("person:secret sam", agent="last") is None
    assert sorted(targets(chain.graph.relations("Ann", agent="middle"))) == ["Acme", "Hidden Corp"]


def test_a_split_says_of_an_unknown_part_what_it_says_of_none(chain: ALMA) -> None:
    chain.graph.merge("Ann", "Secret Sam", agent="middle")
    for name in ("Secret Sam", "Nobody"):
        with pytest.raises(ValidationError, match=f"'{name}' is no part of 'Ann'"):
            chain.graph.split("Ann", name, agent="last")


def test_two_known_names_are_one_also_by_way_of_an_unknown_one(chain: ALMA) -> None:
    chain.graph.relate("Annie", "likes", "tea", agent="middle", source_type="person")
    chain.graph.merge("Secret Sam", "Ann", agent="middle")
    chain.graph.merge("Secret Sam", "Annie", agent="middle")
    found = chain.graph.entity("Annie", agent="last")
    assert found is not None
    assert (found.id, found.properties) == ("person:ann", {"aliases": ["Annie"]})


def test_a_name_without_a_type_that_may_not_be_read_is_no_part(chain: ALMA) -> None:
    chain.graph.relate("Ann", "knows", "Bob", agent="other")
    with pytest.raises(ValidationError, match="is no part of"):
        chain.graph.split("Ann", "Ann", agent="middle")


def test_a_name_that_looks_like_an_id_is_found_though_another_agent_has_that_id(alma: ALMA) -> None:
    alma.graph.relate("person:zoe", "uses", "vim", agent="one")
    alma.graph.relate("Zoe", "uses", "nano", agent="two", source_type="person")
    assert targets(alma.graph.relations("person:zoe", agent="one")) == ["vim"]
    assert targets(alma.graph.relations("person:zoe", agent="two")) == ["nano"]
