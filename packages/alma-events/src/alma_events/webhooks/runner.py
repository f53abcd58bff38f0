"""Delivers the events of one endpoint: in order, again where it failed, by one process at a time."""

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from alma.errors import AlmaError, ConflictError
from alma_events.service_db import Lease
from alma_events.types import MemoryEvent, MemoryEventType
from alma_events.webhooks.config import WebhookConfig
from alma_events.webhooks.endpoints import ACTIVE, DISABLED, PAUSED
from alma_events.webhooks.lanes import Lanes
from alma_events.webhooks.rows import Attempt, Reference, WebhookDeliveryStatus
from alma_events.webhooks.schedule import (
    FAILURES_BEFORE_PAUSE,
    LONGEST_RETRY_AFTER,
    SECONDS_BEFORE_DISABLING,
    SECONDS_BEFORE_PAUSE,
)
from alma_events.webhooks.sending import Answer, Sender
from alma_events.webhooks.signing import delivery_headers
from alma_events.webhooks.sources import GONE, Source

_LOG = logging.getLogger("alma")

CONCURRENCY = 4
"""Requests to one endpoint at once; one after `FAILURES_IN_A_ROW`, so that receivers which time out do not hold the slots of all."""

FAILURES_IN_A_ROW = 3

MOST_WAITING = 10_000
PORTION = 256
TICK_SECONDS = 1.0
STOP_SECONDS = 5.0
OWNER_SECONDS = 60.0
OWNER_GONE = "its token was revoked, or has expired"

T = TypeVar("T")


class Health:
    """Health of an endpoint: its failures in a row, and the consequences of them."""

    def __init__(
        self, *, state: str = ACTIVE, failures: int = 0, failing_since: float = 0.0, probes: int = 0, probe_at: float = 0.0
    ) -> None:
        self.state, self.reason = state, ""
        self.failures, self.failing_since, self.probes, self.probe_at = failures, failing_since, probes, probe_at
        self.hold_until = 0.0

    def note(self, answer: Answer, now: float, probe_delay: Callable[[int], float]) -> None:
        """Takes an answer in. The endpoint pauses after 20 failures in a row over an hour, and is disabled after five days of them, or by 410."""
        if answer.is_success:
            self.state, self.failures, self.failing_since, self.probes, self.probe_at = ACTIVE, 0, 0.0, 0, 0.0
            return
        self.failures += 1
        self.failing_since = self.failing_since or now
        if answer.asks_to_wait:
            self.hold_until = max(self.hold_until, now + min(answer.retry_after, LONGEST_RETRY_AFTER))
        if answer.is_gone:
            self.state, self.reason = DISABLED, "the receiver answered 410"
        elif now - self.failing_since >= SECONDS_BEFORE_DISABLING:
            self.state, self.reason = DISABLED, "nothing was delivered for five days"
        elif self.state == PAUSED or (
            self.failures >= FAILURES_BEFORE_PAUSE and now - self.failing_since >= SECONDS_BEFORE_PAUSE
        ):
            self.state, self.probes = PAUSED, self.probes + 1
            self.probe_at = now + probe_delay(self.probes)

    def to_row(self) -> dict[str, Any]:
        """Returns the values that are stored of it, by name."""
        names = ("state", "reason", "failures", "failing_since", "probes", "probe_at")
        return {name: getattr(self, name) for name in names}


