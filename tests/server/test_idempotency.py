"""A write that is sent again is carried out once."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from pydantic import BaseModel

from alma.errors import ConflictError, ValidationError
from alma.types import Outcome
from alma_events.service_db import service_engine
from alma_server import idempotency
from alma_server.answers import Answers
from alma_server.asking import AskedDep
from alma_server.idempotency import OnceDep
from api_serving import Opening, Served, running_app

SECRET_WORDS = "pomegranate"


class Learned(BaseModel):
    task: str


@pytest.fixture
def writing(served: Served) -> Served:
    """The server with routes that learn, that forget, and that are refused."""
    router = APIRouter(prefix="/projects/{project}")

    @router.post("/test/learn", status_code=201)
    async def learn(asked: AskedDep, once: OnceDep, body: Learned) -> Outcome:
        return await once.write(
            lambda alma: alma.learn("helena", body.task, "success", "slowly", idempotency_key=once.core_key),
            remember=lambda outcome: [outcome.id],
            recall=lambda alma, ids: alma.get(ids[0]),  # type: ignore[return-value]
            is_counted_once=True,
        )

    @router.post("/test/add")
    async def add(asked: AskedDep, once: OnceDep, body: Learned) -> dict[str, Any]:
        return await once.write(
            lambda alma: {"id": alma.add_domain_knowledge("helena", "d", body.task).id}, remember=lambda found: found
        )

    @router.post("/test/refuse")
    async def refuse(asked: AskedDep, once: OnceDep, body: Learned) -> int:
        def call(_: object) -> int:
            raise tries.pop()

        return await once.write(call, remember=lambda found: [found])

    tries: list[Exception] = [ValidationError("second"), ConflictError("first")]
    served.app.include_router(router, prefix="/v1")
    return served


def send(client: TestClient, key: str | None, task: str = SECRET_WORDS, route: str = "learn") -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(f"/v1/projects/shop/test/{route}", json={"task": task}, headers=headers)


@pytest.mark.parametrize("route", ["learn", "add"])
def test_a_repeated_request_gets_the_first_answer(route: str, writing: Served) -> None:
    client = writing.client()
    first, again = send(client, "k", route=route), send(client, "k", route=route)
    assert first.json() == again.json()
    assert first.status_code == again.status_code
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert writing.alma.get_stats().total == 1


def test_without_a_key_each_request_is_carried_out(writing: Served) -> None:
    client = writing.client()
    send(client, None)
    send(client, None)
    assert writing.alma.get_stats()["outcomes_count"] == 2


def test_a_key_with_another_body_is_refused(writing: Served) -> None:
    client = writing.client()
    send(client, "k")
    answer = send(client, "k", task="another task")
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/idempotency-key-reused")


def test_keys_of_two_tokens_and_of_two_routes_are_apart(writing: Served) -> None:
    client, other = writing.client("one"), writing.client("two")
    ids = {send(client, "k").json()["id"], send(other, "k").json()["id"], send(client, "k", route="add").json()["id"]}
    assert len(ids) == 3


def test_a_key_counts_at_both_addresses_of_a_route(tmp_path: Path) -> None:
    body, headers = {"agent": "helena", "task": SECRET_WORDS, "outcome": "success"}, {"Idempotency-Key": "k"}
    with running_app(tmp_path) as served:
        client = served.client(projects=("shop",))
        answers = [client.post(f"/v1{place}/learn", json=body, headers=headers) for place in ("", "/projects/shop", "")]
        assert served.alma.get_stats().total == 1
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_refused_request_may_be_sent_again(writing: Served) -> None:
    client = writing.client()
    assert [send(client, "k", route="refuse").status_code for _ in range(2)] == [409, 422]


def test_an_answer_about_a_purged_memory_is_gone(writing: Served) -> None:
    client = writing.client()
    memory_id = send(client, "k").json()["id"]
    writing.alma.purge([memory_id])
    assert send(client, "k").status_code == 410


def test_no_words_of_a_request_are_kept(writing: Served) -> None:
    send(writing.client(), SECRET_WORDS)
    send(writing.client("other"), SECRET_WORDS, route="add")
    file = service_engine(writing.alma).url.database
    assert file is not None
    for kept in (file, f"{file}-wal"):
        with open(kept, "rb") as content:
            assert SECRET_WORDS.encode() not in content.read()


def test_a_request_that_lost_its_answer_counts_once_in_the_core(writing: Served) -> None:
    client = writing.client()
    first = send(client, "k").json()["id"]
    with service_engine(writing.alma).begin() as connection:
        connection.exec_driver_sql("DELETE FROM idempotency")
    assert send(client, "k").json()["id"] == first


def test_requests_at_once_with_one_key_are_carried_out_once(writing: Served) -> None:
    client = writing.client()
    answers: list[Any] = []
    run_at_once(lambda: answers.append(send(client, "k", route="add")), 8)
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 200}) == 1
    assert writing.alma.get_stats().total == 1


def test_a_write_whose_answer_could_not_be_kept_is_not_carried_out_again(
    writing: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = writing.client()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as failing:
        failing.setattr(Answers, "finish", fail)
        assert [send(client, "k", route=route).status_code for route in ("add", "learn")] == [500, 500]
    hour = time.time() + 3600
    monkeypatch.setattr(service_answers(writing), "_clock", lambda: hour)
    again = send(client, "k", route="add")
    assert (again.status_code, again.json()["type"]) == (409, "/problems/answer-lost")
    assert send(client, "k").status_code == 201, "the core counts it once"
    assert writing.alma.get_stats().total == 2


def test_a_state_that_is_sent_again_late_does_not_become_the_newest(served: Served) -> None:
    client, place = served.client(), "/v1/projects/shop/workflows/deploy/checkpoint"

    def put(step: int) -> Any:
        return client.put(place, json={"state": {"step": step}}, headers={"Idempotency-Key": f"k{step}"})

    first, _, again = put(1), put(2), put(1)
    assert (again.json(), again.headers["idempotent-replayed"]) == (first.json(), "true")
    assert client.get(place).json()["state"] == {"step": 2}


def test_only_a_write_that_the_core_counts_once_is_taken_over_from_a_process_that_ended(writing: Served) -> None:
    client = writing.client()
    send(client, "k")
    send(client, "k", route="add")
    say = "from alma_server.holders import this_process; print(this_process())"
    ended = subprocess.run([sys.executable, "-c", say], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with service_engine(writing.alma).begin() as connection:
        connection.exec_driver_sql("UPDATE idempotency SET is_done = 0, refs = ?", (ended,))
    assert [send(client, "k", route=route).status_code for route in ("add", "learn")] == [409, 201]
    assert writing.alma.get_stats().total == 2


def test_a_request_runs_on_when_one_sign_of_it_fails(writing: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    signs, has_another, keep_running = [], threading.Event(), Answers.keep_running

    def fail_first(self: Answers, sent: Any) -> None:
        signs.append(sent)
        if len(signs) == 1:
            raise OSError("database is locked")
        keep_running(self, sent)
        has_another.set()

    def wait(*_: object, **__: object) -> Any:
        assert has_another.wait(30)
        raise ConflictError("refused")

    monkeypatch.setattr(idempotency, "RUNNING_SECONDS", 0.3)
    monkeypatch.setattr(Answers, "keep_running", fail_first)
    monkeypatch.setattr(type(writing.alma), "add_domain_knowledge", wait)
    assert send(writing.client(), "k", route="add").status_code == 409
    assert len(signs) >= 2


def service_answers(served: Served) -> Answers:
    found: Answers = next(iter(served.app.state.service._answers.values()))
    return found


def run_at_once(call: Callable[[], object], times: int) -> None:
    threads = [threading.Thread(target=call) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_key_has_at_most_255_characters(client: Opening, writing: Served) -> None:
    assert send(client(), "k" * 256).status_code == 422
