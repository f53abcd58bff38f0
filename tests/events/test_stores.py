"""Events are the same on every kind of store."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma.events import EventEmitter, MemoryEventType, rule_events
from postgres_server import PostgresServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(params=["sqlite", "encrypted", "file", "postgres"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What opens the store of a folder, again and again."""
    given: dict[str, Any] = {"storage_dir": tmp_path, "project_id": "shop", "embedding_provider": "hash"}
    if request.param == "encrypted":
        return {**given, "encryption_key": bytes(range(32))}
    if request.param == "postgres":
        return {**given, "storage": request.getfixturevalue("server").new_database()}
    return {**given, "storage": request.param}


def act(alma: ALMA) -> None:
    """Something of everything that a project goes through."""
    outcome = alma.learn("victor", "Deploy auth", "success", "canary", user_id="maria")
    fact = alma.add_domain_knowledge("victor", "auth", "tokens live an hour")
    alma.add_user_preference("maria", "style", "short answers")
    with alma.episode(agent="victor", task="Deploy billing") as episode:
        episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
        episode.succeed(strategy="blue-green")
    alma.settle(episode.id, outcome="failure")
    alma.record_usage([fact.id], [fact.id], agent="victor")
    alma.forget(memory_ids=[fact.id])
    alma.undo(to=7)
    alma.purge([outcome.id])


EXPECTED = [
    "memory.created",
    *("memory.created", "knowledge.added"),
    *("memory.created", "preference.added"),
    "episode.started",
    "memory.created",
    *("memory.created", "episode.ended"),
    *("memory.updated", "outcome.settled"),
    "usage.recorded",
    "memory.deleted",
    *("journal.undone", "memory.restored"),
    "memory.purged",
]


def test_events_of_a_store_are_the_same_after_it_is_opened_again(options: dict[str, Any]) -> None:
    with ALMA.open(**options) as alma:
        act(alma)
        events = list(alma.events())
    with ALMA.open(**options) as again:
        assert list(again.events()) == events
        assert list(again.events(events[4].position)) == events[5:]
    assert sorted(str(event.event_type) for event in events if event.operation != "undo") == sorted(
        name for name in EXPECTED if name not in ("journal.undone", "memory.restored")
    )
    undone = [str(event.event_type) for event in events if event.operation == "undo"]
    assert (undone[0], "memory.restored" in undone) == ("journal.undone", True)


def test_a_store_is_followed_and_its_subscribers_are_called(options: dict[str, Any], emitter: EventEmitter) -> None:
    with ALMA.open(**options) as alma, ALMA.open(**options) as other:
        called: list[str | None] = []
        emitter.subscribe(MemoryEventType.CREATED, lambda event: called.append(event.memory_id))
        followed: list[str | None] = []
        events = other.events(follow=True, types=["memory.created"])
        reader = threading.Thread(target=lambda: followed.extend(event.memory_id for event in events))
        reader.start()
        made = [alma.learn("victor", f"Deploy {number}", "success", "canary rollout").id for number in range(4)]
        assert emitter.flush(30)
        assert called == made
        assert len(list(alma.events(types=["memory.created"]))) == 4
        while len(followed) < 4:
            pass
        events.close()
        reader.join(30)
        assert followed == made


def test_rules_of_a_store_are_formed_once(options: dict[str, Any]) -> None:
    with ALMA.open(**options) as alma:
        _, state = rule_events(alma, None)
        for number in range(3):
            alma.learn("victor", f"Deploy {number}", "success", "canary rollout")
        formed, state = rule_events(alma, state)
    with ALMA.open(**options) as again:
        assert [str(event.event_type) for event in formed] == ["heuristic.formed"]
        assert rule_events(again, state)[0] == []
