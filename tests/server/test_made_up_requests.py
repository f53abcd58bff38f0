"""Requests that schemathesis makes up from the document of the API, fit and unfit ones, for each kind of token: no answer is a failure of the
server, and all are as the document says. `--api-examples=2000` makes up that many for each kind of token."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from httpx2 import InvalidURL
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from alma_server.openapi import api_document
from api_calls import OPERATIONS, World, public_names
from api_serving import running_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
KINDS: dict[str, dict[str, Any]] = {
    "all rights": {"source": "person"},
    "one agent": {"agent": "helena"},
    "one user": {"user_id": "maria"},
    "read only": {"rights": frozenset({"read"})},
}


@schemathesis.serializer("application/x-ndjson")
def as_lines(ctx: object, value: object) -> bytes:
    """Lines as they are."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


SCHEMA = schemathesis.openapi.from_dict(api_document())
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


@pytest.fixture(scope="module", params=KINDS)
def asking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Any]]:
    """A world that requests change, and a client with a token of a kind."""
    with running_app(tmp_path_factory.mktemp("world")) as served, public_names():
        world = World.make(served)
        client = served.client(**KINDS[request.param])
        yield world, client
        print(f"{request.param}: {dict(sorted(STATUSES.items()))}")
        STATUSES.clear()


STATUSES = Counter[int]()


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_request_makes_the_server_fail(asking: tuple[World, Any], operation: str, request: pytest.FixtureRequest) -> None:
    world, client = asking
    world.fill()
    found = SCHEMA.find_operation_by_id(operation)
    examples = max(1, -(-request.config.getoption("--api-examples") // len(OPERATIONS)))

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def try_one(data: st.DataObject) -> None:
        mode = data.draw(st.sampled_from(MODES))
        case = data.draw(found.as_strategy(generation_mode=mode))
        _aim(case, world, data)
        try:
            answer = client.request(**_sent(case))
        except InvalidURL:  # too long, or of characters that no client sends
            reject()
        STATUSES[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    try_one()


def _aim(case: Case, world: World, data: st.DataObject) -> None:
    """Has most requests name what there is, so that they come further than to a refusal."""
    for name in case.path_parameters or {}:
        if name in world.names and data.draw(st.integers(0, 4)):
            case.path_parameters[name] = world.names[name]
    for said in (case.query, case.body):
        if isinstance(said, dict):
            for name, value in (("agent", "helena"), ("user_id", "maria"), ("memory_id", world.names["memory_id"])):
                if name in said and data.draw(st.integers(0, 3)):
                    said[name] = value
    if case.headers is not None:
        case.headers.pop("Authorization", None)


def _sent(case: Case) -> dict[str, Any]:
    sent = case.as_transport_kwargs(base_url="http://127.0.0.1")
    sent["headers"] = {name: value for name, value in sent["headers"].items() if name.lower() != "authorization"}
    return {("content" if name == "data" else name): value for name, value in sent.items() if name != "cookies"}
