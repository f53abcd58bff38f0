"""`Feed`: reads the commits of this process and hands on their events."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from alma import ALMA
from alma.errors import AlmaError
from alma.storage.relational.session import COMMITS
from alma.telemetry import Operation, watch
from alma_events.filtering import Reader, Selection
from alma_events.forming import FORMING, RuleState, rule_events
from alma_events.mapping import LAST
from alma_events.reading import Journal, Position
from alma_events.types import MemoryEvent, MemoryEventType

_LOG = logging.getLogger("alma")

CLOSING = 2.0
"""Seconds that the closing of a store waits for its last events to be read."""

SOON, PAUSE = 0.002, 0.01
"""Seconds between a commit and the reading of it: the second while a program writes on, which is then read in portions and seldom waits for
the reader."""

RULES_EVERY, RULES_SHARE = 0.2, 10
"""Learned rules are looked at this many seconds after an outcome, or this many times as long as the last look took."""

Types = frozenset[MemoryEventType] | None
_READS = frozenset({MemoryEventType.ACCESSED})


@dataclass(slots=True)
class _Place:
    """A project, up to which record it is read, and its known rules."""

    after: Position
    rules: RuleState | None = None
    rooms: set[int] = field(default_factory=set)
    """Ids of the objects in which this process has the project open."""


class Feed:
    """Follows the commits of this process while there are subscribers, and emits their events: those of the journal in one thread, those of
    learned rules in another."""

    def __init__(self, emit: Callable[[MemoryEvent], None]) -> None:
        self._emit = emit
        self._types: Types = frozenset()
        self._unwatch: dict[int, Callable[[], None]] = {}
        self._reported = threading.local()
        self._reading, self._learning = _Worker("alma-events-feed", self._read), _Worker("alma-events-rules", self._learn)
        self.renew_in_child()

    def renew_in_child(self) -> None:
        """Starts without threads. The parent emits its own commits."""
        self._places: dict[tuple[str, str], _Place] = {}
        self._lock = threading.RLock()
        self._reading.renew_in_child()
        self._learning.renew_in_child()

    def want(self, types: Types) -> None:
        """Emits events of these types from now on; `None` is for all."""
        with self._lock:
            self._types = types
            others = tuple(each for each in COMMITS.followers if each != self._follow)
            COMMITS.followers = (*others, self._follow) if self._is_wanted() else others
            if not self._is_wanted():
                self._places.clear()
            if not self._wants(_READS):
                for stop in self._unwatch.values():
                    stop()
                self._unwatch.clear()
        for room in list(COMMITS.opened.values()):
            self._begin(room)

    def stop(self) -> None:
        """Emits nothing any more."""
        self.want(frozenset())
        self._reading.stop()
        self._learning.stop()

    def flush(self, timeout: float) -> bool:
        """Waits until all that was committed before is emitted; returns False if that takes longer."""
        end = monotonic() + timeout
        return self._reading.flush(timeout) and self._learning.flush(max(end - monotonic(), 0))

    def _follow(self, project: Any, seq: int) -> None:
        """Notes a commit, or with `seq` 0 that a project was opened. Runs in the caller's thread and never raises."""
        room = COMMITS.opened.get(id(project))
        if room is not None and seq:
            self._reading.put((room, seq))
        elif room is not None:
            self._begin(room)

    def _begin(self, room: Any) -> None:
        """Notes the present state of a project, of which there are no events. Never raises."""
        try:
            with self._lock:
                if self._is_wanted():
                    self._begin_at(ALMA(room), id(room))
        except AlmaError:  # it is closed
            pass
        except Exception:  # noqa: BLE001 - the caller opens a store, or subscribes, and has no part in this
            _LOG.exception("what was learned before could not be read")

    def _begin_at(self, alma: ALMA, room: int) -> None:
        key, store = (alma.storage.id, alma.project_id), id(alma.storage)
        if key not in self._places:
            self._places[key] = _Place((alma.storage.project(alma.project_id).head(), LAST))
        if room not in self._places[key].rooms:
            alma.before_close(lambda: self._end(key, room, store))
            self._places[key].rooms.add(room)
        if self._wants(_READS) and store not in self._unwatch:
            self._unwatch[store] = watch(alma, self._report_read)
        if self._wants(FORMING) and self._places[key].rules is None:
            self._places[key].rules = rule_events(alma, None)[1]

    def _end(self, key: tuple[str, str], room: int, store: int) -> None:
        """Emits the last events of a store that closes."""
        self.flush(CLOSING)
        with self._lock:
            place = self._places.get(key)
            if place is not None:
                place.rooms.discard(room)
            if place is not None and not place.rooms:
                del self._places[key]
            self._unwatch.pop(store, None)

    def _is_wanted(self) -> bool:
        return self._types != frozenset()

    def _wants(self, types: frozenset[MemoryEventType]) -> bool:
        return self._types is None or not self._types.isdisjoint(types)

    def _read(self, landed: Sequence[tuple[Any, int]]) -> None:
        """Emits the events of the records that were committed."""
        rooms: dict[int, tuple[Any, int]] = {}
        for room, seq in landed:
            rooms.setdefault(id(room), (room, seq))
        for room, seq in rooms.values():
            alma = ALMA(room)
            key = (alma.storage.id, alma.project_id)
            with self._lock:
                place = self._places.setdefault(key, _Place((seq - 1, LAST)))
            self._emit_journal(alma, place)
            if self._wants(FORMING):
                self._learning.put((room, seq))

    def _emit_journal(self, alma: ALMA, place: _Place) -> None:
        types = None if self._types is None else frozenset(map(str, self._types))
        journal = Journal(alma, Reader(None, {}), Selection(types, None, None), chains=False, replayed_upto=place.after[0])
        for event in journal.read(place.after):
            self._emit(event)
        place.after = (journal.seq, LAST)

    def _learn(self, landed: Sequence[tuple[Any, int]]) -> None:
        """Emits the events of learned rules."""
        began = monotonic()
        for room in {id(room): room for room, _ in landed}.values():
            alma = ALMA(room)
            place = self._places.get((alma.storage.id, alma.project_id))
            if place is not None:
                events, place.rules = rule_events(alma, place.rules)
                for event in events:
                    self._emit(event)
        self._learning.pause = max(RULES_EVERY, RULES_SHARE * (monotonic() - began))

    @contextmanager
    def _report_read(self, operation: Operation) -> Iterator[None]:
        """Emits that memories were retrieved: once, also where a store that was embedded anew has two watchers."""
        is_first, self._reported.operation = getattr(self._reported, "operation", None) is not operation, operation
        yield
        recalled = getattr(operation.result, "recalled", None) if is_first else None
        self._reported.operation = None if is_first else operation
        if recalled is not None and self._wants(_READS):
            said = {"memory_ids": [item.memory.id for item in recalled], "method": operation.method}
            self._emit(MemoryEvent(MemoryEventType.ACCESSED, operation.agent, operation.project_id, payload=said))


