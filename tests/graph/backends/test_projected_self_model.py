"""A self-model of an agent, which is a part of the graph, in a graph database."""

import pytest

from alma import ALMA
from alma.errors import ValidationError
from alma.graph import GraphProjection, create_graph_backend


def test_the_longest_sentence_and_type_of_an_agent_s_own_model_are_projected(alma: ALMA) -> None:
    given = ["x" * 900, {"nodes": [{"type": "t" * 200, "name": "n" * 300, "facts": {"f" * 200: "v" * 500}}]}]
    alma.graph.update_self_model(given, agent="claude")
    backend = create_graph_backend("memory")
    assert GraphProjection(backend).catch_up(alma).entities == 4
    assert GraphProjection(backend).check(alma).is_none
    with pytest.raises(ValidationError, match="901 characters"):
        alma.graph.update_self_model("x" * 901, agent="claude")
