"""The published client of alma-memory: JSON-RPC at `POST /`, its names, and its answers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from alma_access import Access
from alma_server.settings import ServerSettings
from api_serving import Opening, Served, running_app

LEARNED = {"agent": "helena", "task": "Test login form", "outcome": "success", "strategyUsed": "Tested empty fields"}


def call(client: TestClient, tool: str, **arguments: Any) -> Any:
    """What a tool says, as the client reads it."""
    sent = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = client.post("/", json=sent)
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] == 7
    (content,) = answer.json()["result"]["content"]
    return json.loads(content["text"])


@pytest.fixture
def old(client: Opening) -> TestClient:
    return client(projects=("shop",), source="caller")


def test_what_is_learned_is_retrieved(old: TestClient) -> None:
    learned = call(old, "alma_learn", **LEARNED)
    assert learned["success"] is learned["learned"] is learned["outcome"]["success"] is True
    found = call(old, "alma_retrieve", query="Test the login form", agent="helena", topK=3)
    assert found["memories"]["outcomes"][0]["strategy_used"] == "Tested empty fields"
    assert "Tested empty fields" in found["prompt_injection"]


def test_preferences_facts_and_counts(old: TestClient) -> None:
    assert call(old, "alma_add_preference", userId="maria", category="style", preference="Strict mode")["preference"]["id"]
    fact = call(old, "alma_add_knowledge", agent="helena", domain="api", fact="Uses JWT")["knowledge"]
    assert call(old, "alma_stats")["stats"]["total_count"] == 2
    used = call(old, "alma_record_usage", agent="helena", retrievedMemoryIds=[fact["id"]], usedMemoryIds=[fact["id"]])
    assert used["used"] == [fact["id"]]
    rated = call(old, "alma_record_feedback", agent="helena", memoryId=fact["id"], signal="thumbs_up", projectId="shop")
    assert rated["recorded"] is True
    assert call(old, "alma_forget")["pruned_count"] == 0
    assert call(old, "alma_health")["status"] == "healthy"


def test_workflows(old: TestClient) -> None:
    saved = call(old, "alma_checkpoint", runId="deploy", nodeId="build", state={"step": 1})
    assert (saved["checkpoint"]["run_id"], saved["checkpoint"]["sequence_number"]) == ("deploy", 1)
    call(old, "alma_checkpoint", runId="deploy", nodeId="test", branchId="side", state={"tested": True})
    assert call(old, "alma_resume", runId="deploy", branchId="side")["checkpoint"]["state"] == {"tested": True}
    merged = call(old, "alma_merge_states", runId="deploy", branchIds=["main", "side"])
    assert merged["merged_state"] == {"step": 1, "tested": True}
    call(old, "alma_link_artifact", memoryId="deploy", artifactType="report", storageUrl="s3://bucket/report.html")
    assert call(old, "alma_get_artifacts", memoryId="deploy")["artifacts"][0]["artifact_type"] == "report"
    assert call(old, "alma_workflow_learn", agent="helena", workflowId="deploy", result="success", summary="Deployed")["success"]
    scoped = call(old, "alma_retrieve_scoped", task="Deploy", agent="helena", scope="workflow", workflowId="deploy")
    assert scoped["scope"] == "workflow"
    assert call(old, "alma_cleanup_checkpoints", runId="deploy", keepLatest=1)["deleted_count"] == 0


def test_a_wrong_argument_is_said_as_the_client_expects(old: TestClient) -> None:
    assert call(old, "alma_learn", agent="helena", task="", outcome="success") == {
        "success": False,
        "error": "task cannot be empty",
    }
    assert call(old, "alma_learn", **{**LEARNED, "strategyUsed": ["no text"]})["success"] is False


def test_other_requests(old: TestClient) -> None:
    assert old.get("/health").json() == {"success": True, "status": "healthy"}
    listed = old.post("/", json={"id": 1, "method": "tools/list"}).json()["result"]["tools"]
    assert "alma_learn" in {tool["name"] for tool in listed}
    assert old.post("/", json={"id": 1, "method": "ping"}).json()["result"] == {}
    assert old.post("/", json={"id": 1, "method": "nonsense"}).json()["error"]["code"] == -32601
    assert old.post("/", json={"id": 1, "method": "tools/call", "params": {"name": "x"}}).json()["error"]["code"] == -32602


@pytest.mark.parametrize("sent", [r'{"id": "\ud800", "method": "ping"}', '{"id": 1e999, "method": "ping"}', "[]", "1"])
def test_a_message_that_cannot_be_answered_is_refused(sent: str, old: TestClient) -> None:
    assert old.post("/", content=sent, headers={"Content-Type": "application/json"}).status_code == 400


@pytest.mark.parametrize("value", [[], {}, 5, True])
def test_a_name_that_is_no_text_is_refused(value: Any, old: TestClient) -> None:
    sent = {"id": 1, "method": "tools/call", "params": {"name": value}}
    assert old.post("/", json=sent).json()["error"]["code"] == -32602
    assert call(old, "alma_stats", projectId=value) == {"success": False, "error": "project_id must be a text"}


@pytest.mark.parametrize(
    "bound", [{"agent": "victor"}, {"user_id": "tom"}, {"projects": ("other", "more")}, {"rights": frozenset({"read"})}]
)
def test_the_door_has_the_same_walls(client: Opening, served: Served, bound: dict[str, Any]) -> None:
    given = {"projects": ("shop",), **bound}
    sent = {"method": "tools/call", "params": {"name": "alma_learn", "arguments": {**LEARNED, "userId": "maria"}}}
    assert client(**given).post("/", json=sent).status_code == 403
    assert served.client_with(None).post("/", json=sent).status_code == 401
    assert served.alma.get_stats().total == 0


def test_a_token_of_an_agent_states_nothing_in_the_name_of_a_user(client: Opening) -> None:
    agent = client(projects=("shop",), source="agent")
    fact = {"agent": "helena", "domain": "api", "fact": "Uses JWT"}
    assert call(agent, "alma_add_knowledge", **fact)["knowledge"]["source"] == "noted_by_agent"
    wish = {"userId": "maria", "category": "style", "preference": "Strict mode"}
    assert call(agent, "alma_add_preference", **wish)["preference"]["source"] == "noted_by_agent"


def test_it_can_be_left_out(tmp_path: Path) -> None:
    with running_app(tmp_path, settings=ServerSettings(legacy=False)) as served:
        assert served.client().post("/", json={"method": "ping"}).status_code == 405


def send_and_leave(served: Served, secret: str, arguments: dict[str, Any], *, stays: bool) -> None:
    """Sends a call of learn; the client is gone before the answer unless it stays."""
    said = {"method": "tools/call", "params": {"name": "alma_learn", "arguments": arguments}}
    body = json.dumps(said).encode()
    headers = {"host": "127.0.0.1", "authorization": f"Bearer {secret}", "content-length": str(len(body))}
    headers |= {"content-type": "application/json"}

    async def run() -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            if stays:
                await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            pass

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        await served.app(scope, receive, send)

    asyncio.run(run())


def test_an_outcome_that_is_sent_again_because_no_answer_came_counts_once(served: Served) -> None:
    secret = served.tokens.add("old", Access(projects=("shop",)))
    send_and_leave(served, secret, LEARNED, stays=False)
    send_and_leave(served, secret, LEARNED, stays=False)
    send_and_leave(served, secret, LEARNED, stays=True)
    assert served.alma.get_stats().by_kind["outcome"] == 1


def test_equal_outcomes_that_were_answered_are_different_attempts(served: Served, old: TestClient) -> None:
    call(old, "alma_learn", **LEARNED)
    call(old, "alma_learn", **LEARNED)
    assert served.alma.get_stats().by_kind["outcome"] == 2
