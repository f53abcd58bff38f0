"""What a server does when it is asked too much."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter

from alma_access import Access
from alma_server import ServerSettings
from alma_server.asking import AskedDep
from alma_server.limits import Limits
from alma_server.problems import ProblemError
from api_serving import Served, over_http, running_app


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_fills_by_its_rate_and_says_when() -> None:
    clock = Clock()
    limits = Limits(rate=2.0, burst=10.0, clock=clock)
    assert limits.take("a", 8) == '"token";r=2;t=4'
    with pytest.raises(ProblemError) as refused:
        limits.take("a", 8)
    assert refused.value.headers == {
        "Retry-After": "3",
        "RateLimit": '"token";r=2;t=4',
        "RateLimit-Policy": '"token";q=10;w=5',
    }
    limits.take("b", 8)
    clock.now = 3.0
    limits.take("a", 8)


def test_a_token_that_asks_too_often_is_refused_and_others_are_not(tmp_path: Path) -> None:
    with running_app(tmp_path, settings=ServerSettings(rate=0.001, burst=3.0)) as served:
        client, other = served.client("one"), served.client("two")
        answers = [client.get("/v1/whoami") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert [answer.headers["ratelimit"].partition(";t")[0] for answer in answers] == [
            f'"token";r={left}' for left in (2, 1, 0, 0)
        ]
        assert answers[3].headers["retry-after"].isdigit()
        assert other.get("/v1/whoami").status_code == 200


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Served, threading.Event, list[str]]]:
    """A server with one thread of each sort and room for one more call, with routes whose calls wait for an event."""
    with running_app(tmp_path, settings=ServerSettings(readers=1, waiting=1)) as served:
        go, calls = threading.Event(), list[str]()
        router = APIRouter(prefix="/projects/{project}")

        @router.post("/wait/{sort}")
        async def wait(asked: AskedDep, sort: str) -> None:
            def call(_: object) -> None:
                calls.append(sort)
                go.wait(30)

            await (asked.read if sort == "read" else asked.write)(call)

        served.app.include_router(router, prefix="/v1")
        yield served, go, calls
        go.set()


@pytest.mark.parametrize("sort", ["read", "write"])
def test_a_call_that_would_wait_too_long_is_refused_at_once(sort: str, busy: tuple[Served, threading.Event, list[str]]) -> None:
    served, go, calls = busy
    with served.client() as client:
        statuses: list[int] = []
        path = f"/v1/projects/shop/wait/{sort}"
        threads = [threading.Thread(target=lambda: statuses.append(client.post(path).status_code)) for _ in range(2)]
        for thread in threads:
            thread.start()
        until(lambda: served.app.state.service.work.reads.queued + served.app.state.service.work.writes.queued == 1)
        began = time.monotonic()
        refused = client.post(path)
        spent = time.monotonic() - began
        assert client.get("/v1/whoami").status_code == 200
        go.set()
        for thread in threads:
            thread.join()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert spent < 5.0
    assert (statuses, calls) == ([200, 200], [sort, sort])


def test_a_read_that_waits_is_dropped_when_its_client_leaves(busy: tuple[Served, threading.Event, list[str]]) -> None:
    served, go, calls = busy
    headers = {"Authorization": f"Bearer {served.tokens.add('leaving', Access())}"}
    reads = served.app.state.service.work.reads
    with over_http(served) as address:
        path = f"{address}/v1/projects/shop/wait/read"
        first = threading.Thread(target=lambda: httpx.post(path, headers=headers, timeout=60, trust_env=False))
        first.start()
        until(lambda: calls == ["read"])
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(path, headers=headers, timeout=0.5, trust_env=False)
        until(lambda: reads.queued == 0)
        go.set()
        first.join()
    assert calls == ["read"]


def test_a_body_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    with running_app(tmp_path, settings=ServerSettings(body_seconds=0.2)) as served, over_http(served) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(b"POST /v1/projects/shop/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")


def until(holds: object) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if holds():  # type: ignore[operator]
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to that")
