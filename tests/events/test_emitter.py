"""Subscribers are called after each commit, in order, each in its own thread; what they do never reaches the program that learns."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from alma import ALMA
from alma.events import EventEmitter, MemoryEvent, MemoryEventType, create_memory_event, get_emitter, reset_emitter


def an_event(number: int, kind: MemoryEventType = MemoryEventType.CREATED) -> MemoryEvent:
    return create_memory_event(kind, "victor", "shop", "outcome", str(number), {"number": number})


def test_the_published_callbacks_run(emitter: EventEmitter, alma: ALMA, capsys: pytest.CaptureFixture[str]) -> None:
    def on_memory_created(event: MemoryEvent) -> None:
        print(f"Memory created: {event.memory_id} by {event.agent}")

    get_emitter().subscribe(MemoryEventType.CREATED, on_memory_created)
    get_emitter().subscribe(MemoryEventType.CONSOLIDATED, on_memory_created)
    made = alma.learn("victor", "Deploy auth", "success", "canary")
    assert get_emitter().flush()
    assert capsys.readouterr().out == f"Memory created: {made.id} by victor\n"


def test_all_that_any_open_memory_of_the_process_writes_is_emitted_in_order(
    emitter: EventEmitter, alma: ALMA, tmp_path: Path
) -> None:
    seen: list[tuple[str, int]] = []
    emitter.subscribe_all(lambda event: seen.append((event.project_id, event.seq)))
    other = alma.for_project("lab")
    with ALMA.open(tmp_path / "other", project_id="elsewhere", embedding_provider="hash") as opened_later:
        for number in range(5):
            for one in (alma, other, opened_later):
                one.learn("victor", f"Deploy {number}", "success", f"way {number}")
    assert emitter.flush()
    for project in ("shop", "lab", "elsewhere"):
        assert [seq for name, seq in seen if name == project and seq][:5] == [1, 2, 3, 4, 5]


def test_what_was_written_before_the_subscription_is_not_emitted(emitter: EventEmitter, alma: ALMA) -> None:
    alma.learn("victor", "Deploy auth", "success")
    seen: list[int] = []
    emitter.subscribe(MemoryEventType.CREATED, lambda event: seen.append(event.seq))
    alma.learn("victor", "Deploy billing", "success")
    assert emitter.flush()
    assert seen == [2]


def test_events_come_after_the_commit_with_what_it_stored(emitter: EventEmitter, alma: ALMA) -> None:
    found: list[str] = []
    emitter.subscribe(MemoryEventType.CREATED, lambda event: found.append(alma.get(event.memory_id or "").id))
    made = alma.learn("victor", "Deploy auth", "success")
    assert emitter.flush()
    assert found == [made.id]


def test_emitted_events_are_those_of_the_journal(emitter: EventEmitter, alma: ALMA) -> None:
    seen: list[MemoryEvent] = []
    emitter.subscribe(MemoryEventType.CREATED, seen.append)
    for number in range(3):
        alma.learn("victor", f"Deploy {number}", "success")
    assert emitter.flush()
    assert [(event.id, event.previous, event.chain) for event in seen] == [
        (event.id, event.previous, event.chain) for event in alma.events(types=["memory.created"])
    ]
    assert [event.replayed for event in seen] == [False] * 3


def test_neither_an_error_nor_slowness_of_a_subscriber_reaches_another_or_learn(
    emitter: EventEmitter, alma: ALMA, caplog: pytest.LogCaptureFixture
) -> None:
    stuck, seen = threading.Event(), list[int]()

    def fail(event: MemoryEvent) -> None:
        raise RuntimeError("a subscriber's own fault")

    async def fail_later(event: MemoryEvent) -> None:
        await asyncio.sleep(0)
        raise RuntimeError("a coroutine's own fault")

    for callback in (fail, fail_later, lambda event: stuck.wait(60), lambda event: seen.append(event.seq)):
        emitter.subscribe(MemoryEventType.CREATED, callback)
    for number in range(3):
        alma.learn("victor", f"Deploy {number}", "success")
    while len(seen) < 3:
        pass
    stuck.set()
    assert emitter.flush()
    assert seen == [1, 2, 3]
    assert sum("failed on an event" in record.message for record in caplog.records) == 6


def test_coroutines_are_awaited_in_order(emitter: EventEmitter, alma: ALMA) -> None:
    seen: list[int] = []

    async def slower_first(event: MemoryEvent) -> None:
        await asyncio.sleep(0.01 if event.seq == 1 else 0)
        seen.append(event.seq)

    emitter.subscribe(MemoryEventType.CREATED, slower_first)
    for number in range(3):
        alma.learn("victor", f"Deploy {number}", "success")
    assert emitter.flush()
    assert seen == [1, 2, 3]


def test_a_subscriber_that_is_too_far_behind_gets_one_gap_with_the_position_to_resume_from(alma: ALMA) -> None:
    emitter = EventEmitter(capacity=2)
    go, seen = threading.Event(), list[MemoryEvent]()

    def slow(event: MemoryEvent) -> None:
        go.wait(60)
        seen.append(event)

    emitter.subscribe_all(slow)
    for number in range(9):
        alma.learn("victor", f"Deploy {number}", "success")
    events = list(alma.events())
    for event in events:
        emitter.emit(event)
    go.set()
    assert emitter.flush()
    *delivered, gap = seen
    assert gap.event_type == MemoryEventType.GAP
    rest = list(alma.events(after=gap.payload["after"]))
    assert [event.id for event in (*delivered, *rest)] == [event.id for event in events]
    assert gap.payload["dropped"] == len(rest)
    emitter.emit(events[-1])
    assert emitter.flush()
    assert seen[-1].id == events[-1].id
    emitter.shutdown()


def test_a_retrieval_is_an_event_of_this_process(emitter: EventEmitter, alma: ALMA, tmp_path: Path) -> None:
    seen: list[MemoryEvent] = []
    emitter.subscribe(MemoryEventType.ACCESSED, seen.append)
    made = alma.learn("victor", "Deploy auth", "success", "canary")
    alma.retrieve("Deploy auth", "victor")
    with ALMA.open(tmp_path / "other", project_id="elsewhere", embedding_provider="hash") as opened_later:
        opened_later.retrieve("Deploy auth", "helena")
    assert emitter.flush()
    assert [(event.agent, event.project_id, event.payload["memory_ids"]) for event in seen] == [
        ("victor", "shop", [made.id]),
        ("helena", "elsewhere", []),
    ]
    emitter.clear()
    alma.retrieve("Deploy auth", "victor")
    assert len(seen) == 2
    assert "memory.accessed" not in {str(event.event_type) for event in alma.events()}


def test_retrievals_are_reported_of_each_opening_of_a_store(emitter: EventEmitter, alma: ALMA, tmp_path: Path) -> None:
    seen: list[str | None] = []
    emitter.subscribe_all(lambda event: seen.append(event.agent))
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as second:
        alma.retrieve("Deploy auth", "victor")
        second.retrieve("Deploy auth", "helena")
        second.reindex("hash", embedding_dim=64)
        second.retrieve("Deploy auth", "otto")
    assert emitter.flush()
    assert seen == ["victor", "helena", "otto"]


def test_subscriptions_end_by_id_by_type_and_all_at_once(emitter: EventEmitter) -> None:
    seen: list[str] = []

    def first(event: MemoryEvent) -> None:
        seen.append("first")

    def second(event: MemoryEvent) -> None:
        seen.append("second")

    one = emitter.subscribe(MemoryEventType.CREATED, first)
    assert emitter.subscribe("memory.created", first) == one
    emitter.subscribe(MemoryEventType.CREATED, second)
    emitter.subscribe_all(second)
    assert emitter.has_subscribers(MemoryEventType.DELETED)
    assert emitter.unsubscribe_all(second)
    assert not emitter.has_subscribers(MemoryEventType.DELETED)
    assert emitter.unsubscribe(MemoryEventType.CREATED, second)
    assert not emitter.unsubscribe(MemoryEventType.CREATED, second)
    emitter.emit(an_event(1))
    assert emitter.flush()
    assert seen == ["first"]
    assert emitter.unsubscribe(one)
    assert not emitter.has_subscribers()


def test_a_disabled_emitter_drops_events(emitter: EventEmitter) -> None:
    seen: list[str | None] = []
    emitter.subscribe_all(lambda event: seen.append(event.memory_id))
    emitter.disable()
    emitter.emit(an_event(1))
    emitter.enable()
    emitter.emit(an_event(2))
    assert emitter.flush()
    assert seen == ["2"]


def test_emit_async_returns_when_all_were_called() -> None:
    emitter, seen = EventEmitter(), list[str]()

    async def coroutine(event: MemoryEvent) -> None:
        await asyncio.sleep(0)
        seen.append("coroutine")

    emitter.subscribe_all(coroutine)
    emitter.subscribe_all(lambda event: seen.append("function"))
    asyncio.run(emitter.emit_async(an_event(1)))
    assert sorted(seen) == ["coroutine", "function"]
    emitter.shutdown()


def test_a_callback_that_exits_or_is_cancelled_and_a_caller_that_gives_up_end_no_subscription() -> None:
    emitter = EventEmitter()
    seen: list[str | None] = []

    async def canceled(event: MemoryEvent) -> None:
        raise asyncio.CancelledError

    async def slow(event: MemoryEvent) -> None:
        await asyncio.sleep(0.2)
        seen.append(event.memory_id)

    def exits(event: MemoryEvent) -> None:
        raise SystemExit(1)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(emitter.emit_async(an_event(1)), 0.05)
        await asyncio.wait_for(emitter.emit_async(an_event(2)), 10)

    for callback in (canceled, slow, exits):
        emitter.subscribe_all(callback)
    asyncio.run(give_up())
    assert emitter.flush()
    assert seen == ["1", "2"]
    emitter.shutdown()


def test_a_new_emitter_has_none_of_the_former_subscriptions(emitter: EventEmitter, alma: ALMA) -> None:
    seen: list[int] = []
    emitter.subscribe_all(lambda event: seen.append(event.seq))
    reset_emitter()
    alma.learn("victor", "Deploy auth", "success")
    assert get_emitter() is not emitter
    assert get_emitter().flush()
    assert seen == []


def test_a_store_that_closes_has_its_last_events_emitted(emitter: EventEmitter, tmp_path: Path) -> None:
    seen: list[int] = []
    emitter.subscribe(MemoryEventType.CREATED, lambda event: seen.append(event.seq))
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        for number in range(20):
            alma.learn("victor", f"Deploy {number}", "success")
    assert emitter.flush()
    assert seen == list(range(1, 21))


def test_a_callback_may_write_and_close(emitter: EventEmitter, tmp_path: Path) -> None:
    alma = ALMA.open(tmp_path, project_id="shop", embedding_provider="hash")

    def answer(event: MemoryEvent) -> None:
        if event.memory_type == "outcome":
            alma.add_domain_knowledge("victor", "log", "an outcome was stored")
            alma.close()

    emitter.subscribe(MemoryEventType.CREATED, answer)
    alma.learn("victor", "Deploy auth", "success")
    assert emitter.flush()
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as again:
        assert len(list(again.events(types=["memory.created"]))) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_emits_what_it_writes_itself(emitter: EventEmitter, alma: ALMA) -> None:
    receiving, sending = os.pipe()
    emitter.subscribe(MemoryEventType.CREATED, lambda event: os.write(sending, f"{os.getpid()} {event.seq}\n".encode()))
    alma.learn("victor", "Deploy auth", "success")
    assert emitter.flush()
    child = os.fork()
    if child == 0:
        try:
            alma.learn("victor", "Deploy billing", "success")
            emitter.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(sending)
    said = os.read(receiving, 1_000).decode().split("\n")
    os.close(receiving)
    assert said == [f"{os.getpid()} 1", f"{child} 2", ""]


def test_without_subscribers_nothing_follows_commits(emitter: EventEmitter, alma: ALMA) -> None:
    before = set(threading.enumerate())
    alma.learn("victor", "Deploy auth", "success")
    assert set(threading.enumerate()) <= before  # one of an earlier test may end meanwhile
