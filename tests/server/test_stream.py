"""Events of a project, as a stream and by pages."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from alma import ALMA
from alma_access import Access
from api_serving import Opening, Served, over_http, running_app

EVENTS = "/v1/projects/shop/events"


async def frames(answer: httpx.Response) -> AsyncIterator[dict[str, str]]:
    """Yields the frames of a stream as they come."""
    frame: dict[str, str] = {}
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if line:
            frame[name] = value
        elif frame:
            yield frame
            frame = {}


@pytest.fixture
def streamed(tmp_path: Path) -> Iterator[tuple[Served, str]]:
    with running_app(tmp_path) as served, over_http(served) as address:
        yield served, address


def listening(address: str, secret: str, **headers: str) -> httpx.AsyncClient:
    given = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream", **headers}
    return httpx.AsyncClient(base_url=address, headers=given, timeout=30.0, trust_env=False)


def learn(alma: ALMA, task: str, agent: str = "helena", **more: Any) -> str:
    return alma.learn(agent, task, "success", "slowly", **more).id


def test_a_stream_begins_now_and_brings_what_is_stored_later(streamed: tuple[Served, str]) -> None:
    served, address = streamed
    learn(served.alma, "before")

    async def first_event() -> dict[str, str]:
        secret = served.tokens.add("t", Access())
        async with listening(address, secret) as client, client.stream("GET", EVENTS) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert answer.headers["x-accel-buffering"] == "no"
            found = frames(answer)
            assert await anext(found) == {"retry": "2000", "id": "1"}
            stored = await asyncio.to_thread(learn, served.alma, "after")
            frame = await anext(found)
            assert json.loads(frame["data"])["memory_id"] == stored
            return frame

    frame = asyncio.run(first_event())
    said = json.loads(frame["data"])
    assert frame["event"] == said["type"] == "memory.created"
    assert frame["id"] == f"{said['seq']}.{said['index']}"
    assert "after" not in frame["data"]


def test_a_client_that_connects_again_misses_nothing_and_gets_nothing_twice(streamed: tuple[Served, str]) -> None:
    served, address = streamed
    secret = served.tokens.add("t", Access())

    async def take(count: int, **headers: str) -> list[dict[str, str]]:
        async with listening(address, secret, **headers) as client, client.stream("GET", EVENTS) as answer:
            found = frames(answer)
            await anext(found)
            return [await anext(found) for _ in range(count)]

    for number in range(10):
        learn(served.alma, f"task {number}")
    first = asyncio.run(take(4, **{"Last-Event-ID": "0"}))
    rest = asyncio.run(take(6, **{"Last-Event-ID": first[-1]["id"]}))
    everything = asyncio.run(take(10, **{"Last-Event-ID": "0"}))
    assert [*first, *rest] == everything
    chain = [json.loads(frame["data"])["previous"] for frame in rest]
    assert chain == [frame["id"] for frame in everything[3:9]]


def test_a_stream_shows_what_its_token_may_read(streamed: tuple[Served, str]) -> None:
    served, address = streamed
    secret = served.tokens.add("t", Access(agent="helena", user_id="maria"))
    learn(served.alma, "of another agent", agent="victor")
    learn(served.alma, "of another user", user_id="otto")
    wanted = learn(served.alma, "of its own", user_id="maria")

    async def take() -> dict[str, str]:
        async with listening(address, secret) as client, client.stream("GET", f"{EVENTS}?after=0") as answer:
            found = frames(answer)
            await anext(found)
            return await anext(found)

    assert json.loads(asyncio.run(take())["data"])["memory_id"] == wanted


def test_a_revoked_token_ends_its_stream(streamed: tuple[Served, str], monkeypatch: pytest.MonkeyPatch) -> None:
    served, address = streamed
    monkeypatch.setattr("alma_server.stream.BEAT_SECONDS", 0.05)
    secret = served.tokens.add("t", Access())

    async def read() -> list[dict[str, str]]:
        async with listening(address, secret) as client, client.stream("GET", EVENTS) as answer:
            found = frames(answer)
            await anext(found)
            beat = await anext(found)
            assert "beat" in beat[""]
            served.tokens.revoke("t")
            return [frame async for frame in found]

    assert all("data" not in frame for frame in asyncio.run(read()))


def test_a_revoked_token_gets_no_further_event(streamed: tuple[Served, str]) -> None:
    served, address = streamed
    secret = served.tokens.add("t", Access())

    async def read() -> list[dict[str, str]]:
        async with listening(address, secret) as client, client.stream("GET", EVENTS) as answer:
            found = frames(answer)
            await anext(found)
            served.tokens.revoke("t")
            await asyncio.to_thread(learn, served.alma, "after the token was revoked")
            return [frame async for frame in found]

    assert asyncio.run(read()) == []


def test_records_of_others_hold_up_no_beat(streamed: tuple[Served, str], monkeypatch: pytest.MonkeyPatch) -> None:
    served, address = streamed
    monkeypatch.setattr("alma_server.stream.BEAT_SECONDS", 1.0)
    secret = served.tokens.add("t", Access(agent="victor"))

    async def store(ended: asyncio.Event) -> None:
        while not ended.is_set():
            await asyncio.to_thread(learn, served.alma, "of another agent")
            await asyncio.sleep(0.05)

    async def read() -> str:
        ended = asyncio.Event()
        async with listening(address, secret) as client, client.stream("GET", EVENTS) as answer:
            found = frames(answer)
            await anext(found)
            storing = asyncio.create_task(store(ended))
            try:
                return (await asyncio.wait_for(anext(found), 20.0))[""]
            finally:
                ended.set()
                await storing

    assert "beat" in asyncio.run(read())


def test_pages_hold_the_same_events_and_lead_from_one_to_the_next(client: Opening, served: Served) -> None:
    for number in range(7):
        learn(served.alma, f"task {number}")
    asking, seen, after = client(), list[str](), "0"
    while True:
        page = asking.get(EVENTS, params={"after": after, "limit": 3}).json()
        if not page["events"]:
            break
        seen += [event["id"] for event in page["events"]]
        after = page["next"]
    assert seen == [event["id"] for event in asking.get(EVENTS).json()["events"]]
    assert len(set(seen)) == 7


@pytest.mark.parametrize("after", ["x", "-1", "1.x", "1e3", "٣"])
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_position_that_is_none_is_refused(after: str, accept: str, client: Opening) -> None:
    answer = client().get(EVENTS, params={"after": after}, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


def test_events_need_their_right(client: Opening) -> None:
    assert client(rights=frozenset({"read", "write"})).get(EVENTS).status_code == 403


def test_events_of_another_project_are_refused(client: Opening) -> None:
    assert client(projects=("other",)).get(EVENTS).status_code == 403
