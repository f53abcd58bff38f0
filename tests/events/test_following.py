"""New events are seen as they are stored, by this process and by others, until the reader stops."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from alma import ALMA, AsyncALMA
from alma.events import MemoryEvent, Watch, read_events

WRITER = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash", storage=sys.argv[2]) as alma:
    for line in sys.stdin:
        made = alma.learn("victor", line.strip(), "success", "canary")
        print(made.id, flush=True)
"""


def open_store(folder: Path, storage: str) -> ALMA:
    return ALMA.open(folder, project_id="shop", embedding_provider="hash", storage=storage)


@pytest.mark.parametrize("storage", ["sqlite", "file"])
def test_what_another_process_writes_is_seen_in_order(tmp_path: Path, storage: str) -> None:
    if storage == "file":
        pytest.importorskip("alma_files")
    with open_store(tmp_path, storage) as alma:
        alma.learn("victor", "Deploy nothing", "success")
        events = alma.events(follow=True)
        assert next(events).replayed
        command = [sys.executable, "-c", WRITER, str(tmp_path), storage]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdin is not None
            assert writer.stdout is not None
            for number in range(5):
                writer.stdin.write(f"Deploy {number}\n")
                writer.stdin.flush()
                event = next(events)
                assert (event.memory_id, event.seq, event.replayed) == (writer.stdout.readline().strip(), number + 2, False)
            writer.stdin.close()
            assert writer.wait() == 0
        events.close()
        assert list(events) == []


def test_a_reader_that_is_killed_resumes_after_its_last_event(alma: ALMA, tmp_path: Path) -> None:
    reader = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash") as alma:
    for event in alma.events(after=sys.argv[2], follow=True):
        print(event.position, event.id, flush=True)
"""
    for number in range(30):
        alma.learn("victor", f"Deploy {number}", "success")
    seen: list[list[str]] = []
    while len(seen) < 30:
        after = seen[-1][0] if seen else "0"
        with subprocess.Popen([sys.executable, "-c", reader, str(tmp_path), after], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            seen += [process.stdout.readline().split() for _ in range(10)]
            process.send_signal(signal.SIGKILL)
    assert [key for _, key in seen] == [event.id for event in alma.events()]


def test_a_reader_is_stopped_from_another_thread(alma: ALMA) -> None:
    stop, seen = threading.Event(), list[MemoryEvent]()
    thread = threading.Thread(target=lambda: seen.extend(read_events(alma, follow=True, stop=stop)))
    thread.start()
    alma.learn("victor", "Deploy auth", "success")
    stop.set()
    thread.join(30)
    assert not thread.is_alive()


def test_a_reader_ends_when_the_store_closes(tmp_path: Path) -> None:
    alma = open_store(tmp_path, "sqlite")
    seen: list[MemoryEvent] = []
    thread = threading.Thread(target=lambda: seen.extend(alma.events(follow=True)))
    alma.learn("victor", "Deploy auth", "success")
    thread.start()
    while not seen and thread.is_alive():
        thread.join(0.01)
    alma.close()
    thread.join(30)
    assert not thread.is_alive()


def test_a_watch_wakes_for_its_own_project_and_rests_otherwise(alma: ALMA) -> None:
    watch = Watch(alma)
    assert not watch.wait(0)
    alma.learn("victor", "Deploy auth", "success")
    assert watch.wait(0)
    assert not watch.wait(0.01)
    alma.for_project("lab").learn("victor", "Deploy auth", "success")
    assert not watch.wait(0.01)


def test_a_waiting_watch_is_woken(alma: ALMA) -> None:
    watch, woken = Watch(alma), list[bool]()
    thread = threading.Thread(target=lambda: woken.append(watch.wait(60)))
    thread.start()
    alma.learn("victor", "Deploy auth", "success")
    thread.join(30)
    assert woken == [True]
    thread = threading.Thread(target=lambda: woken.append(watch.wait(60)))
    thread.start()
    watch.wake()
    thread.join(30)
    assert woken == [True, False]


def test_in_asyncio_many_readers_wait_and_a_cancelled_one_loses_nothing(tmp_path: Path) -> None:
    async def run() -> list[int]:
        async with AsyncALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
            readers = [alma.events(follow=True) for _ in range(20)]
            waiting = [asyncio.create_task(anext(reader)) for reader in readers]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await alma.learn("victor", "Deploy auth", "success")
            seen = [(await anext(readers[0])).seq, *[(await each).seq for each in waiting[1:]]]
            for reader in readers:
                await reader.aclose()
            assert [event async for event in readers[0]] == []
            return seen

    assert asyncio.run(run()) == [1] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_reads_and_is_seen(alma: ALMA) -> None:
    watch = Watch(alma)
    child = os.fork()
    if child == 0:
        try:
            alma.learn("victor", "Deploy auth", "success")
            os._exit(0 if watch.wait(10) and len(list(alma.events())) == 1 else 1)
        finally:
            os._exit(2)
    assert watch.wait(30)
    assert os.waitpid(child, 0)[1] == 0
