"""What was acknowledged is there, whatever happens to the process or to the client."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter

from alma_server.asking import AskedDep
from api_processes import Server, serving, started, wait_until_ready
from api_serving import Served, over_http, running_app

CLIENTS = 6
ROUNDS = 12
LEARN = "/v1/projects/shop/learn"


def learn_many(server: Server, first: int, acknowledged: list[str]) -> None:
    """Learns task after task; a request whose server went away is sent again, under the same key."""
    for number in range(ROUNDS):
        body = {"agent": "helena", "task": f"task {first} {number}", "outcome": "success", "strategy_used": "slowly"}
        while True:
            try:
                with server.client() as client:
                    answer = client.post(LEARN, json=body, headers={"Idempotency-Key": f"{first}-{number}"})
            except httpx.TransportError:
                continue
            if answer.status_code == 201:
                acknowledged.append(answer.json()["id"])
                break
            assert answer.status_code in (409, 503), answer.text
            time.sleep(0.1)


@pytest.mark.slow
def test_a_killed_worker_loses_no_acknowledged_write_and_doubles_none(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    with serving(tmp_path, "--workers", "2") as server:
        threads = [threading.Thread(target=learn_many, args=(server, first, acknowledged)) for first in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < CLIENTS * ROUNDS // 4:
            time.sleep(0.01)
        os.kill(server.workers()[0], signal.SIGKILL)
        for thread in threads:
            thread.join()
        wait_until_ready(server)
        with server.client() as client:
            found = [
                client.get(f"/v1/projects/shop/memories/{each}", params={"agent": "helena"}).status_code for each in acknowledged
            ]
            listed = client.get("/v1/projects/shop/memories", params={"agent": "helena", "kind": "outcome", "limit": 200}).json()
    assert set(found) == {200}
    assert len(acknowledged) == len(set(acknowledged)) == CLIENTS * ROUNDS
    assert len(listed["memories"]) == CLIENTS * ROUNDS


def test_an_outcome_whose_server_was_killed_is_learned_at_once_by_the_next_one(tmp_path: Path) -> None:
    body = {"agent": "helena", "task": "Deploy the shop", "outcome": "success"}

    def send(server: Server) -> httpx.Response:
        with server.client() as client:
            return client.post("/v1/projects/shop/learn", json=body, headers={"Idempotency-Key": "k"})

    def try_to_send(server: Server) -> None:
        with suppress(httpx.TransportError):
            send(server)

    with serving(tmp_path) as server:
        send_first = threading.Thread(target=try_to_send, args=(server,))
        with sqlite3.connect(tmp_path / ".alma" / "alma.db", isolation_level=None) as store:
            store.execute("BEGIN IMMEDIATE")  # the request waits within its write
            send_first.start()
            while not is_running(tmp_path / ".alma" / "service.db"):
                time.sleep(0.01)
            os.killpg(server.process.pid, signal.SIGKILL)
            store.execute("ROLLBACK")
        store.close()
        send_first.join()
        with started(tmp_path, server.token) as following:
            assert [send(following).status_code for _ in range(2)] == [201, 201]
            with following.client() as client:
                found = client.get("/v1/projects/shop/memories", params={"kind": "outcome"}).json()
    assert len(found["memories"]) == 1


def is_running(file: Path) -> bool:
    """True when a request with a key is carried out."""
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(file)) as answers:
        return answers.execute("SELECT count(*) FROM idempotency").fetchone() == (1,)
    return False


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Served, str, threading.Event, threading.Event, list[str]]]:
    """A server whose one writer waits within a write until an event is set."""
    with running_app(tmp_path) as served:
        began, go, done = threading.Event(), threading.Event(), list[str]()
        router = APIRouter(prefix="/projects/{project}")

        @router.post("/slowly")
        async def slowly(asked: AskedDep) -> None:
            def call(alma: object) -> None:
                began.set()
                go.wait(30)
                done.append(served.alma.learn("helena", "slow", "success", "slowly").id)

            await asked.write(call)

        served.app.include_router(router, prefix="/v1")
        with over_http(served) as address:
            yield served, address, began, go, done
            go.set()


def test_a_write_that_began_ends_though_its_client_left(
    slow: tuple[Served, str, threading.Event, threading.Event, list[str]],
) -> None:
    served, address, began, go, done = slow
    headers = {"Authorization": f"Bearer {served.client().headers['authorization'].partition(' ')[2]}"}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{address}/v1/projects/shop/slowly", headers=headers, timeout=0.5, trust_env=False)
    assert began.wait(30)
    go.set()
    while not done:
        time.sleep(0.01)
    assert served.alma.get(done[0]).id == done[0]
