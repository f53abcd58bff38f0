"""`Subscriber`: one callback with its own thread and a bounded queue."""

import asyncio
import inspect
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from time import monotonic
from typing import Any

from alma_events.types import MemoryEvent, MemoryEventType

_LOG = logging.getLogger("alma")

Callback = Callable[[MemoryEvent], Awaitable[Any] | Any]

CAPACITY = 1_000


class Subscriber:
    """A callback that is called with events of its type, one after the other. Its thread starts with the first event."""

    def __init__(self, key: str, event_type: MemoryEventType | None, callback: Callback, capacity: int) -> None:
        self.id, self.event_type, self.callback = key, event_type, callback
        self._capacity = capacity
        self._last: dict[str, str] = {}
        """Position of the last event of each project."""
        self.renew_in_child()

    def renew_in_child(self) -> None:
        """Starts with an empty queue and without a thread."""
        self._waiting: deque[tuple[MemoryEvent, Future[None] | None]] = deque()
        self._gaps: dict[str, MemoryEvent] = {}
        self._changed = threading.Condition(threading.RLock())
        self._is_calling = self._is_closed = False
        self._thread: threading.Thread | None = None

    def push(self, event: MemoryEvent, *, waits: bool = False) -> "Future[None] | None":
        """Queues an event of the subscriber's type. Returns a future of the call, if the caller `waits`."""
        if self.event_type not in (None, event.event_type):
            return None
        done: Future[None] | None = Future() if waits else None
        with self._changed:
            if self._is_closed:
                return None
            if event.seq:
                event = replace(event, previous=self._last.get(event.project_id))
                self._last[event.project_id] = event.position
            if len(self._waiting) >= self._capacity or self._gaps:
                self._drop(event)
                return None
            self._waiting.append((event, done))
            self._start()
        return done

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="alma-events", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _drop(self, event: MemoryEvent) -> None:
        """Counts an event as dropped. The first dropped one of a project says after which position to resume."""
        gap = self._gaps.get(event.project_id)
        if gap is None:
            payload = {"after": f"{event.seq}.{max(event.index - 1, 0)}" if event.index else str(event.seq - 1), "dropped": 1}
            gap = MemoryEvent(MemoryEventType.GAP, None, event.project_id, payload=payload)
        else:
            gap = replace(gap, payload={**gap.payload, "dropped": gap.payload["dropped"] + 1})
        self._gaps[event.project_id] = gap

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while (taken := self._take()) is not None:
                event, done = taken
                self._call(runner, event)
                _finish(done)

    def _take(self) -> tuple[MemoryEvent, "Future[None] | None"] | None:
        """Waits for the next event; `None` once the subscription has ended."""
        with self._changed:
            self._is_calling = False
            self._changed.notify_all()
            while not self._is_closed:
                if self._waiting:
                    self._is_calling = True
                    return self._waiting.popleft()
                if self._gaps:
                    self._is_calling = True
                    return self._gaps.pop(next(iter(self._gaps))), None
                self._changed.wait()
        return None

    def _call(self, runner: asyncio.Runner, event: MemoryEvent) -> None:
        try:
            answer = self.callback(event)
            if inspect.isawaitable(answer):
                runner.run(_wait_for(answer))
        except BaseException:  # noqa: BLE001 - an error of a subscriber, a cancellation or an exit too, is its own: later events follow
            _LOG.exception(
                "the subscriber %s failed on an event %s", getattr(self.callback, "__qualname__", "?"), event.event_type
            )

    def flush(self, timeout: float) -> bool:
        """Waits until nothing is queued and no call runs; returns False after `timeout` seconds, and at once inside the callback."""
        if threading.current_thread() is self._thread:
            return False
        end = monotonic() + timeout
        with self._changed:
            while (self._waiting or self._gaps or self._is_calling) and not self._is_closed:
                if not self._changed.wait(max(end - monotonic(), 0)) and monotonic() >= end:
                    return False
        return True

    def close(self) -> None:
        """Drops what is queued and lets the thread end."""
        with self._changed:
            self._is_closed = True
            for _, done in self._waiting:
                _finish(done)
            self._waiting.clear()
            self._gaps.clear()
            self._changed.notify_all()


def _finish(done: "Future[None] | None") -> None:
    """Tells a caller that waits, unless it gave up."""
    if done is not None and done.set_running_or_notify_cancel():
        done.set_result(None)


async def _wait_for(answer: Awaitable[Any]) -> None:
    await answer
