"""One agent's life over HTTP: the same memories as by the library, and two users who never meet."""

from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from alma import ALMA
from api_serving import Opening, client_of, running_app

LOGIN = "Test the login form validation"
FIELDS = "Tested empty fields, invalid email, valid submission"


def live_over_http(client: TestClient) -> None:
    def post(path: str, status: int, **body: Any) -> Any:
        answer = client.post(f"/v1/projects/shop/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    for place in ("the shop", "the admin page", "the app"):
        stored = post(
            "learn", 201, agent="helena", task=f"{LOGIN} of {place}", outcome="success", strategy_used=FIELDS, task_type="forms"
        )
        assert stored["verdict_source"] == "tool"
    found = post("retrieve", 200, task=f"{LOGIN} of the blog", agent="helena", task_type="forms")
    assert "worked 3 of 3 times" in found["prompt"]
    post("memories", 201, kind="user_preference", user_id="maria", category="style", preference="Use strict mode")
    shown = post("retrieve", 200, task="Write the style of a module", agent="helena", user_id="maria")
    assert "strict mode" in shown["prompt"]
    used = post("usage", 200, retrieved_memory_ids=shown["ids"], used_memory_ids=shown["ids"], agent="helena", user_id="maria")
    assert used["used"] == shown["ids"]
    (preference,) = [each["memory"] for each in shown["memories"] if each["memory"]["kind"] == "user_preference"]
    post("feedback", 200, memory_id=preference["id"], signal="thumbs_up", agent="helena", user_id="maria")
    begun = post("episodes", 201, agent="helena", task="Deploy the login form")
    episode = f"episodes/{begun['episode']['id']}"
    assert post(f"{episode}/steps", 201, action="kubectl apply", ok=False, error="ImagePullBackOff")["memory_id"]
    post(f"{episode}/steps", 201, action="kubectl apply -f fixed", tool="kubectl apply", ok=True)
    ended = post(f"{episode}/end", 200, outcome="unverified", strategy="rolling update")
    assert (len(ended["steps"]), ended["outcome"]) == (2, "unverified")
    (settled,) = post("settle", 200, episode_id=ended["id"], outcome="success", reason="the page answers")["episodes"]
    assert (settled["outcome"], settled["verdict_source"]) == ("success", "tool")


def live_by_the_library(alma: ALMA) -> None:
    for place in ("the shop", "the admin page", "the app"):
        alma.learn("helena", f"{LOGIN} of {place}", "success", FIELDS, task_type="forms", verdict_source="tool")
    alma.add_user_preference("maria", "style", "Use strict mode")
    shown = alma.retrieve("Write the style of a module", "helena", user_id="maria")
    alma.record_usage(shown.ids, shown.ids, agent="helena", user_id="maria")
    alma.record_feedback(shown.preferences[0].id, signal="thumbs_up", agent="helena", user_id="maria")
    episode = alma.episode("helena", "Deploy the login form")
    episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
    episode.step("kubectl apply -f fixed", ok=True, tool="kubectl apply")
    episode.end("unverified", strategy="rolling update", source="tool")
    alma.settle(episode.id, "success", "the page answers", source="tool")


def what_is_known(alma: ALMA) -> list[tuple[str, ...]]:
    return sorted((str(each.kind), each.agent, each.user_id or "", each.text, each.keywords) for each in alma.list_memories())


def test_a_life_over_http_leaves_the_memories_that_the_library_leaves(tmp_path: Path) -> None:
    with running_app(tmp_path / "http") as (app, tokens, over_http), running_app(tmp_path / "library") as (_, _, by_hand):
        live_over_http(client_of(app, tokens, source="tool"))
        live_by_the_library(by_hand)
        assert what_is_known(over_http) == what_is_known(by_hand)
        question = {"task": f"{LOGIN} of the blog", "agent": "helena", "task_type": "forms"}
        assert over_http.retrieve(**question).to_prompt() == by_hand.retrieve(**question).to_prompt()


def test_what_was_forgotten_comes_back_by_an_undo(client: Opening) -> None:
    asking = client(agent="helena")
    made = asking.post("/v1/projects/shop/memories", json={"kind": "domain_knowledge", "domain": "api", "fact": "Uses JWT"})
    place = made.headers["location"]
    assert asking.get(place).json() == made.json()
    gone = asking.delete(place, headers={"If-Match": asking.get(place).headers["etag"]}).json()
    assert asking.get(place).status_code == 404
    looked = asking.post("/v1/projects/shop/undo", json={"to": gone["seqs"][0] - 1}).json()
    assert (looked["dry_run"], looked["brought_back"]) == (True, [made.json()["id"]])
    assert asking.get(place).status_code == 404
    asking.post("/v1/projects/shop/undo", json={"to": gone["seqs"][0] - 1, "dry_run": False})
    assert asking.get(place).status_code == 200
    history = asking.get(f"{place}/history").json()
    assert [entry["what"] for entry in history] == ["made", "archived", "brought back"]
