"""`WebhookManager`: receivers of events, and the deliveries to them."""

import asyncio
import atexit
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

from alma import ALMA
from alma.errors import ConfigurationError, StorageError
from alma.forking import renewed_in_children
from alma.types.identity import from_micros
from alma_access import Access
from alma_events.emitter import EventEmitter, get_emitter
from alma_events.service_db import MICROSECONDS, Lease, service_engine
from alma_events.types import MemoryEvent, MemoryEventType
from alma_events.watching import Watch
from alma_events.webhooks.config import WebhookConfig
from alma_events.webhooks.configured import check_webhooks, follow_configuration
from alma_events.webhooks.endpoints import DISABLED, OF_TOKEN, Endpoint, Endpoints
from alma_events.webhooks.guard import Resolve, resolve_host
from alma_events.webhooks.rows import Delivery, WebhookDeliveryStatus
from alma_events.webhooks.rules import RuleComparison, compare_in_background, wants_rules
from alma_events.webhooks.runner import CONCURRENCY, STOP_SECONDS, Health, Runner, compose_body, make_test_event
from alma_events.webhooks.sending import Answer, Sender
from alma_events.webhooks.signing import delivery_headers
from alma_events.webhooks.sources import EmittedSource, JournalSource
from alma_events.webhooks.worker import Worker

LEASE_SECONDS = 30.0
WATCH_SECONDS = 1.0
PAUSE_SECONDS = 0.01
"""Between a commit and the reading of its events: the call that committed ends first, and a program that writes on is read in portions."""


class WebhookManager:
    """Receivers of events, and the deliveries to them in the background.

    With an open memory, `WebhookManager(alma)`, receivers and positions are kept beside its store, events come from its journal, and nothing is
    lost when the process ends: each event is delivered at least once, always with the same id. Any number of processes may deliver; at each
    time one of them does to a receiver. Without a memory, `WebhookManager()`, receivers get the events of the emitter that `start` is given, and
    what waits is lost with the process.
    """

    def __init__(
        self,
        alma: ALMA | None = None,
        *,
        clock: Callable[[], float] = time.time,
        resolve: Resolve = resolve_host,
        lease_seconds: float = LEASE_SECONDS,
        is_token: Callable[[str], bool] | None = None,
    ) -> None:
        """`is_token` tells whether the token of an id is valid, as `TokenFile(folder).is_current`. Receivers that clients of a server added get
        events while it is, and none from a manager without `is_token`.
        """
        self._clock, self._resolve = clock, resolve
        self._lock = threading.RLock()
        self._worker: Worker | None = None
        self._part: _Durable | _InMemory = (
            _InMemory(clock, resolve) if alma is None else _Durable(alma, clock, resolve, lease_seconds, is_token)
        )
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Forgets the worker, whose thread a forked child does not have: the child delivers when it calls `start` itself."""
        self._lock, self._worker = threading.RLock(), None

    @property
    def endpoints(self) -> Endpoints:
        """The receivers as they are stored. `ConfigurationError` without a memory."""
        if isinstance(self._part, _InMemory):
            raise ConfigurationError("only WebhookManager(alma) stores its receivers")
        return self._part.endpoints

    def add_webhook(
        self, config: WebhookConfig, *, access: Access | None = None, owner: str = "", since: str | int | None = None
    ) -> Any:
        """Adds a receiver, and returns it as it is stored, with its new secret if it had none; without a memory, returns nothing.

        `access` is what it may read, everything but what was recorded for users by default. It gets events from now on, or after the position
        `since`. `ValidationError` for settings that are wrong, and for an address that may not be called.
        """
        added = self._part.add(config, access=access, owner=owner, since=since)
        if self._worker is not None:
            self._worker.look()
        return added

    def configure(self, configs: Sequence[WebhookConfig | Mapping[str, Any]]) -> list[Endpoint]:
        """Makes the receivers of a configuration what it says, `load_settings(path).webhooks`, and returns them. Others stay as they are.

        `ConfigurationError` for settings that are wrong, `ValidationError` for an address that may not be called.
        """
        checked = check_webhooks([each.to_dict() if isinstance(each, WebhookConfig) else each for each in configs])
        found = follow_configuration(self.endpoints, self.endpoints.kept_positions(), checked)
        if self._worker is not None:
            self._worker.look()
        return found

    def remove_webhook(self, url: str) -> bool:
        """Removes the first receiver with this URL. Returns whether there was one."""
        is_removed = self._part.remove(url)
        if self._worker is not None:
            self._worker.look()
        return is_removed

    def start(self, emitter: EventEmitter | None = None) -> None:
        """Begins to deliver in the background. Without a memory, the events of `emitter`. Harmless when it is running."""
        with self._lock:
            if self._worker is None:
                self._worker = Worker(self._part.wanted, self._part.make)
                self._worker.start()
                atexit.register(self.stop)
                self._part.begin(self._worker, emitter, self.stop)

    def stop(self, emitter: EventEmitter | None = None) -> None:
        """Ends deliveries. With a memory, whoever starts next goes on where they ended."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            atexit.unregister(self.stop)
            self._part.end()
            worker.stop()

    @property
    def webhook_count(self) -> int:
        """Number of receivers."""
        return self._part.count

    @property
    def is_running(self) -> bool:
        """True while events are delivered."""
        return self._worker is not None

    def get_recent_deliveries(self, limit: int = 50) -> list[Delivery]:
        """Returns how the newest deliveries stand, at most `limit` for each receiver. They hold no words of memories and no answers."""
        return self._part.recent(limit)

    def test(self, endpoint_id: str, *, owner: str | None = None) -> Answer:
        """Sends the event `webhook.test` to a stored receiver, also to a disabled one, and returns how that ended. Counts for nothing."""
        return asyncio.run(_send_test(self.endpoints.get(endpoint_id, owner=owner), self._resolve, self._clock))


