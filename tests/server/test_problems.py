"""Every error has one shape, whoever raises it."""

import errno
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter
from pydantic import BaseModel

from alma import errors
from alma_server.problems import KINDS, kind_of
from api_serving import Opening, Served

SHAPE = {"type", "title", "status", "detail", "instance", "request_id"}


def subclasses(of: type[errors.AlmaError]) -> Iterator[type[errors.AlmaError]]:
    for each in of.__subclasses__():
        if each.__module__ == "alma.errors":
            yield each
        yield from subclasses(each)


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = code
    return error


class Body(BaseModel):
    count: int
    names: list[str] = []


@pytest.fixture
def failing(served: Served) -> Served:
    """The server with routes that raise an error, and that take a body."""
    router = APIRouter()

    @router.get("/raise/{name}")
    async def fail(name: str) -> None:
        raise {each.__name__: each for each in subclasses(errors.AlmaError)}.get(name, ZeroDivisionError)("said")

    @router.post("/count")
    async def count(body: Body) -> int:
        return body.count

    served.app.include_router(router)
    return served


@pytest.mark.parametrize("kind", sorted(set(subclasses(errors.AlmaError)), key=str))
def test_every_error_of_alma_has_a_kind_of_its_own(kind: type[errors.AlmaError], failing: Served, client: Opening) -> None:
    assert kind in KINDS
    answer = client().get(f"/raise/{kind.__name__}")
    assert answer.status_code == KINDS[kind].status
    assert answer.json()["type"] == f"/problems/{KINDS[kind].name}"
    assert answer.json()["detail"] == "said"
    assert answer.headers["content-type"] == "application/problem+json"


def test_kinds_have_different_names() -> None:
    assert len({kind.name for kind in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nowhere", None, 404),
        ("GET", "/v1/nowhere", None, 404),
        ("DELETE", "/health/live", None, 405),
        ("POST", "/count", b'{"count": "x", "names": [1]}', 422),
        ("POST", "/count", b"{}", 422),
        ("POST", "/count", b"", 422),
        ("POST", "/count", b"{", 400),
        ("POST", "/count", b'{"count": 1, "count": 2}', 400),
        ("POST", "/count", b'{"count": NaN}', 400),
        ("POST", "/count", b"[" * 100_000, 400),
        ("POST", "/count", b'{"count": ' + b"9" * 10_000 + b"}", 400),
        ("POST", "/count", b"\xff\xfe{}", 400),
        ("POST", "/count", b" " * (1024 * 1024 + 1), 413),
        ("GET", "/raise/nothing", None, 500),
    ],
)
def test_every_refusal_has_the_one_shape(
    method: str, path: str, body: bytes | None, status: int, failing: Served, client: Opening
) -> None:
    answer = client().request(
        method, path, content=body, headers={"Content-Type": "application/json"} if body is not None else {}
    )
    said: dict[str, Any] = answer.json()
    assert (answer.status_code, said["status"]) == (status, status)
    assert said.keys() - {"errors"} == SHAPE
    assert said["instance"] == path
    assert said["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_rejected_body_names_the_places(failing: Served, client: Opening) -> None:
    said = client().post("/count", json={"count": "x", "names": ["a", 1]}).json()
    assert [each["pointer"] for each in said["errors"]] == ["/count", "/names/1"]


def test_an_unexpected_error_says_nothing_of_the_inside(failing: Served, client: Opening) -> None:
    assert "ZeroDivision" not in client().get("/raise/nothing").text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example"])
def test_a_foreign_host_is_refused(host: str, client: Opening) -> None:
    answer = client().get("/health/live", headers={"Host": host})
    assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_of_another_type_is_refused(media_type: str, client: Opening) -> None:
    answer = client().post("/v1/projects/shop/learn", content=b"a=b", headers={"Content-Type": media_type})
    assert (answer.status_code, answer.headers["content-type"]) == (415, "application/problem+json")


@pytest.mark.parametrize("cause", [OSError(errno.ENOSPC, "no space"), sqlite_error(sqlite3.SQLITE_FULL)])
def test_a_full_disk_has_a_status_of_its_own(cause: Exception) -> None:
    error = errors.StorageError("it cannot be written")
    error.__cause__ = cause
    assert kind_of(error).status == 507


def test_a_foreign_origin_is_refused(client: Opening) -> None:
    assert client().get("/health/live", headers={"Origin": "https://evil.example"}).status_code == 403
    assert client("other").get("/health/live", headers={"Origin": "http://localhost:3000"}).status_code == 200