class _Worker:
    """A thread that handles what is put, all that is there at once, after a pause for more. It starts with the first."""

    def __init__(self, name: str, handle: Callable[[Sequence[Any]], None]) -> None:
        self._name, self._handle = name, handle
        self.pause = PAUSE
        self.renew_in_child()

    def renew_in_child(self) -> None:
        """Starts with nothing to do and without a thread."""
        self._given: SimpleQueue[Any] = SimpleQueue()  # its `put` may interrupt itself, as in a signal handler
        self._urgent = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()

    def put(self, item: Any) -> None:
        """Hands over an item."""
        self._given.put(item)
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, args=(self._given,), name=self._name, daemon=True)
                    self._thread.start()

    def flush(self, timeout: float) -> bool:
        """Waits until what was put before is handled; returns False after `timeout` seconds, and at once in the thread itself."""
        if self._thread is None:
            return True
        if threading.current_thread() is self._thread:
            return False
        done = _Flushed()
        self._urgent.set()
        self._given.put(done)
        return done.wait(timeout)

    def stop(self) -> None:
        """Ends the thread, once it has handled what was put before."""
        with self._lock:
            self._given.put(None)
            self._thread = None
            self._given, self._urgent = SimpleQueue(), threading.Event()

    def _run(self, given: "SimpleQueue[Any]") -> None:
        urgent, is_running, ended = self._urgent, True, 0.0
        while is_running:
            taken = [given.get()]
            if not isinstance(taken[0], _Flushed):
                urgent.wait(self.pause if monotonic() - ended < self.pause else SOON)
            with suppress(Empty):
                while True:
                    taken.append(given.get_nowait())
            urgent.clear()
            self._handle_all([each for each in taken if each is not None and not isinstance(each, _Flushed)])
            is_running, ended = None not in taken, monotonic()
            for each in taken:
                if isinstance(each, _Flushed):
                    each.set()

    def _handle_all(self, items: Sequence[Any]) -> None:
        try:
            if items:
                self._handle(items)
        except AlmaError as error:  # say the store was closed
            _LOG.warning("events could not be read: %s", error)
        except Exception:  # noqa: BLE001 - a fault here must not end the thread
            _LOG.exception("events could not be read")


class _Flushed(threading.Event):
    """Set when all that was put before it is handled."""