class _Durable:
    """The receivers of a store."""

    def __init__(
        self,
        alma: ALMA,
        clock: Callable[[], float],
        resolve: Resolve,
        lease_seconds: float,
        is_token: Callable[[str], bool] | None,
    ) -> None:
        self._is_token = is_token
        self.endpoints = Endpoints(alma, clock=clock, resolve=resolve)
        self._alma, self._clock, self._resolve, self._lease_seconds = alma, clock, resolve, lease_seconds
        self._comparison = RuleComparison(alma, self.endpoints, clock=clock)
        self._ended, self._news = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._forget_close: Callable[[], None] = lambda: None

    def add(self, config: WebhookConfig, **how: Any) -> Endpoint:
        added = self.endpoints.add(config, **how)
        if wants_rules(added):
            self._comparison.begin()
        return added

    def remove(self, url: str) -> bool:
        found = [each.id for each in self.endpoints.listed() if each.config.url == url]
        for each in found[:1]:
            self.endpoints.remove(each)
        return bool(found)

    @property
    def count(self) -> int:
        return len(self.endpoints.changed())

    def recent(self, limit: int) -> list[Delivery]:
        return [each for one in self.endpoints.listed() for each in self.endpoints.deliveries(one.id, limit=limit)]

    def wanted(self) -> Mapping[str, int]:
        return self.endpoints.changed()

    def make(self, endpoint_id: str, slots: asyncio.Semaphore, executor: Executor) -> Runner | None:
        endpoint = self.endpoints.get(endpoint_id)
        is_of_token = endpoint.owner.startswith(OF_TOKEN)
        if endpoint.state == DISABLED or (is_of_token and self._is_token is None):
            return None
        config, engine = endpoint.config, service_engine(self._alma)
        return Runner(
            endpoint_id,
            config,
            JournalSource(self._alma, endpoint, engine, clock=self._clock),
            Sender(config.url, config.guard, seconds=config.seconds, connections=CONCURRENCY, resolve=self._resolve),
            keys=endpoint.keys,
            health=Health(
                state=endpoint.state,
                failures=endpoint.failures,
                failing_since=endpoint.failing_since,
                probes=endpoint.probes,
                probe_at=endpoint.probe_at,
            ),
            slots=slots,
            executor=executor,
            lease=Lease(engine, f"webhook {endpoint_id}", max(self._lease_seconds, 2 * config.seconds)),
            clock=self._clock,
            on_disabled=self._report_disabled,
            is_owned=self._is_owned(endpoint.owner),
        )

    def _is_owned(self, owner: str) -> Callable[[], bool]:
        """Returns the question whether an owner still reads: one that is no token always does."""
        if self._is_token is None or not owner.startswith(OF_TOKEN):
            return lambda: True
        return partial(self._is_token, owner.removeprefix(OF_TOKEN))

    def begin(self, worker: Worker, emitter: EventEmitter | None, stop: Callable[[], None]) -> None:
        ended, news = self._ended, self._news = threading.Event(), threading.Event()
        self._forget_close = self._alma.before_close(stop)
        news.set()
        parts = (
            (self._watch, (worker, ended, news)),
            (compare_in_background, (self._comparison, news, ended, worker.wake)),
        )
        self._threads = [threading.Thread(target=call, args=given, name="alma-webhooks", daemon=True) for call, given in parts]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        self._news.set()
        self._forget_close()
        for thread in self._threads:
            thread.join(STOP_SECONDS)
        self._comparison.release()

    def _watch(self, worker: Worker, ended: threading.Event, news: threading.Event) -> None:
        """Wakes the runners when the journal has a new record."""
        try:
            watch = Watch(self._alma)
            while not ended.is_set():
                if watch.wait(WATCH_SECONDS):
                    ended.wait(PAUSE_SECONDS)
                    worker.wake()
                    news.set()
        except StorageError:  # the store was closed
            return

    def _report_disabled(self, endpoint_id: str, reason: str) -> None:
        get_emitter().emit(
            MemoryEvent(
                event_type=MemoryEventType.WEBHOOK_DISABLED,
                project_id=self._alma.project_id,
                payload={"endpoint": endpoint_id, "reason": reason},
            )
        )


