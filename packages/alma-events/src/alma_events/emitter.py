"""`EventEmitter`: calls back when memories change. The emitter of the process is fed by every open `ALMA`."""

import asyncio
import atexit
import threading
from collections.abc import Callable
from time import monotonic
from uuid import uuid4

from alma.errors import ValidationError
from alma.forking import renewed_in_children
from alma.text import quoted
from alma_events.feeding import Feed
from alma_events.subscribing import CAPACITY, Callback, Subscriber
from alma_events.types import MemoryEvent, MemoryEventType

ENDING = 5.0
"""Seconds that the end of the process waits for subscribers."""


class EventEmitter:
    """Calls subscribers with events: each in order, in a thread of its own, so that neither an error nor slowness of one reaches another, or
    the caller of `emit`.

    A subscriber is a function or a coroutine function of one event. For one that is `capacity` events behind, further events are dropped and
    then reported by one event `gap`, whose payload has the position to resume from. `max_workers` has no effect; alma-memory has it.
    """

    def __init__(self, max_workers: int | None = None, *, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._subscribers: tuple[Subscriber, ...] = ()
        self._is_enabled = True
        self._lock = threading.RLock()
        self._changed: Callable[[], None] = lambda: None
        renewed_in_children(self)

    def subscribe(self, event_type: MemoryEventType | str, callback: Callback) -> str:
        """Has a callback called with each event of a type, and returns the id of the subscription. Subscribing it again changes nothing."""
        return self._add(MemoryEventType(event_type), callback)

    def subscribe_all(self, callback: Callback) -> str:
        """Has a callback called with each event, and returns the id of the subscription. Subscribing it again changes nothing."""
        return self._add(None, callback)

    def _add(self, event_type: MemoryEventType | None, callback: Callback) -> str:
        if not callable(callback):
            raise ValidationError(f"a subscriber is a function of one event, not {quoted(callback)}")
        with self._lock:
            for each in self._subscribers:
                if each.event_type is event_type and each.callback == callback:
                    return each.id
            added = Subscriber(uuid4().hex, event_type, callback, self._capacity)
            self._subscribers = (*self._subscribers, added)
        self._changed()
        return added.id

    def unsubscribe(self, subscription: MemoryEventType | str, callback: Callback | None = None) -> bool:
        """Ends a subscription, given by its id or by its type and callback. Returns False if there is none. A call that runs ends."""
        if callback is None:
            return self._remove(lambda each: each.id == subscription)
        return self._remove(lambda each: each.event_type == subscription and each.callback == callback)

    def unsubscribe_all(self, callback: Callback) -> bool:
        """Ends the subscription of a callback to all events. Returns False if there is none."""
        return self._remove(lambda each: each.event_type is None and each.callback == callback)

    def _remove(self, is_meant: Callable[[Subscriber], bool]) -> bool:
        with self._lock:
            removed = [each for each in self._subscribers if is_meant(each)]
            self._subscribers = tuple(each for each in self._subscribers if each not in removed)
        for each in removed:
            each.close()
        self._changed()
        return bool(removed)

    def has_subscribers(self, event_type: MemoryEventType | str | None = None) -> bool:
        """Returns whether there are subscribers, of a type if one is given."""
        return any(event_type is None or each.event_type in (None, event_type) for each in self._subscribers)

    def emit(self, event: MemoryEvent) -> None:
        """Hands an event to its subscribers and returns at once."""
        if self._is_enabled:
            for each in self._subscribers:
                each.push(event)

    async def emit_async(self, event: MemoryEvent) -> None:
        """Hands an event to its subscribers and returns when all of them were called with it."""
        if self._is_enabled:
            waiting = [
                asyncio.wrap_future(done) for each in self._subscribers if (done := each.push(event, waits=True)) is not None
            ]
            await asyncio.gather(*waiting)

    def enable(self) -> None:
        """Lets events through again."""
        self._is_enabled = True

    def disable(self) -> None:
        """Drops all events until `enable`."""
        self._is_enabled = False

    @property
    def is_enabled(self) -> bool:
        """True unless events are dropped."""
        return self._is_enabled

    def clear(self) -> None:
        """Ends all subscriptions."""
        self._remove(lambda each: True)

    def flush(self, timeout: float = ENDING) -> bool:
        """Waits until subscribers were called with what was emitted before; returns False if that takes longer than `timeout` seconds."""
        end = monotonic() + timeout
        return all(each.flush(max(end - monotonic(), 0)) for each in self._subscribers)

    def shutdown(self) -> None:
        """Ends all subscriptions and their threads. A call that runs ends."""
        self.clear()

    def renew_in_child(self) -> None:
        """Resets the emitter in a forked child: subscriptions stay, events that wait are the parent's."""
        self._lock = threading.RLock()
        for each in self._subscribers:
            each.renew_in_child()


class ProcessEmitter(EventEmitter):
    """The emitter of this process: what any open `ALMA` of it writes is emitted after its commit."""

    def __init__(self) -> None:
        super().__init__()
        self._feed = Feed(self.emit)
        self._changed = self._follow

    def flush(self, timeout: float = ENDING) -> bool:
        """Waits until subscribers were called with what was committed before; returns False if that takes longer than `timeout` seconds."""
        end = monotonic() + timeout
        return self._feed.flush(timeout) and super().flush(max(end - monotonic(), 0))

    def shutdown(self) -> None:
        """Ends all subscriptions and their threads. A call that runs ends."""
        super().shutdown()
        self._feed.stop()

    def _follow(self) -> None:
        """Has the feed read what subscribers want."""
        with self._lock:
            types = {each.event_type for each in self._subscribers}
            self._feed.want(None if None in types else frozenset(one for one in types if one is not None))

    def renew_in_child(self) -> None:
        """Resets the emitter and its feed in a forked child."""
        super().renew_in_child()
        self._feed.renew_in_child()


_LOCK = threading.RLock()
_emitter: ProcessEmitter | None = None


def get_emitter() -> EventEmitter:
    """Returns the emitter of this process.

    It emits what the `ALMA` objects of this process write, after each commit: never inside one, and never in the thread of the writer. What other
    processes write comes with the next commit of this one; `ALMA.events(follow=True)` has it at once. At the end of the process it waits up to 5
    seconds for its subscribers.
    """
    global _emitter
    with _LOCK:
        if _emitter is None:
            _emitter = ProcessEmitter()
        return _emitter


def reset_emitter() -> None:
    """Ends all subscriptions to the emitter of this process; `get_emitter` returns a new one from now on."""
    global _emitter
    with _LOCK:
        former, _emitter = _emitter, None
    if former is not None:
        former.shutdown()


def _end() -> None:
    if _emitter is not None:
        _emitter.flush()


atexit.register(_end)
