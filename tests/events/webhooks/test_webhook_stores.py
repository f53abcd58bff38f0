"""Leases and deliveries are the same on every kind of store."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma_events.service_db import Lease, service_engine
from alma_events.webhooks import WebhookConfig, WebhookManager
from postgres_server import PostgresServer
from webhook_receiver import Receiver, Reply


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(params=["encrypted", "file", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], ALMA]]:
    """Opens a store, again and again."""
    given: dict[str, Any] = {"storage_dir": tmp_path / "store", "project_id": "shop", "embedding_provider": "hash"}
    if request.param == "encrypted":
        given["encryption_key"] = bytes(range(32))
    elif request.param == "postgres":
        given["storage"] = request.getfixturevalue("server").new_database()
    else:
        given["storage"] = request.param
    found: list[ALMA] = []

    def open_store() -> ALMA:
        found.append(ALMA.open(**given))
        return found[-1]

    yield open_store
    for alma in found:
        alma.close()


def test_of_owners_that_want_a_lease_at_once_one_gets_it(opened: Callable[[], ALMA]) -> None:
    alma = opened()
    leases = [Lease(service_engine(alma), "work") for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(Lease.acquire, leases)) == 1
    (holder,) = [each for each in leases if each.seconds_left]
    other = next(each for each in leases if each is not holder)
    assert holder.renew()
    assert not other.acquire()
    holder.release()
    assert other.acquire()


def test_events_are_delivered_and_a_manager_that_starts_later_goes_on(
    opened: Callable[[], ALMA], receiver: Receiver, wait_until: Callable[..., None]
) -> None:
    answers = [Reply(500)]
    receiver.answer = lambda _: answers.pop() if answers else Reply(200)
    alma = opened()
    manager = WebhookManager(alma)
    endpoint = manager.add_webhook(
        WebhookConfig(receiver.url, ["memory.created"], "a secret", retry_delay=0.01, allow_http=True, allow=["127.0.0.1"])
    )
    manager.start()
    made = [alma.learn("victor", f"task {number}", "success", "canary").id for number in range(5)]
    wait_until(lambda: manager.endpoints.counts(endpoint.id) == {"success": 5})
    alma.close()
    assert not manager.is_running
    again = opened()
    made.append(again.learn("victor", "another task", "success", "canary").id)
    second = WebhookManager(again)
    second.start()
    wait_until(lambda: second.endpoints.counts(endpoint.id) == {"success": 6})
    second.endpoints.replay(endpoint.id, since=0)
    wait_until(lambda: len(receiver.got) == 13 and second.endpoints.counts(endpoint.id) == {"success": 6})
    second.stop()
    assert {each.event["memory_id"] for each in receiver.got} == set(made)