class Runner:
    """The deliveries of one endpoint. Lives in one event loop; what blocks runs in an executor."""

    def __init__(
        self,
        name: str,
        config: WebhookConfig,
        source: Source,
        sender: Sender,
        *,
        keys: Sequence[str],
        health: Health,
        slots: asyncio.Semaphore,
        executor: Executor,
        lease: Lease | None = None,
        clock: Callable[[], float] = time.time,
        on_disabled: Callable[[str, str], None] = lambda name, reason: None,
        is_owned: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name, self._config, self._source, self._sender = name, config, source, sender
        self._keys, self._health, self._slots, self._executor = keys, health, slots, executor
        self._lease, self._clock, self._on_disabled, self._is_owned = lease, clock, on_disabled, is_owned
        self._schedule = config.schedule
        self._known_health = health.to_row()
        self._lanes = Lanes()
        self._away: set[asyncio.Task[None]] = set()
        self._ended: list[tuple[Sequence[Reference], list[Attempt]]] = []
        self._woken = asyncio.Event()
        self._has_news = True
        self._is_stopping = False

    def wake(self) -> None:
        """Has the runner look for new events at once."""
        self._has_news = True
        self._woken.set()

    def stop(self) -> None:
        """Has the runner end after the attempts that are on their way."""
        self._is_stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Delivers until `stop`, or until the endpoint is disabled. An error is logged, and tried again after a while."""
        try:
            while not self._is_stopping and self._health.state != DISABLED:
                try:
                    if await self._holds_lease():
                        await self._deliver()
                    else:
                        await self._rest(TICK_SECONDS * random.uniform(1, 2))  # noqa: S311 - so that workers do not ask at once
                except ConflictError:  # the worker is about to replace this runner
                    await self._rest(TICK_SECONDS)
                except Exception:  # noqa: BLE001 - whatever it is, other events are still to be delivered
                    _LOG.exception("deliveries to the endpoint %s stopped; they go on in a moment", self.name)
                    await self._give_up()
                    await self._rest(TICK_SECONDS)
        finally:
            await self._give_up()
            await self._sender.close()
            if self._lease is not None and self._lease.seconds_left:
                await self._in_thread(self._lease.release)

    async def _deliver(self) -> None:
        """Delivers as long as the lease is held."""
        self._lanes, self._has_news = Lanes(), True
        self._lanes.add(await self._in_thread(self._source.load))
        while await self._holds_lease():
            await self._record()
            if self._health.state == DISABLED or (self._is_stopping and not self._away):
                return
            if self._health.state == PAUSED:
                await self._probe()
            elif not self._is_stopping:
                await self._fetch()
                self._dispatch()
            if not self._ended:
                await self._rest(self._pause())

    async def _fetch(self) -> None:
        room = min(PORTION, MOST_WAITING - len(self._lanes))
        if self._has_news and room > 0:
            self._has_news = False
            found = await self._in_thread(partial(self._source.fetch, room))
            self._lanes.add(found)
            self._has_news = self._has_news or len(found) == room

    def _dispatch(self) -> None:
        now = self._clock()
        if now < self._health.hold_until or not self._is_batch_due(now):
            return
        while not self._is_full() and (taken := self._lanes.take(now, self._config.batch_size)):
            task = asyncio.create_task(self._attempt(taken))
            self._away.add(task)
            task.add_done_callback(self._away.discard)

    def _is_batch_due(self, now: float) -> bool:
        """Returns whether enough events wait for a batch, or the first of them has waited long enough."""
        due = self._lanes.next_due()
        return due is not None and (len(self._lanes) >= self._config.batch_size or now >= self._batch_due(due))

    def _batch_due(self, due: float) -> float:
        return due + (self._config.batch_delay if self._config.batch_size > 1 else 0.0)

    def _pause(self) -> float:
        """Returns the seconds until there is something to do by the clock, at most a second."""
        if self._has_news and not self._away and len(self._lanes) < MOST_WAITING and self._health.state == ACTIVE:
            return 0.0
        due = None if self._away and self._is_full() else self._lanes.next_due()
        if due is None:
            return TICK_SECONDS
        return min(TICK_SECONDS, max(0.005, self._batch_due(max(due, self._health.hold_until)) - self._clock()))

    def _is_full(self) -> bool:
        return len(self._away) >= (1 if self._health.failures >= FAILURES_IN_A_ROW else CONCURRENCY)

    async def _attempt(self, taken: Sequence[Reference]) -> None:
        attempts: list[Attempt] = []
        try:
            async with self._slots:
                events = await self._in_thread(partial(self._source.render, taken))
                there = [(each, event) for each, event in zip(taken, events, strict=True) if event is not None]
                attempts = [_gone(each) for each, event in zip(taken, events, strict=True) if event is None]
                if there and await self._may_go_on() and self._may_begin():
                    answer = await self._post([event for _, event in there])
                    self._health.note(answer, self._clock(), self._schedule.probe_delay)
                    attempts += [self._outcome(each, answer) for each, _ in there]
        finally:
            self._ended.append((taken, attempts))
            self._woken.set()

    async def _may_go_on(self) -> bool:
        """Returns whether the owner of the endpoint still reads. The endpoint is disabled if not, and waits while that cannot be told."""
        try:
            if await self._in_thread(self._is_owned):
                return True
            self._health.state, self._health.reason = DISABLED, OWNER_GONE
        except AlmaError as error:
            _LOG.warning("deliveries to the endpoint %s wait: %s", self.name, error)
            self._health.hold_until = self._clock() + OWNER_SECONDS
        return False

    def _may_begin(self) -> bool:
        """Returns whether the lease surely lasts for a whole attempt."""
        return self._lease is None or self._lease.seconds_left > self._config.seconds

    async def _post(self, events: Sequence[MemoryEvent]) -> Answer:
        message_id, event_type, body = compose_body(events, is_batch=self._config.batch_size > 1)
        headers = delivery_headers(
            body,
            message_id=message_id,
            event_type=event_type,
            timestamp=int(self._clock()),
            keys=self._keys,
            extra=self._config.headers,
        )
        answer = await self._sender.post(body, headers)
        _LOG.debug("delivery %s to the endpoint %s: %s", message_id, self.name, answer.error or answer.status)
        return answer

    def _outcome(self, reference: Reference, answer: Answer) -> Attempt:
        reference.tries += 1
        ended = partial(Attempt, reference, http_status=answer.status, error=answer.error, ms=answer.ms)
        if answer.is_success:
            return ended(status=WebhookDeliveryStatus.SUCCESS)
        wait = self._schedule.delay(reference.tries, retry_after=answer.retry_after if answer.asks_to_wait else 0.0)
        if answer.is_gone:  # it waits for the endpoint to be enabled again
            wait = 0.0
        if wait is None:
            _LOG.warning(
                "the event %s could not be delivered to the endpoint %s: %s", reference.event_id, self.name, answer.error
            )
            return ended(status=WebhookDeliveryStatus.FAILED)
        reference.due = self._clock() + wait
        return ended(status=WebhookDeliveryStatus.RETRYING, due=reference.due)

    async def _record(self) -> None:
        """Stores how attempts ended, and only then lets their lanes go on."""
        if not self._ended:
            return
        ended, self._ended = self._ended, []
        attempts = [each for _, some in ended for each in some]
        if (news := self._news_of_health()) or attempts:
            await self._in_thread(partial(self._source.record, attempts, news))
        known = {id(each.reference): each for each in attempts}
        for taken, _ in ended:
            waiting = [each for each in taken if id(each) not in known or known[id(each)].due is not None]
            self._lanes.give_back(taken, waiting=waiting)
        if self._health.state == DISABLED:
            self._on_disabled(self.name, self._health.reason)

    def _news_of_health(self) -> dict[str, Any]:
        """Returns how the endpoint does, if that differs from what is stored."""
        before, self._known_health = self._known_health, self._health.to_row()
        return {} if self._known_health == before else self._known_health

    async def _probe(self) -> None:
        """Tries a paused endpoint with a test event when it is time."""
        if self._clock() < self._health.probe_at or self._away:
            return
        if await self._may_go_on():
            answer = await self._post([make_test_event(getattr(self._source, "project", ""))])
            self._health.note(answer, self._clock(), self._schedule.probe_delay)
        await self._in_thread(partial(self._source.record, [], self._news_of_health()))
        if self._health.state == DISABLED:
            self._on_disabled(self.name, self._health.reason)

    async def _holds_lease(self) -> bool:
        """Takes the lease, or renews it in time. One that is lost ends the attempts on their way."""
        if self._lease is None:
            return True
        if self._lease.seconds_left > 2 * self._lease.seconds / 3:
            return True
        had = self._lease.seconds_left > 0
        if await self._in_thread(self._lease.renew if had else self._lease.acquire):
            return True
        await self._give_up()
        return False

    async def _give_up(self) -> None:
        """Ends attempts on their way, after a while if the runner is to stop, and stores how those that ended did."""
        if self._away and self._is_stopping:
            await asyncio.wait(self._away, timeout=STOP_SECONDS)
        for task in list(self._away):
            task.cancel()
        await asyncio.gather(*self._away, return_exceptions=True)
        if self._lease is None or self._lease.seconds_left:
            try:
                await self._record()
            except Exception:  # noqa: BLE001 - as above
                _LOG.exception("how deliveries to the endpoint %s ended could not be stored; they are repeated", self.name)
        self._ended.clear()

    async def _rest(self, seconds: float) -> None:
        """Waits until there is something to do, at most so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)
        self._woken.clear()

    def _in_thread(self, call: Callable[[], T]) -> Awaitable[T]:
        loop = asyncio.get_running_loop()
        try:
            return loop.run_in_executor(self._executor, call)
        except RuntimeError:  # the process ends, and threads begin nothing any more: what is to be stored is stored here
            self._is_stopping = True
            done: asyncio.Future[T] = loop.create_future()
            done.set_result(call())
            return done


def compose_body(events: Sequence[MemoryEvent], *, is_batch: bool) -> tuple[str, str, bytes]:
    """Returns id, type and body of a request: one event, or a batch whose id names its first and its last event."""
    if not is_batch:
        (event,) = events
        return event.id, str(event.event_type), _as_json(event.to_dict())
    message_id = events[0].id if len(events) == 1 else f"{events[0].id}-{events[-1].id}"
    listed = [each.to_dict() for each in events]
    body = {"id": message_id, "type": BATCH, "timestamp": listed[-1]["timestamp"], "events": listed}
    return message_id, BATCH, _as_json(body)


BATCH = "batch"


def make_test_event(project: str) -> MemoryEvent:
    """Returns an event that says nothing but that deliveries arrive."""
    return MemoryEvent(event_type=MemoryEventType.WEBHOOK_TEST, project_id=project, id=f"evt_test_{random.getrandbits(64):016x}")


def _as_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=str).encode()


def _gone(reference: Reference) -> Attempt:
    return Attempt(reference, WebhookDeliveryStatus.FAILED, error=GONE)
