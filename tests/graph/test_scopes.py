"""Who sees which part of a graph: what may not be read changes nothing, and no name leaks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.errors import MemoryNotFoundError, ValidationError
from alma.integration import open_records
from graph_scenes import day, intervals, targets


@pytest.fixture
def team(tmp_path: Path) -> Iterator[ALMA]:
    agents = {"senior": {"share_with": ["junior"]}}
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", agents=agents) as alma:
        yield alma


def test_an_agent_sees_neither_entities_nor_relations_of_another(alma: ALMA) -> None:
    alma.graph.relate("Ann", "works_for", "Acme", agent="dev")
    assert alma.graph.entity("Ann", agent="other") is None
    assert (alma.graph.entities(agent="other"), alma.graph.stats(agent="other")) == ([], {"entities": 0, "relations": 0})
    with pytest.raises(MemoryNotFoundError, match="no entity that this reader may see"):
        alma.graph.about("Ann", agent="other")


def test_what_an_agent_shares_the_other_sees_and_not_the_other_way_round(team: ALMA) -> None:
    team.graph.relate("Ann", "works_for", "Acme", agent="senior")
    team.graph.relate("Bob", "works_for", "Acme", agent="junior")
    assert {one.name for one in team.graph.entities(agent="junior")} == {"Ann", "Acme", "Bob"}
    assert {one.name for one in team.graph.entities(agent="senior")} == {"Ann", "Acme"}


def test_a_user_s_part_is_seen_for_that_user_only(alma: ALMA) -> None:
    alma.graph.relate("Ann", "works_for", "Acme", agent="dev", user_id="u1")
    assert alma.graph.entity("Ann", agent="dev", user_id="u1") is not None
    for reader in ({"agent": "dev"}, {"agent": "dev", "user_id": "u2"}, {}, {"user_id": "u2"}):
        assert alma.graph.entity("Ann", **reader) is None
    alma.forget_user("u1")
    assert alma.graph.entity("Ann", agent="dev", user_id="u1") is None


def test_what_may_not_be_read_ends_nothing(alma: ALMA) -> None:
    alma.graph.relate("Ann", "works_for", "Acme", agent="dev", valid_from=day(2020))
    alma.graph.relate("Ann", "works_for", "Secret Labs", agent="other", valid_from=day(2021))
    assert intervals(alma.graph.timeline("Ann", agent="dev")) == [("Acme", day(2020), None)]


def test_a_statement_is_no_wider_known_than_the_memory_it_rests_on(team: ALMA) -> None:
    said = team.add_domain_knowledge(agent="senior", domain="people", fact="Ann works for Acme.")
    team.graph.relate("Ann", "works_for", "Acme", agent="junior", evidence=said.id)
    assert team.graph.entity("Ann", agent="senior") is None  # the junior does not share
    assert team.graph.entity("Ann", agent="junior") is not None


def test_evidence_that_may_not_be_read_is_refused_as_if_it_were_not_there(alma: ALMA) -> None:
    said = alma.add_domain_knowledge(agent="other", domain="people", fact="Ann works for Acme.")
    refused = []
    for evidence in (said.id, "01a2294f-55c6-7461-8459-5faa42eaa674"):
        with pytest.raises(ValidationError, match="which is no memory that 'dev' may read") as error:
            alma.graph.relate("Ann", "works_for", "Acme", agent="dev", evidence=evidence)
        refused.append(str(error.value).replace(evidence, "it"))
    assert refused[0] == refused[1]


def test_the_spelling_of_a_hidden_name_is_not_shown(alma: ALMA) -> None:
    alma.graph.relate("ACME (secret bid)", "knows", "ANN", agent="other")
    alma.graph.relate("Ann", "knows", "Bob", agent="dev")
    assert [(one.name, one.properties) for one in alma.graph.entities("ann", agent="dev")] == [("Ann", {})]


def test_an_error_lists_no_entity_that_may_not_be_read(alma: ALMA) -> None:
    for kind, agent in (("person", "dev"), ("city", "dev"), ("submarine", "other")):
        alma.graph.relate("Jordan", "seen_in", "a report", agent=agent, source_type=kind)
    with pytest.raises(ValidationError, match="any of 2 entities") as error:
        alma.graph.relations("Jordan", agent="dev")
    assert "submarine" not in str(error.value)
    assert alma.graph.entity("Jordan", agent="other") is not None


def test_a_merge_by_one_agent_is_none_for_another(alma: ALMA) -> None:
    for agent in ("dev", "other"):
        alma.graph.relate("Ann", "knows", "Bob", agent=agent)
        alma.graph.relate("Annie", "knows", "Carl", agent=agent)
    alma.graph.merge("Ann", "Annie", agent="dev")
    assert targets(alma.graph.relations("Annie", agent="dev")) == ["Carl", "Bob"]
    assert targets(alma.graph.relations("Annie", agent="other")) == ["Carl"]


STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from(["Ann", "Bob", "ann"]),
        st.sampled_from(["works_for", "knows"]),
        st.sampled_from(["Acme", "Beta", "Bob"]),
        st.integers(2000, 2010),
        st.sampled_from(["dev", "hidden"]),
    ),
    max_size=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STATEMENTS)
def test_a_reader_s_graph_is_that_of_a_store_without_what_is_hidden(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, str, int, str]]
) -> None:
    pictures = []
    for is_whole in (True, False):
        with ALMA.open(tmp_path_factory.mktemp("graph"), project_id="p", embedding_provider="hash") as alma:
            for source, kind, target, year, agent in said:
                if is_whole or agent == "dev":
                    alma.graph.relate(source, kind, target, agent=agent, valid_from=day(year))
            entities = [one.name for one in alma.graph.entities(agent="dev")]
            lines = [intervals(alma.graph.timeline(one, agent="dev")) for one in entities]
            pictures.append((entities, lines, alma.graph.stats(agent="dev")))
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"recorded": 1, "entities": [["Ann"]], "relations": []},
        {"recorded": 1, "entities": [["Ann", "Person:x"]], "relations": []},
        {"recorded": 1, "entities": [["Ann", "person"]], "relations": [{"source": 0, "target": -1, "type": "knows"}]},
        {"recorded": "now", "entities": [["Ann", "person"]], "relations": []},
        {"recorded": 1, "entities": [["Ann", "person"]], "relations": [{"source": 0, "target": 0, "type": "kn ows"}]},
        {"recorded": 10**40, "entities": [["", "person"]], "relations": []},
        {"recorded": 1, "entities": 7, "relations": None},
    ],
)
def test_a_record_that_is_not_of_the_form_is_left_out(alma: ALMA, body: dict[str, object]) -> None:
    open_records(alma, "graph.source").put("0f/strange", {**body, "agent": "dev"})
    open_records(alma, "graph.decision").put("0f/strange", {"agent": "dev"})
    assert alma.graph.entities() == []
    alma.graph.relate("Ann", "knows", "Bob", agent="dev")
    assert len(alma.graph.entities()) == 2
