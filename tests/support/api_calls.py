"""One well-formed request for every operation of the HTTP API, and a world of memories for them: what is the agent helena's and the user
maria's, with words that nobody else may see."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from alma import ALMA
from alma_events.webhooks import Endpoints, WebhookConfig
from alma_server.openapi import api_document
from api_serving import Served

SECRETS = ("aardvark", "bandicoot", "capybara", "dromedary", "echidna")
"""Words of helena's memories, of those for maria, of maria's preferences, of an episode and of a state."""

AGENT = {"agent": "helena", "user_id": "maria"}


@dataclass(frozen=True, slots=True)
class Call:
    """How an operation is called, which right it needs, and what it answers to a token that may do so.

    `reaches_all` says that a token for one user cannot; `ids` that the body has ids, of which those that a token may not read are unknown.
    `names` has other names for parts of the path than the usual ones.
    """

    right: str
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    reaches_all: bool = False
    ids: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


CALLS: Mapping[str, Call] = {
    "retrieve": Call("read", {**AGENT, "task": "Deploy the aardvark"}),
    "check": Call("read", {**AGENT, "action": "sleep(5)"}),
    "assess": Call("read", {**AGENT, "context": "Deploy the aardvark"}),
    "strategies": Call("read", query=AGENT),
    "learn": Call("write", {**AGENT, "task": "Deploy", "outcome": "success", "strategy_used": "canary"}, status=201),
    "learn_many": Call("write", {"items": [{**AGENT, "task": "Deploy", "outcome": True}]}, status=201),
    "record_usage": Call("write", {**AGENT, "retrieved_memory_ids": ["$memory"], "used_memory_ids": ["$memory"]}, ids=True),
    "record_feedback": Call("write", {**AGENT, "memory_id": "$memory", "signal": "thumbs_up"}, ids=True),
    "settle": Call("judge", {**AGENT, "episode_id": "$ended", "outcome": "failure"}),
    "add": Call("write", {**AGENT, "kind": "domain_knowledge", "domain": "api", "fact": "Uses JWT"}, status=201),
    "list_memories": Call("read", query={**AGENT, "q": "deploy"}),
    "get": Call("read", query=AGENT),
    "edit": Call("write", {"fact": "The tokens live 15 minutes"}, query=AGENT, names={"memory_id": "$fact"}),
    "forget_memory": Call("forget", query=AGENT),
    "history": Call("read", query=AGENT),
    "provenance": Call("read", query=AGENT),
    "outcomes_behind": Call("read", query=AGENT),
    "explain_retrieval": Call("read", query={**AGENT, "task": "Deploy"}),
    "episode": Call("write", {**AGENT, "task": "Deploy"}, status=201),
    "get_episode": Call("read", query=AGENT),
    "episode_step": Call("write", {"action": "kubectl apply", "ok": False, "error": "no"}, query=AGENT, status=201),
    "episode_observe": Call("write", {"text": "As [H1] says"}, query=AGENT),
    "episode_end": Call("write", {"outcome": "success"}, query=AGENT),
    "forget": Call("forget", {**AGENT, "memory_ids": ["$memory"], "dry_run": False}, ids=True),
    "forget_user": Call("admin", {"dry_run": False}),
    "quarantined": Call("judge"),
    "release_quarantined": Call("judge", {"memory_ids": ["$memory"]}, ids=True),
    "journal": Call("read", query={"actor": "helena"}, reaches_all=True),
    "consolidate": Call("forget", {"agent": "helena", "dry_run": False}, reaches_all=True),
    "undo": Call("forget", {"to": 0, "actor": "helena"}, reaches_all=True),
    "get_stats": Call("read", query={"agent": "helena"}),
    "review": Call("read", query={"agent": "helena"}, reaches_all=True),
    "list_unsure": Call("read", query={"agent": "helena"}, reaches_all=True),
    "judge_pair": Call("judge", {"memory_ids": ["$memory", "$fact"], "verdict": "keep"}, status=409, reaches_all=True),
    "timeline": Call("read", query={"agent": "helena"}),
    "projects": Call("read"),
    "verify": Call("admin"),
    "agents": Call("read"),
    "users": Call("admin"),
    "memory_types": Call("read"),
    "checkpoint": Call("write", {"state": {"step": 2}, "user_id": "maria"}),
    "resume": Call("read", query={"user_id": "maria"}),
    "merge_states": Call("read", {"states": [{"step": 1}], "user_id": "maria"}),
    "link_artifact": Call("write", {"artifact_type": "code", "ref": "a.py", "user_id": "maria"}, status=201),
    "get_artifacts": Call("read", query={"user_id": "maria"}),
    "learn_from_workflow": Call("write", {**AGENT, "result": "success", "summary": "Deployed"}, status=201),
    "retrieve_scoped": Call("read", {**AGENT, "query": "Deploy", "scope": "workflow_only"}),
    "cleanup_checkpoints": Call("forget", query={"older_than_days": 0}, reaches_all=True),
    "graph_state": Call("read", query=AGENT),
    "entities": Call("read", query=AGENT),
    "entity": Call("read", query={**AGENT, "name": "Ann"}),
    "relations": Call("read", query={**AGENT, "entity": "Ann"}),
    "relate": Call("write", {**AGENT, "source": "Ann", "type": "works_for", "target": "Acme"}, status=201),
    "entity_timeline": Call("read", query={**AGENT, "entity": "Ann"}),
    "about": Call("read", query={**AGENT, "entity": "Ann"}),
    "path": Call("read", query={**AGENT, "a": "Ann", "b": "Acme"}),
    "get_self_model": Call("read", query=AGENT),
    "update_self_model": Call("write", {**AGENT, "new_data": "User prefers concise replies."}),
    "query_memory": Call("read", {**AGENT, "query": "Deploy"}),
    "export": Call("admin", {}, status=202),
    "export_now": Call("admin"),
    "get_export": Call("admin"),
    "export_user": Call("admin"),
    "import_from": Call("admin", "$export", status=202, reaches_all=True),
    "get_job": Call("admin"),
    "events": Call("events", query={"payload": "full", "limit": "200"}),
    "add_webhook": Call("events", {"url": "https://hooks.example.com/alma", "users": "maria"}, status=201),
    "list_webhooks": Call("events"),
    "get_webhook": Call("events"),
    "change_webhook": Call("events", {"payload": "full", "is_enabled": False}),
    "test_webhook": Call("events"),
    "rotate_webhook_secret": Call("events"),
    "webhook_deliveries": Call("events"),
    "retry_webhook_delivery": Call("events", status=404),
    "replay_webhook": Call("events", {"since": "0"}, status=204),
    "remove_webhook": Call("events", status=204),
    "metrics": Call("admin"),
    "list_tokens": Call("admin"),
    "create_token": Call("admin", {"name": "new", "projects": ["shop"], "rights": ["read"]}, status=201),
    "revoke_token": Call("admin", status=204),
}
"""A request for each operation but those that need no right."""

WITHOUT_RIGHTS = ("begin_session", "live", "ready", "version", "whoami")
"""Operations that need no right."""

OF_THE_SERVER = ("projects", "verify", "list_tokens", "create_token", "revoke_token", "metrics")
"""Operations that belong to no project."""

ABSENT = "01900000-0000-7000-8000-000000000000"
"""Id of nothing."""


@contextmanager
def public_names() -> Iterator[None]:
    """Every host name is that of a public machine, so that receivers of events can be added."""

    def resolve(host: Any, port: Any, *_: Any, **__: Any) -> list[Any]:
        address = host if str(host).replace(".", "").isdigit() else "93.184.216.34"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


@dataclass(slots=True)
class World:
    """A server over a project with memories, and the ids that requests name."""

    served: Served
    names: dict[str, Any]

    @classmethod
    def make(cls, served: Served) -> "World":
        """A world in which helena has learned for maria, and for no user."""
        exported = BytesIO()
        with ALMA.open(served.tokens.folder / "elsewhere", project_id="shop", embedding_provider="hash") as elsewhere:
            elsewhere.add_domain_knowledge("helena", "api", "Uses JWT")
            elsewhere.export(exported)
        names = {"$export": exported.getvalue(), "project": "shop", "workflow_id": "deploy", "user_id": "maria", "name": "victim"}
        made = cls(served, names)
        made.fill()
        return made

    def fill(self) -> None:
        """Adds memories, episodes, a state and an export, which the requests name from now on."""
        alma, (shared, for_maria, wanted, task, state) = self.served.alma, SECRETS
        memory = alma.learn("helena", f"Deploy the {for_maria}", "success", f"canary {for_maria}", user_id="maria")
        fact = alma.add_domain_knowledge("helena", "deploy", f"The {for_maria} deploys by day", user_id="maria")
        alma.add_domain_knowledge("helena", "deploy", f"The {shared} deploys at night")
        alma.add_user_preference("maria", "style", f"Never without a {wanted}", agent="helena")
        ended = alma.episode("helena", f"Deploy the {task}", user_id="maria")
        ended.end("success", strategy=f"{task} first")
        running = alma.episode("helena", f"Deploy the {task} again", user_id="maria")
        running.suspend()
        alma.checkpoint("deploy", {"step": state}, user_id="maria")
        alma.graph.relate("Ann", "sees", f"a {for_maria}", agent="helena", user_id="maria")
        alma.graph.relate("Ann", "hears", f"a {shared}", agent="helena")
        alma.graph.relate("Ann", "works_for", "Acme", agent="helena", user_id="maria")
        alma.graph.update_self_model([f"The {task} is near.", f"User prefers a {wanted}."], agent="helena", user_id="maria")
        config = WebhookConfig("https://127.0.0.1:9999/alma", users="all", allow=["127.0.0.1"])
        webhook = Endpoints(alma).add(config, owner="another", since=0)
        self.names |= {"$fact": fact.id, "webhook_id": webhook.id, "position": "1.0"}
        self.names |= {"$memory": memory.id, "memory_id": memory.id, "$ended": ended.id, "episode_id": running.id}

    def export(self, client: TestClient) -> None:
        """Has a client make an export, which the requests name from now on."""
        self.names["job_id"] = self.send(client, "export").json()["id"]
        while self.send(client, "get_job").json()["status"] != "done":
            pass

    def address(self, operation: str, **other: Any) -> str:
        """The path of an operation, with other names where they are given."""
        call = CALLS.get(operation, Call(""))
        usual = {**self.names, **{part: self.names[name] for part, name in call.names.items()}}
        return OPERATIONS[operation][1].format(**{**usual, **other})

    def send(self, client: TestClient, operation: str, **other: Any) -> Response:
        """Sends the request of an operation, with other names where they are given."""
        (method, _), call, given = OPERATIONS[operation], CALLS[operation], {**self.names, **other}
        body, address = _filled(call.body, given), self.address(operation, **other)
        if isinstance(body, bytes):
            lines = {"Content-Type": "application/x-ndjson"}
            return client.request(method, address, params=call.query, content=body, headers=lines)
        return client.request(method, address, params=call.query, json=body)


def _operations() -> Iterator[tuple[str, tuple[str, str]]]:
    for path, methods in api_document()["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], (method.upper(), path)


OPERATIONS = dict(_operations())
"""Every operation of the document, with its method and path."""


def parameters(operation: str) -> set[str]:
    """The names in the path of an operation."""
    return {part.strip("{}") for part in OPERATIONS[operation][1].split("/") if part.startswith("{")}


def names(operation: str, *fields: str) -> bool:
    """True if the request of an operation names an agent or a user outside its path."""
    body = CALLS[operation].body
    given = body if isinstance(body, dict) else {}
    items = given.get("items", [{}])[0]
    return any(field in {**CALLS[operation].query, **given, **items} for field in fields)


def _filled(body: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(body, str):
        return names.get(body, body) if body.startswith("$") else body
    if isinstance(body, list):
        return [_filled(each, names) for each in body]
    if isinstance(body, dict):
        return {name: _filled(value, names) for name, value in body.items()}
    return body
