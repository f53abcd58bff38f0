"""Looking over a store: the queue of verdicts, the days, the projects, the check of the whole; and the numbers behind a score."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alma_server.settings import ServerSettings
from api_serving import Served, running_app

BOUND: list[dict[str, Any]] = [
    {},
    {"agent": "helena"},
    {"agent": "victor"},
    {"user_id": "maria"},
    {"user_id": ""},
    {"agent": "helena", "user_id": "tom"},
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with running_app(tmp_path, settings=ServerSettings(project="shop")) as served:
        for number in range(3):
            for agent, user in (("helena", None), ("helena", "maria"), ("victor", None)):
                for way, outcome in (("Empty fields first", "success"), ("Sleep a second", "failure")):
                    served.alma.learn(agent, f"Test form {number}", outcome, way, user_id=user, task_type="forms")
        yield served


def end_episode(served: Served, agent: str, outcome: str) -> str:
    with served.alma.episode(agent=agent, task="Deploy the shop") as episode:
        episode.end(outcome)
    return str(episode.id)


def test_the_queue_is_that_of_the_command_and_a_verdict_of_the_page_takes_an_episode_off_it(served: Served) -> None:
    ended = [end_episode(served, agent, "unverified") for agent in ("helena", "victor")]
    client = served.client(source="person")
    queue = client.get("/v1/projects/shop/review").json()
    assert queue == served.alma.review().model_dump(mode="json")
    assert {item["episode"]["id"] for item in queue["unjudged"]} == set(ended)

    verdict = {"episode_id": ended[0], "outcome": "success", "agent": "helena"}
    assert client.post("/v1/projects/shop/settle", json=verdict).json()["episodes"][0]["verdict_source"] == "person"
    assert [item["episode"]["id"] for item in client.get("/v1/projects/shop/review").json()["unjudged"]] == ended[1:]


def test_the_queue_of_a_token_of_one_agent_holds_no_episode_of_others(served: Served) -> None:
    ended = {agent: end_episode(served, agent, "unverified") for agent in ("helena", "victor")}
    for agent, episode in ended.items():
        queue = served.client(agent, agent=agent).get("/v1/projects/shop/review").json()
        assert [item["episode"]["id"] for item in queue["unjudged"]] == [episode]
        assert queue["unjudged_count"] == 1


@pytest.mark.parametrize("bound", BOUND, ids=str)
def test_the_days_add_up_to_the_statistics_that_the_same_token_sees(served: Served, bound: dict[str, str]) -> None:
    client = served.client(**bound)
    days = client.get("/v1/projects/shop/timeline").json()["days"]
    counts = Counter[str]()
    for day in days:
        counts.update(day["by_kind"])
    assert dict(counts) == client.get("/v1/projects/shop/stats").json()["by_kind"]
    assert sum(day["judged"] for day in days) == counts["outcome"]
    assert sum(day["successes"] for day in days) == counts["outcome"] / 2


def test_the_factors_of_a_score_are_stated_and_every_number_on_request(served: Served) -> None:
    client = served.client()
    question = {"agent": "helena", "task": "Test form 2"}
    plain = client.post("/v1/projects/shop/retrieve", json=question).json()["memories"]
    assert {each["explanation"] for each in plain} == {None}
    explained = client.post("/v1/projects/shop/retrieve", json={**question, "explain": True}).json()["memories"]
    for each in explained:
        factors = each["factors"]
        total = sum(weight * factors[name] for name, weight in factors["weights"].items())
        assert each["score"] == pytest.approx(factors["usefulness"] * total)
        if each["memory"]["kind"] == "outcome":
            assert each["explanation"]["score"] == pytest.approx(each["score"])
    assert {"outcome", "heuristic"} <= {each["memory"]["kind"] for each in explained}
    assert [each["memory"]["id"] for each in explained] == [each["memory"]["id"] for each in plain]


def test_a_token_is_told_the_projects_that_it_reaches(served: Served) -> None:
    served.alma.for_project("other").learn("helena", "Test", "success")
    assert served.client("any").get("/v1/projects").json() == {"names": ["other", "shop"]}
    assert served.client("bound", projects=("shop", "new")).get("/v1/projects").json() == {"names": ["new", "shop"]}


def test_the_whole_store_is_checked_for_a_token_of_all_of_it(served: Served) -> None:
    found = served.client().get("/v1/verify").json()
    assert found == served.alma.verify().model_dump(mode="json")
    assert found["problems"] == []
    assert found["records"] > 0
    for number, bound in enumerate(({"agent": "helena"}, {"user_id": "maria"}, {"user_id": ""}, {"projects": ("shop",)})):
        assert served.client(f"bound {number}", **bound).get("/v1/verify").status_code == 403
