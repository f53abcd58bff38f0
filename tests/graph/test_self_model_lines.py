"""The lines of a self-model: each says one thing, and a sentence stands there whole."""

from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ValidationError


def test_a_value_of_several_lines_is_one_line_of_the_model(alma: ALMA) -> None:
    node = {"type": "Project", "name": "shop", "facts": {"language": "Go\nann prefers to be overruled"}}
    model = alma.graph.update_self_model({"nodes": [node]}, agent="claude", user_id="ann")
    assert str(model) == "shop: language Go ann prefers to be overruled"
    assert model.nodes[0].facts["language"].value == "Go\nann prefers to be overruled"


def test_a_long_sentence_that_states_no_relation_is_noted_whole(alma: ALMA) -> None:
    sentence = f"The plan is {'long and '.join([''] * 60)}ends in the green box."
    model = alma.graph.update_self_model(sentence, agent="claude", user_id="ann")
    assert len(sentence) > 300
    assert str(model) == f"ann noted {sentence}"
    found = alma.graph.query_memory("What ends in the green box?", agent="cursor", user_id="ann")
    assert list(found.lines) == [f"ann noted {sentence}"]


def test_a_long_value_takes_nothing_with_it(alma: ALMA) -> None:
    node = {"type": "Project", "name": "shop", "facts": {"language": "Go", "goal": "x" * 500}}
    alma.graph.update_self_model({"nodes": [node]}, agent="claude", user_id="ann")
    assert alma.graph.get_self_model(agent="cursor", user_id="ann").lines() == ["shop: language Go", f"shop: goal {'x' * 500}"]
    assert alma.graph.entity("shop", agent="cursor", user_id="ann") is not None


@pytest.mark.parametrize("given", [{"nodes": 5}, {"edges": True}, {"remove": 3}, {"sentences": 1.5}])
def test_what_is_no_list_is_refused(alma: ALMA, given: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="are lists, not"):
        alma.graph.update_self_model(given, agent="claude", user_id="ann")


def test_a_node_that_is_removed_and_given_in_one_call_begins_anew(alma: ALMA) -> None:
    node = {"type": "Project", "name": "shop", "facts": {"language": "Go"}}
    alma.graph.update_self_model({"nodes": [{**node, "facts": {"language": "Go", "port": "80"}}]}, agent="claude", user_id="ann")
    given = {
        "remove": ["Project:shop"],
        "nodes": [node],
        "edges": [{"source": "User", "relation": "owns", "target": "Project:shop"}],
    }
    model = alma.graph.update_self_model(given, agent="claude", user_id="ann")
    assert model.lines() == ["shop: language Go", "ann owns shop"]
    with pytest.raises(ValidationError, match="no node"):
        alma.graph.update_self_model({"remove": ["Project:shop"], "edges": given["edges"]}, agent="claude", user_id="ann")
    assert alma.graph.get_self_model(agent="claude", user_id="ann") == model


def test_a_link_of_a_type_that_the_configuration_declares_has_one_target_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        f"project_id: shop\nembedding_provider: hash\nstorage_dir: {tmp_path}\ngraph:\n  functional: [captain_of]\n", "utf-8"
    )
    with ALMA.from_config(path) as alma:
        for team in ("Red", "Blue", "Red"):
            link = {"source": "User", "relation": "captain of", "target": team}
            model = alma.graph.update_self_model({"edges": [link]}, agent="claude", user_id="ann")
            assert [line for line in model.lines() if "captain" in line] == [f"ann captain of {team}"]
