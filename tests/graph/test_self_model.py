"""The self-model: one a user, shared by that user's agents; merged, with its past, and taken back like anything else."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ValidationError
from alma.graph import SelfModel
from alma.integration import open_records
from graph_scenes import targets

SHOP = {"type": "Project", "name": "shop"}


def values(model: SelfModel) -> dict[str, dict[str, str]]:
    return {node.key: {name: fact.value for name, fact in node.facts.items()} for node in model.nodes}


def links(model: SelfModel) -> set[tuple[str, str, str]]:
    return {(one.source, one.relation, one.target) for one in model.links}


def test_without_an_agent_or_a_user_it_is_the_project_s(alma: ALMA) -> None:
    assert alma.graph.get_self_model() == SelfModel()
    alma.graph.update_self_model({"nodes": [SHOP]})
    assert values(alma.graph.get_self_model()) == {"Project:shop": {}}


def test_what_the_user_prefers_is_an_edge_and_the_preference_of_prompts(alma: ALMA) -> None:
    model = alma.graph.update_self_model("User prefers concise replies", agent="claude", user_id="ann")
    assert links(model) == {("User:ann", "prefers", "Preference:concise replies")}
    assert "prefers concise replies" in alma.retrieve("Write a reply", "cursor", user_id="ann").to_prompt()
    again = alma.graph.update_self_model({"source": "User", "relation": "prefers", "target": "concise replies"}, user_id="ann")
    assert len(again.links) == 1
    assert len(alma.list_memories(kind="user_preference", user_id="ann")) == 1


def test_a_name_that_the_user_prefers_is_no_node_beside_the_preference(alma: ALMA) -> None:
    model = alma.graph.update_self_model("User prefers Emacs.", user_id="ann")
    assert [node.key for node in model.nodes] == ["User:ann", "Preference:Emacs"]


def test_nodes_and_edges_of_any_type_and_sentences_come_together(alma: ALMA) -> None:
    given = [
        {
            "nodes": [{**SHOP, "facts": {"language": "Go"}}],
            "edges": [{"source": "User", "relation": "works on", "target": "Project:shop"}],
        },
        {"type": "Fear", "name": "heights"},
        {"from": "User", "type": "plays", "to": "chess"},
        "I live in Toronto.",
        "The deadline is Friday",
    ]
    model = alma.graph.update_self_model(given, agent="claude", user_id="ann")
    assert links(model) == {
        ("User:ann", "works on", "Project:shop"),
        ("User:ann", "plays", "Thing:chess"),
        ("User:ann", "lives in", "Place:Toronto"),
        ("User:ann", "noted", "Value:The deadline is Friday"),
    }
    assert values(model)["Project:shop"] == {"language": "Go"}
    assert "Fear:heights" in values(model)


def test_what_one_agent_notes_of_a_user_another_sees_and_no_other_user(alma: ALMA) -> None:
    alma.graph.update_self_model({"nodes": [SHOP]}, agent="claude", user_id="ann")
    assert values(alma.graph.get_self_model(agent="cursor", user_id="ann")) == {"Project:shop": {}}
    for reader in ({"agent": "claude", "user_id": "bob"}, {"agent": "claude"}, {}):
        assert alma.graph.get_self_model(**reader) == SelfModel()
        assert alma.graph.entity("shop", **reader) is None
    assert alma.graph.entity("shop", agent="cursor", user_id="ann") is not None


def test_a_fact_that_changes_keeps_its_past_and_the_graph_knows_when(alma: ALMA) -> None:
    for language in ("Go", "Rust", "Zig"):
        alma.graph.update_self_model(
            {"nodes": [{**SHOP, "facts": {"language": language}}]}, agent=language.lower(), user_id="ann"
        )
    (node,) = alma.graph.get_self_model(user_id="ann").nodes
    fact = node.facts["language"]
    assert (fact.value, fact.by, fact.former) == ("Zig", "zig", ("Rust", "Go"))
    assert targets(alma.graph.timeline("project:shop", user_id="ann")) == ["Go", "Rust", "Zig"]
    assert targets(alma.graph.relations("project:shop", user_id="ann")) == ["Zig"]


def test_the_user_moves(alma: ALMA) -> None:
    alma.graph.update_self_model("I live in Toronto.", user_id="ann")
    model = alma.graph.update_self_model("I live in Oslo.", user_id="ann")
    assert links(model) == {("User:ann", "lives in", "Place:Oslo")}
    assert targets(alma.graph.timeline("user:ann", user_id="ann")) == ["Toronto", "Oslo"]


def test_an_update_can_be_undone(alma: ALMA) -> None:
    alma.graph.update_self_model({"nodes": [{**SHOP, "facts": {"language": "Go"}}]}, user_id="ann")
    before, then = alma.graph.get_self_model(user_id="ann"), alma.get_stats().journal_records
    alma.graph.update_self_model({"nodes": [{**SHOP, "facts": {"language": "Rust"}}]}, user_id="ann")
    alma.graph.update_self_model({"remove": ["Project:shop"]}, user_id="ann")
    assert alma.graph.get_self_model(user_id="ann").nodes == ()
    alma.undo(to=then)
    assert alma.graph.get_self_model(user_id="ann") == before


def test_what_is_removed_leaves_with_its_links_and_a_preference_too(alma: ALMA) -> None:
    given = {"nodes": [SHOP], "edges": [{"source": "User", "relation": "works on", "target": "Project:shop"}]}
    alma.graph.update_self_model([given, "User prefers tabs"], user_id="ann")
    model = alma.graph.update_self_model({"remove": ["project:Shop", "Preference:tabs"]}, user_id="ann")
    assert (links(model), "Project:shop" in values(model)) == (set(), False)
    assert alma.list_memories(kind="user_preference", user_id="ann") == []
    back = alma.graph.update_self_model(given, user_id="ann")
    assert links(back) == {("User:ann", "works on", "Project:shop")}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"edges": [{"source": "User", "relation": "owns", "target": "Project:shop"}]}, "no node 'Project:shop'"),
        ({"remove": ["Project:shop"]}, "no node 'Project:shop'"),
        ({"nodes": ["shop"]}, "a node or an edge is a mapping"),
        ({"nodes": [SHOP], "colour": "red"}, "not 'colour'"),
        ({"nodes": [{"type": "Project"}]}, "name must be a text"),
        (7, "must be sentences"),
        ({"nodes": [{"type": "Tool", "name": f"tool {number}"} for number in range(201)]}, "at most 200"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_stored(alma: ALMA, given: object, expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        alma.graph.update_self_model(given, user_id="ann")
    assert alma.graph.get_self_model(user_id="ann") == SelfModel()


def test_writers_at_the_same_time_lose_nothing(alma: ALMA) -> None:
    def add(number: int) -> SelfModel:
        return alma.graph.update_self_model({"nodes": [{"type": "Tool", "name": f"tool {number}"}]}, agent="helena")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(24)))
    assert len(alma.graph.get_self_model(agent="helena").nodes) == 24


def test_a_secret_in_a_fact_is_replaced(alma: ALMA) -> None:
    key = "ghp_" + "a1B2" * 9
    model = alma.graph.update_self_model({"nodes": [{**SHOP, "facts": {"token": key}}]}, user_id="ann")
    assert key not in str(model)
    assert values(model)["Project:shop"]["token"].startswith("[secret:github_token:")


def test_it_leaves_with_its_user_and_goes_with_their_export(alma: ALMA, tmp_path: Path) -> None:
    alma.graph.update_self_model({"nodes": [SHOP]}, agent="claude", user_id="ann")
    alma.export(tmp_path / "ann.json", user_id="ann")
    with ALMA.open(tmp_path / "other", project_id="shop", embedding_provider="hash") as other:
        other.import_from(tmp_path / "ann.json")
        assert values(other.graph.get_self_model(user_id="ann")) == {"Project:shop": {}}
    alma.forget_user("ann")
    assert alma.graph.get_self_model(user_id="ann") == SelfModel()
    assert alma.verify().ok


def test_a_question_is_answered_from_the_model_and_the_memories(alma: ALMA) -> None:
    alma.graph.update_self_model({"nodes": [{**SHOP, "facts": {"language": "Go"}}]}, agent="claude", user_id="ann")
    alma.add_domain_knowledge(agent="claude", domain="shop", fact="The shop deploys with one script.")
    found = alma.graph.query_memory("Which language has the shop?", agent="claude", user_id="ann")
    assert found.lines == ["shop: language Go"]
    assert "The shop deploys with one script." in str(found)
    assert alma.graph.query_memory("Which language has the shop?", agent="claude", user_id="bob").lines == []


def test_models_of_the_former_form_are_kept_whole(alma: ALMA) -> None:
    at = "2026-01-01T00:00:00+00:00"
    old = open_records(alma, "self.model")
    for key, agent, language in (("a" * 32, "claude", "Rust"), ("b" * 32, "cursor", "Go")):
        fact = {"value": language, "by": agent, "at": at, "former": ["C"]}
        nodes = [
            {"type": "Project", "name": f"shop of {agent}", "facts": {"language": fact}, "memory_id": ""},
            {"type": "User", "name": "ann", "facts": {}},
        ]
        link = {"source": "User:ann", "relation": "works on", "target": f"Project:shop of {agent}", "by": agent, "at": at}
        old.put(key, {"agent": agent, "user_id": "ann", "graph": {"nodes": nodes, "links": [link]}})
    model = alma.graph.get_self_model(agent="claude", user_id="ann")
    assert links(model) == {("User:ann", "works on", f"Project:shop of {agent}") for agent in ("claude", "cursor")}
    facts = [node.facts["language"] for node in model.nodes if node.type == "Project"]
    assert [(one.value, one.by, f"{one.at:%Y-%m-%d}", one.former) for one in facts] == [
        ("Rust", "claude", "2026-01-01", ("C",)),
        ("Go", "cursor", "2026-01-01", ("C",)),
    ]
    assert alma.graph.get_self_model(agent="cursor", user_id="ann") == model
