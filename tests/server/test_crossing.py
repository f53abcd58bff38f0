"""Every operation of the document of the API, crossed with every token that it is not for. An operation without an entry fails."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from alma_access import RIGHTS, Access, TokenFile
from alma_server.settings import ServerSettings
from api_calls import ABSENT, CALLS, OF_THE_SERVER, OPERATIONS, SECRETS, WITHOUT_RIGHTS, World, names, parameters, public_names
from api_serving import running_app

OF_PROJECTS = [name for name in CALLS if name not in (*OF_THE_SERVER, "get_job")]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_app(tmp_path_factory.mktemp("world"), settings=ServerSettings(project="shop")) as served:
        world = World.make(served)
        world.export(world.served.client("owner"))
        yield world


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, TestClient]]:
    """A world that requests change, and a client that may do all."""
    with running_app(tmp_path_factory.mktemp("lively"), settings=ServerSettings(project="shop")) as served, public_names():
        world = World.make(served)
        yield world, world.served.client(source="person")


def bound(world: World, **access: Any) -> TestClient:
    """A client whose token is bound so; equal ones share a token."""
    name = str(sorted((key, str(value)) for key, value in access.items()))[:200]
    if name in world.served.tokens.tokens():
        world.served.tokens.revoke(name)
    return world.served.client(name, **access)


def refused(world: World, answer: Response, *statuses: int) -> dict[str, Any]:
    """The body of a refusal without what differs for each request, after a look that nothing was shown."""
    assert answer.status_code in statuses, f"{answer.status_code}: {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    assert not any(word in answer.text for word in SECRETS)
    return {name: value for name, value in answer.json().items() if name not in ("instance", "request_id")}


@pytest.fixture
def unchanged(world: World) -> Iterator[None]:
    """Nothing is written in the course of a test."""
    alma = world.served.alma
    journal = alma.storage.project(alma.project_id)
    before = alma.content_hash(), journal.head()
    yield
    assert (alma.content_hash(), journal.head()) == before


def test_every_operation_has_an_entry() -> None:
    assert set(OPERATIONS) == {*CALLS, *WITHOUT_RIGHTS}


@pytest.mark.parametrize("operation", CALLS)
def test_a_token_that_may_is_answered(lively: tuple[World, TestClient], operation: str) -> None:
    world, client = lively
    world.fill()
    if operation in ("get_export", "get_job"):
        world.export(client)
    if operation == "revoke_token":
        world.served.client("victim")
    answer = world.send(client, operation)
    assert answer.status_code == CALLS[operation].status, answer.text


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("operation", CALLS)
def test_without_a_valid_token_nothing_is_done(world: World, operation: str) -> None:
    past = TokenFile(world.served.tokens.folder, now=lambda: 1_000_000)
    expired = f"expired-{operation}"
    secret = past.add(expired, Access(), expires=2_000_000)
    alone = world.served.client_with(None)
    for headers in (
        {},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": f"Bearer {secret}"},
        {"Authorization": "Basic x"},
    ):
        alone.headers = headers
        answer = world.send(alone, operation)
        refused(world, answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("operation", CALLS)
def test_a_token_without_the_right_is_refused(world: World, operation: str) -> None:
    client = bound(world, rights=RIGHTS - {CALLS[operation].right})
    assert "right" in refused(world, world.send(client, operation), 403)["detail"]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("operation", OF_PROJECTS)
def test_a_token_of_another_project_is_refused_alike_whether_the_project_is_there_or_not(world: World, operation: str) -> None:
    client = bound(world, projects=("other",))
    there = refused(world, world.send(client, operation), 403)
    absent = refused(world, world.send(client, operation, project="nowhere"), 403)
    assert str(there).replace("shop", "nowhere") == str(absent)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("operation", [name for name in OF_PROJECTS if names(name, "agent", "actor")])
def test_a_token_of_another_agent_that_names_the_agent_is_refused(world: World, operation: str) -> None:
    refused(world, world.send(bound(world, agent="victor"), operation), 403)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "operation", [name for name in OF_PROJECTS if names(name, "user_id", "users") or "user_id" in parameters(name)]
)
@pytest.mark.parametrize("user", ["tom", ""])
def test_a_token_of_another_user_that_names_the_user_is_refused(world: World, operation: str, user: str) -> None:
    refused(world, world.send(bound(world, user_id=user), operation), 403)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("operation", [name for name in OF_PROJECTS if CALLS[name].reaches_all])
@pytest.mark.parametrize("user", ["maria", ""])
def test_a_token_of_one_user_reaches_no_others(world: World, operation: str, user: str) -> None:
    refused(world, world.send(bound(world, user_id=user), operation), 403)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "operation", [name for name in CALLS if parameters(name) & {"memory_id", "episode_id", "job_id", "webhook_id"}]
)
@pytest.mark.parametrize(
    "access", [{"agent": "victor"}, {"user_id": "tom"}, {"user_id": ""}, {"agent": "victor", "user_id": "tom"}]
)
def test_what_a_token_may_not_read_is_not_there(world: World, operation: str, access: dict[str, str]) -> None:
    """The same answer, word for word, as for what never was."""
    own = {"agent": access.get("agent", "helena")}
    client = bound(world, **access)
    answers = [
        refused(world, unnamed(world, client, operation, own, **ids), 404)
        for ids in ({}, {"memory_id": ABSENT, "episode_id": ABSENT, "job_id": ABSENT, "webhook_id": ABSENT})
    ]
    assert answers[0] == answers[1]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("operation", [name for name in OF_PROJECTS if CALLS[name].ids])
@pytest.mark.parametrize("access", [{"agent": "victor"}, {"user_id": "tom"}, {"user_id": ""}])
def test_ids_that_a_token_may_not_read_are_unknown(world: World, operation: str, access: dict[str, str]) -> None:
    client = bound(world, **access)
    body = {**CALLS[operation].body, "agent": access.get("agent", "helena")}
    body = {
        name: value for name, value in body.items() if name != "user_id" and (name != "agent" or "agent" in CALLS[operation].body)
    }
    method, path = OPERATIONS[operation]
    answers = []
    for memory in (world.names["$memory"], ABSENT):
        given = {name: _with(value, memory) for name, value in body.items()}
        answer = client.request(method, path.format(**world.names), json=given)
        assert answer.status_code == 200, answer.text
        assert not any(word in answer.text for word in SECRETS)
        answers.append(answer.text.replace(memory, "ID"))
    assert answers[0] == answers[1]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("operation", [name for name, call in CALLS.items() if call.right in ("read", "events")])
@pytest.mark.parametrize("access", [{"agent": "victor", "user_id": "tom"}, {"agent": "victor", "user_id": ""}])
def test_what_a_token_reads_holds_no_word_of_others(world: World, operation: str, access: dict[str, str]) -> None:
    answer = unnamed(world, bound(world, **access), operation, {"agent": access["agent"]})
    shown = answer.text.replace("aardvark", "", answer.text.count('"Deploy the aardvark"'))  # the question itself
    assert not any(word in shown for word in SECRETS), answer.text
    assert answer.status_code in (200, 403, 404)


def unnamed(world: World, client: TestClient, operation: str, own: dict[str, str], **ids: str) -> Response:
    """Sends a request that names neither helena nor maria."""
    method, _ = OPERATIONS[operation]
    call = CALLS[operation]
    query = {name: value for name, value in call.query.items() if name not in ("agent", "user_id", "actor")}
    if "agent" in call.query:
        query |= own
    body = call.body
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in ("agent", "user_id", "actor")}
        body |= own if "agent" in call.body else {}
    return client.request(method, world.address(operation, **ids), params=query, json=body)


def _with(value: Any, memory: str) -> Any:
    if value == "$memory":
        return memory
    return [memory if each == "$memory" else each for each in value] if isinstance(value, list) else value
