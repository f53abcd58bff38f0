"""The graph and the self-model over HTTP, as the library has them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA
from alma_access import TokenFile
from alma_server.app import create_app
from alma_server.settings import ServerSettings
from api_serving import Served, client_of, running_app
from mcp_servers import make_project

GRAPH = "/v1/projects/shop/graph"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with running_app(tmp_path, settings=ServerSettings(project="shop")) as served:
        yield served


def test_a_relation_is_stated_listed_dated_and_shown(served: Served) -> None:
    client = served.client(agent="helena")
    for firm, year in (("Acme", 2020), ("Globex", 2021)):
        stated = {"source": "Ann", "type": "works at", "target": firm, "valid_from": f"{year}-01-01T00:00:00Z"}
        assert client.post(f"{GRAPH}/relations", json=stated).status_code == 201
    then = client.get(f"{GRAPH}/relations", params={"entity": "Ann", "as_of": "2020-06-01T00:00:00Z"}).json()
    assert [one["properties"]["target"] for one in then["relations"]] == ["Acme"]
    newest = client.get(f"{GRAPH}/timeline", params={"entity": "Ann", "limit": 1}).json()
    assert [one["properties"]["target"] for one in newest["relations"]] == ["Globex"]
    times = client.get(f"{GRAPH}/timeline", params={"entity": "ann"}).json()["relations"]
    assert [(one["valid_from"][:4], (one["valid_to"] or "")[:4]) for one in times] == [("2020", "2021"), ("2021", "")]
    assert "works for: Globex" in client.get(f"{GRAPH}/about", params={"entity": "Ann"}).json()["page"]
    assert [one["name"] for one in client.get(f"{GRAPH}/entities").json()["entities"]] == ["Acme", "Ann", "Globex"]
    assert client.get(f"{GRAPH}/entity", params={"name": "Ann"}).json()["id"] == "thing:ann"
    path = {"a": "Ann", "b": "Globex"}
    assert len(client.get(f"{GRAPH}/path", params=path).json()["relations"]) == 1


def test_a_token_of_another_agent_finds_none_of_it(served: Served) -> None:
    served.alma.graph.relate("Ann", "works_for", "Acme", agent="helena")
    client = served.client(agent="victor")
    assert client.get(f"{GRAPH}/entities").json() == {"entities": []}
    answers = [client.get(f"{GRAPH}/about", params={"entity": name}) for name in ("Ann", "Eve")]
    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].json()["detail"].replace("Ann", "Eve") == answers[1].json()["detail"]


def test_a_graph_is_there_for_those_who_see_an_entity_of_it(served: Served) -> None:
    helena, victor = (served.client(agent, agent=agent) for agent in ("helena", "victor"))
    assert helena.get(GRAPH).json() == {"available": False}
    served.alma.graph.relate("Ann", "works_for", "Acme", agent="helena")
    assert helena.get(GRAPH).json() == {"available": True}
    assert victor.get(GRAPH).json() == {"available": False}


def test_a_graph_is_there_where_memories_are_read_for_it(tmp_path: Path) -> None:
    config = make_project(tmp_path)
    config.write_text(config.read_text("utf-8") + "  graph:\n    enabled: true\n", "utf-8")
    tokens = TokenFile(tmp_path / "tokens")
    with ALMA.from_config(config) as alma:
        assert client_of(create_app(alma.for_project, tokens), tokens).get(GRAPH).json() == {"available": True}


def test_without_its_package_there_is_no_graph(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.alma.graph.relate("Ann", "works_for", "Acme", agent="helena")
    monkeypatch.setattr("alma.extensions.find_spec", lambda _: None)
    assert served.client().get(GRAPH).json() == {"available": False}


def test_agents_of_one_user_share_the_self_model_and_no_other_user_sees_it(served: Served) -> None:
    model = "/v1/projects/shop/self-model"
    claude, cursor, other = (
        served.client(f"{agent}{user}", agent=agent, user_id=user)
        for agent, user in (("claude", "ann"), ("cursor", "ann"), ("claude", "bob"))
    )
    assert claude.patch(model, json={"new_data": "User prefers concise replies."}).status_code == 200
    assert [one["target"] for one in cursor.get(model).json()["links"]] == ["Preference:concise replies"]
    assert other.get(model).json() == {"nodes": [], "links": []}
    asked = cursor.post(f"{model}/query", json={"query": "Which replies does the user want?"}).json()
    assert asked["lines"] == ["ann prefers concise replies"]
    assert claude.patch(model, json={"new_data": {"remove": ["Project:none"]}}).status_code == 422
