"""Where an endpoint's events come from: the journal, by references that outlive the process, or an emitter, in memory only."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.engine import Engine

from alma import ALMA
from alma.errors import ConflictError
from alma_access import Access
from alma_events.reading import read_events
from alma_events.service_db import READS
from alma_events.types import MemoryEvent
from alma_events.webhooks.config import WebhookConfig
from alma_events.webhooks.endpoints import Endpoint, deliveries, endpoints
from alma_events.webhooks.rows import WAITING, Attempt, Position, Reference, WebhookDeliveryStatus

MOST_DELIVERED_KEPT = 1_000
PRUNE_EVERY = 500
FAILED_KEPT_SECONDS = 30 * 86_400
LONGEST_SPAN = 256
"""Records between two events that are read in one go."""


class Source(Protocol):
    """Events for one endpoint. Its calls may block; `render` is called by several threads, the others one after another."""

    def load(self) -> Sequence[Reference]:
        """Returns the references that wait, in the order of the journal. `ConflictError` for an endpoint that was changed since it was read."""

    def fetch(self, most: int) -> Sequence[Reference]:
        """Takes up at most `most` new events, so that they are not lost any more, and returns their references."""

    def render(self, references: Sequence[Reference]) -> list[MemoryEvent | None]:
        """Returns the events as they may be sent now, `None` for each that is gone or may not be read any more."""

    def record(self, attempts: Sequence[Attempt], health: Mapping[str, Any]) -> None:
        """Stores how attempts ended, and how the endpoint does."""


def lane_of(event: MemoryEvent, ordering: str) -> str:
    """Returns what the order of an event is kept within: its memory, all events of the endpoint, or the event itself."""
    if ordering == "strict":
        return ""
    return event.memory_id if ordering == "memory" and event.memory_id else event.position


class JournalSource:
    """The events that an endpoint may read, from its position on. References are kept in the side database."""

    def __init__(self, alma: ALMA, endpoint: Endpoint, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self._alma, self._engine, self._clock = alma, engine, clock
        self._endpoint, self._config = endpoint, endpoint.config
        self._access: Access = endpoint.access
        self._recorded = 0
        self._position, self._replay_until = endpoint.position, 0
        self._matched: str | None = None

    def load(self) -> Sequence[Reference]:
        with self._engine.execution_options(**READS).begin() as connection:
            wanted = select(deliveries).where(deliveries.c.endpoint == self._endpoint.id, deliveries.c.status.in_(WAITING))
            found = connection.execute(wanted.order_by(deliveries.c.seq, deliveries.c.idx)).all()
            mine = connection.execute(select(endpoints).where(endpoints.c.id == self._endpoint.id)).first()
        if mine is None or mine.version != self._endpoint.version:
            raise ConflictError(f"the endpoint {self._endpoint.id} was changed")
        self._position, self._matched, self._replay_until = Position(mine.seq, mine.idx), mine.matched, mine.replay_until
        return [
            Reference(
                *(Position(row.seq, row.idx), row.event_id, row.event_type, row.lane, row.previous),
                tries=row.tries,
                due=row.due,
                is_replay=bool(row.is_replay),
            )
            for row in found
        ]

    def fetch(self, most: int) -> Sequence[Reference]:
        head = self._alma.storage.project(self._alma.project_id).head()
        if head <= self._position.seq and self._position.index >= 2**31 - 1:
            return []
        now = self._clock()
        found: list[Reference] = []
        before, matched = self._position, self._matched
        for event in self._read(before.as_after):
            at = Position(event.seq, event.index)
            found.append(
                Reference(
                    *(at, event.id, str(event.event_type), lane_of(event, self._config.ordering), event.previous or matched),
                    due=now,
                    is_replay=event.seq <= self._replay_until,
                )
            )
            matched = event.position
            if len(found) == most:
                break
        behind = found[-1].at if len(found) == most else max(Position(head), before, *(each.at for each in found[-1:]))
        return found if self._take_up(found, before, behind, matched) else []

    def _take_up(self, found: Sequence[Reference], before: Position, behind: Position, matched: str | None) -> bool:
        """Stores references and the position behind them, unless the endpoint's position was changed meanwhile."""
        rows = [_row(self._endpoint.id, each) for each in found]
        with self._engine.begin() as connection:
            mine = (endpoints.c.id == self._endpoint.id, endpoints.c.seq == before.seq, endpoints.c.idx == before.index)
            moving = update(endpoints).where(*mine, endpoints.c.version == self._endpoint.version)
            if not connection.execute(moving.values(seq=behind.seq, idx=behind.index, matched=matched)).rowcount:
                return False
            if rows:
                connection.execute(deliveries.insert(), rows)
        self._position, self._matched = behind, matched
        return True

    def render(self, references: Sequence[Reference]) -> list[MemoryEvent | None]:
        found: dict[Position, MemoryEvent] = {}
        wanted = [each.at for each in references]
        for run in _runs(sorted(wanted)):
            for event in self._read(run[0].seq - 1):
                at = Position(event.seq, event.index)
                if at > run[-1]:
                    break
                found[at] = event
        return [
            replace(event, previous=each.previous, replayed=each.is_replay) if (event := found.get(each.at)) else None
            for each in references
        ]

    def record(self, attempts: Sequence[Attempt], health: Mapping[str, Any]) -> None:
        gone = [each for each in attempts if each.error == GONE]
        ended = [_outcome(self._endpoint.id, each, self._clock()) for each in attempts if each.error != GONE]
        with self._engine.begin() as connection:
            for each in gone:
                connection.execute(delete(deliveries).where(*_is(self._endpoint.id, each.reference.at)))
            if ended:
                connection.execute(_RECORDING, ended)
            if health:
                mine = (endpoints.c.id == self._endpoint.id, endpoints.c.version == self._endpoint.version)
                is_same = health["state"] == self._endpoint.state
                version = self._endpoint.version + (0 if is_same else 1)  # so that every worker learns of another state
                connection.execute(update(endpoints).where(*mine).values(**health, version=version))
        self._recorded += len(ended)
        if self._recorded >= PRUNE_EVERY:
            self._recorded = 0
            self._prune()

    def _prune(self) -> None:
        """Drops all but the newest deliveries that succeeded, and what failed long ago."""
        mine = deliveries.c.endpoint == self._endpoint.id
        succeeded = deliveries.c.status == WebhookDeliveryStatus.SUCCESS.value
        oldest = select(deliveries.c.seq).where(mine, succeeded).order_by(deliveries.c.seq.desc()).offset(MOST_DELIVERED_KEPT)
        failed = deliveries.c.status == WebhookDeliveryStatus.FAILED.value
        with self._engine.begin() as connection:
            if (row := connection.execute(oldest.limit(1)).first()) is not None:
                connection.execute(delete(deliveries).where(mine, succeeded, deliveries.c.seq <= row.seq))
            connection.execute(delete(deliveries).where(mine, failed, deliveries.c.at < self._clock() - FAILED_KEPT_SECONDS))

    def _read(self, after: str | int) -> Any:
        config = self._config
        if config.project_filter is not None and self._alma.project_id not in config.project_filter:
            return iter(())
        types = [str(each) for each in config.events] or None
        return read_events(
            self._alma,
            after=after,
            types=types,
            agents=config.agents or None,
            kinds=config.kinds or None,
            access=self._access,
            payload=config.payload,
        )


