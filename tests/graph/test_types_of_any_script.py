"""Types of entities and relations, and names of facts, are words of any script."""

import pytest

from alma import ALMA
from alma.errors import ValidationError
from alma.integration import open_records
from graph_scenes import targets

AT = "2026-01-01T00:00:00+00:00"
LONG = "the deadline that was agreed with the customer in the meeting of the spring"


def test_types_and_facts_of_a_self_model_are_of_any_script(alma: ALMA) -> None:
    given = {
        "nodes": [{"type": "プロジェクト", "name": "店", "facts": {"言語": "Go"}}, {"type": "Tool", "name": "vim"}],
        "edges": [{"source": "プロジェクト:店", "relation": "使う", "target": "Tool:vim"}],
    }
    model = alma.graph.update_self_model(given, agent="claude", user_id="ann")
    assert model.lines() == ["店: 言語 Go", "店 使う vim"]
    assert targets(alma.graph.relations("店", "使う", agent="claude", user_id="ann")) == ["vim"]


def test_facts_that_differ_by_a_sign_are_two(alma: ALMA) -> None:
    node = {"type": "User", "name": "me", "facts": {"C++": "10 years", "C#": "2 years"}}
    model = alma.graph.update_self_model({"nodes": [node]}, agent="claude", user_id="ann")
    assert model.lines() == ["ann: c++ 10 years", "ann: c# 2 years"]


@pytest.mark.parametrize("name", ["言語", "größe", LONG, "!!", "→"])
def test_a_model_of_the_former_form_is_read_whatever_its_facts_and_links_are_named(alma: ALMA, name: str) -> None:
    fact = {"value": "Go", "by": "claude", "at": AT, "former": []}
    nodes = [{"type": "Project", "name": "shop", "facts": {name: fact}}, {"type": "Tool", "name": "vim", "facts": {}}]
    links = [{"source": "Project:shop", "relation": name, "target": "Tool:vim", "by": "claude", "at": AT}]
    body = {"agent": "claude", "user_id": "ann", "graph": {"nodes": nodes, "links": links}}
    open_records(alma, "self.model").put("a" * 32, body)
    model = alma.graph.get_self_model(agent="claude", user_id="ann")
    assert [fact.value for node in model.nodes for fact in node.facts.values()] == ["Go"]
    assert [(link.source, link.target) for link in model.links] == [("Project:shop", "Tool:vim")]


def test_a_type_has_letters_or_digits(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="a type has letters or digits"):
        alma.graph.relate("A", "!!", "B", agent="dev")