class _InMemory:
    """Receivers that this process alone knows."""

    def __init__(self, clock: Callable[[], float], resolve: Resolve) -> None:
        self._clock, self._resolve = clock, resolve
        self._known: dict[str, tuple[WebhookConfig, EmittedSource]] = {}
        self._made = 0
        self._worker: Worker | None = None
        self._emitter: EventEmitter | None = None

    def add(self, config: WebhookConfig, **how: Any) -> None:
        checked = replace(config).checked()
        self._made += 1
        self._known = {**self._known, f"webhook {self._made}": (checked, EmittedSource(checked, clock=self._clock))}

    def remove(self, url: str) -> bool:
        found = [name for name, (config, _) in self._known.items() if config.url == url]
        self._known = {name: known for name, known in self._known.items() if name not in found[:1]}
        return bool(found)

    @property
    def count(self) -> int:
        return len(self._known)

    def recent(self, limit: int) -> list[Delivery]:
        return [each for config, source in self._known.values() for each in _recent(config.url, source, limit)]

    def wanted(self) -> Mapping[str, int]:
        return dict.fromkeys(self._known, 1)

    def make(self, name: str, slots: asyncio.Semaphore, executor: Executor) -> Runner | None:
        if name not in self._known:
            return None
        config, source = self._known[name]
        sender = Sender(config.url, config.guard, seconds=config.seconds, connections=CONCURRENCY, resolve=self._resolve)
        keys = () if config.secret is None else (config.secret,)
        return Runner(
            *(name, config, source, sender), keys=keys, health=Health(), slots=slots, executor=executor, clock=self._clock
        )

    def begin(self, worker: Worker, emitter: EventEmitter | None, stop: Callable[[], None]) -> None:
        self._worker, self._emitter = worker, emitter or get_emitter()
        self._emitter.subscribe_all(self._take)

    def end(self) -> None:
        if self._emitter is not None:
            self._emitter.unsubscribe_all(self._take)
        self._worker = self._emitter = None

    def _take(self, event: MemoryEvent) -> None:
        for name, (_, source) in self._known.items():
            if source.offer(event) and self._worker is not None:
                self._worker.wake(name)


def _recent(url: str, source: EmittedSource, limit: int) -> Iterable[Delivery]:
    newest = {each.reference.at: (each, at) for each, at in source.attempts}
    for attempt, at in list(newest.values())[::-1][:limit]:
        yield Delivery(
            url=url,
            event_id=attempt.reference.event_id,
            event_type=attempt.reference.event_type,
            position=str(attempt.reference.at),
            status=WebhookDeliveryStatus(attempt.status),
            attempts=attempt.reference.tries,
            last_error=attempt.error or None,
            status_code=attempt.http_status or None,
            duration_ms=attempt.ms,
            last_attempt=from_micros(int(at * MICROSECONDS)),
        )


async def _send_test(endpoint: Endpoint, resolve: Resolve, clock: Callable[[], float]) -> Answer:
    config = endpoint.config
    sender = Sender(config.url, config.guard, seconds=config.seconds, connections=1, resolve=resolve)
    message_id, event_type, body = compose_body([make_test_event(endpoint.project)], is_batch=False)
    headers = delivery_headers(
        body, message_id=message_id, event_type=event_type, timestamp=int(clock()), keys=endpoint.keys, extra=config.headers
    )
    try:
        return await sender.post(body, headers)
    finally:
        await sender.close()