GONE = "gone"
"""The error of an attempt that was not made, because there is nothing to send any more."""

_RECORDING = (
    update(deliveries)
    .where(*(deliveries.c[name] == bindparam(f"of_{name}") for name in ("endpoint", "seq", "idx")))
    .values(**{name: bindparam(f"new_{name}") for name in ("tries", "due", "status", "http_status", "error", "ms", "at")})
)


class EmittedSource:
    """The events of an emitter that an endpoint wants, in memory: what waits when the process ends is lost."""

    def __init__(self, config: WebhookConfig, *, clock: Callable[[], float] = time.time, most: int = 10_000) -> None:
        self._config, self._clock, self._most = config, clock, most
        self._lock = Lock()
        self._new: deque[MemoryEvent] = deque()
        self._events: dict[Position, MemoryEvent] = {}
        self._count = 0
        self.attempts: deque[tuple[Attempt, float]] = deque(maxlen=MOST_DELIVERED_KEPT)

    def offer(self, event: MemoryEvent) -> bool:
        """Takes an event if the endpoint wants it and there is room. Returns whether it did."""
        config = self._config
        is_wanted = (
            config.matches_event(event.event_type)
            and (not config.agents or event.agent in config.agents)
            and (not config.kinds or event.memory_type in config.kinds)
            and (config.project_filter is None or event.project_id in config.project_filter)
        )
        with self._lock:
            if is_wanted and len(self._new) < self._most:
                self._new.append(event)
                return True
        return False

    def load(self) -> Sequence[Reference]:
        return []

    def fetch(self, most: int) -> Sequence[Reference]:
        found: list[Reference] = []
        with self._lock:
            while self._new and len(found) < most:
                event = self._new.popleft()
                self._count += 1
                at = Position(self._count, 0)
                self._events[at] = event
                lane = lane_of(event, self._config.ordering) if event.seq or event.memory_id else str(at)
                found.append(Reference(at, event.id, str(event.event_type), lane, due=self._clock()))
        return found

    def render(self, references: Sequence[Reference]) -> list[MemoryEvent | None]:
        return [self._events.get(each.at) for each in references]

    def record(self, attempts: Sequence[Attempt], health: Mapping[str, Any]) -> None:
        for each in attempts:
            self.attempts.append((each, self._clock()))
            if each.due is None:
                self._events.pop(each.reference.at, None)


def _runs(positions: Sequence[Position]) -> list[list[Position]]:
    """Groups positions, in order, that are near enough to be read in one go."""
    runs: list[list[Position]] = []
    for each in positions:
        if runs and each.seq - runs[-1][-1].seq <= LONGEST_SPAN:
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def _is(endpoint: str, at: Position) -> tuple[Any, ...]:
    return deliveries.c.endpoint == endpoint, deliveries.c.seq == at.seq, deliveries.c.idx == at.index


def _row(endpoint: str, each: Reference) -> dict[str, Any]:
    return {
        "endpoint": endpoint,
        "seq": each.at.seq,
        "idx": each.at.index,
        "event_id": each.event_id,
        "event_type": each.event_type,
        "lane": each.lane,
        "previous": each.previous,
        "due": each.due,
        "is_replay": int(each.is_replay),
        "status": WebhookDeliveryStatus.PENDING.value,
    }


def _outcome(endpoint: str, attempt: Attempt, now: float) -> dict[str, Any]:
    at = attempt.reference.at
    return {
        "of_endpoint": endpoint,
        "of_seq": at.seq,
        "of_idx": at.index,
        "new_tries": attempt.reference.tries,
        "new_due": attempt.due or 0.0,
        "new_status": attempt.status.value,
        "new_http_status": attempt.http_status,
        "new_error": attempt.error,
        "new_ms": attempt.ms,
        "new_at": now,
    }
