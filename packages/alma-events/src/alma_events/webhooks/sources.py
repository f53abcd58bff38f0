"""Sources of events for an endpoint: the journal, by references that outlive the process, or an emitter, in memory only."""

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import Any, Protocol

from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.engine import Connection, Engine, Row

from alma import ALMA
from alma.errors import ConflictError
from alma_access import Access
from alma_events.filtering import Reader, Selection
from alma_events.mapping import LAST
from alma_events.reading import Journal
from alma_events.service_db import READS
from alma_events.types import MemoryEvent
from alma_events.webhooks.config import WebhookConfig
from alma_events.webhooks.endpoints import Endpoint, deliveries, endpoints
from alma_events.webhooks.positions import CONFIGURED, KEEP_EVENTS, KEEP_SECONDS, KeptPositions
from alma_events.webhooks.rows import NEW, WAITING, Attempt, Position, Reference, WebhookDeliveryStatus

_LOG = logging.getLogger("alma")

MOST_DELIVERED_KEPT = 1_000
PRUNE_EVERY = 500
STORE_EVERY = 500
"""Records without an event for an endpoint after which its position is stored all the same."""

FAILED_KEPT_SECONDS = 30 * 86_400


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
        types = [str(each) for each in self._config.events] or None
        self._selection = Selection.of(types, self._config.agents, self._config.kinds)
        self._journal = Journal(alma, Reader(self._access, alma.agents), self._selection, chains=False)
        self._cached: _Cached | None = None
        self._recorded = 0
        self._position, self._stored, self._replay_until = endpoint.position, endpoint.position, 0
        self._matched: str | None = None
        self._kept = KeptPositions(alma) if endpoint.owner == CONFIGURED else None
        self._unkept, self._kept_at = 0, clock()

    def load(self) -> Sequence[Reference]:
        with self._engine.begin() as connection:
            mine = connection.execute(select(endpoints).where(endpoints.c.id == self._endpoint.id)).first()
            if mine is None or mine.version != self._endpoint.version:
                raise ConflictError(f"the endpoint {self._endpoint.id} was changed")
            mine = self._follow_restored(connection, mine)
            self._take_new(connection)
            wanted = select(deliveries).where(deliveries.c.endpoint == self._endpoint.id, deliveries.c.status.in_(WAITING))
            found = connection.execute(wanted.order_by(deliveries.c.seq, deliveries.c.idx)).all()
        self._position = self._stored = Position(mine.seq, mine.idx)
        self._matched, self._replay_until = mine.matched, mine.replay_until
        return [_reference(row) for row in found]

    def _follow_restored(self, connection: Connection, mine: Row[Any]) -> Row[Any]:
        """Returns where the endpoint is. If the store is an older copy, its journal has other records from some place on: then all events since the
        endpoint was added are taken up once more, for which of them are others is not known."""
        project = self._alma.storage.project(self._alma.project_id)
        head = project.head()
        if mine.seq <= head and mine.chain in ("", project.head_at(mine.seq)):
            return mine
        _LOG.warning("the store is another copy than before; events for the endpoint %s are delivered again", self._endpoint.id)
        of_endpoint = endpoints.c.id == self._endpoint.id
        values = {"seq": min(mine.first_seq, head), "idx": LAST, "chain": "", "matched": None, "replay_until": head}
        connection.execute(delete(deliveries).where(deliveries.c.endpoint == self._endpoint.id))
        connection.execute(update(endpoints).where(of_endpoint).values(**values))
        return connection.execute(select(endpoints).where(of_endpoint)).one()

    def fetch(self, most: int) -> Sequence[Reference]:
        head, before, matched = self._journal.head(), self._position, self._matched
        if head < before.seq:
            raise ConflictError("the store was replaced by an older copy")
        found: list[Reference] = []
        if (head, LAST) > (before.seq, before.index) and self._is_of_project:
            now = self._clock()
            with closing(self._journal.read((before.seq, before.index), upto=head)) as events:  # type: ignore[type-var] # a generator
                for event in islice(events, most):
                    found.append(self._refer(event, matched, now))
                    matched = event.position
        behind = found[-1].at if len(found) == most else max(Position(head), before)
        taken = self._take_up(found, behind, matched)
        self._keep_position(len(taken))
        return taken

    def _keep_position(self, taken: int) -> None:
        """Keeps the position before the oldest event that waits, from time to time: so far an endpoint goes back if the side database is lost."""
        self._unkept += taken
        is_due = self._unkept >= KEEP_EVENTS or (self._unkept and self._clock() - self._kept_at >= KEEP_SECONDS)
        if self._kept is not None and is_due:
            waiting = select(func.min(deliveries.c.seq)).where(
                deliveries.c.endpoint == self._endpoint.id, deliveries.c.status.in_(WAITING)
            )
            with self._engine.execution_options(**READS).begin() as connection:
                oldest = connection.execute(waiting).scalar()
            self._kept.keep(self._endpoint.id, self._stored if oldest is None else min(self._stored, Position(oldest - 1)))
            self._unkept, self._kept_at = 0, self._clock()

    @property
    def _is_of_project(self) -> bool:
        return self._config.project_filter is None or self._alma.project_id in self._config.project_filter

    def _refer(self, event: MemoryEvent, previous: str | None, now: float) -> Reference:
        at, lane = Position(event.seq, event.index), lane_of(event, self._config.ordering)
        is_replay = event.seq <= self._replay_until
        return Reference(at, event.id, str(event.event_type), lane, previous, due=now, is_replay=is_replay)

    def _take_up(self, found: list[Reference], behind: Position, matched: str | None) -> list[Reference]:
        """Stores references and the position behind them, and returns them with those that others stored for this endpoint. Returns none if the
        endpoint was changed meanwhile."""
        rows = [_row(self._endpoint.id, each) for each in found]
        if not rows and behind.seq - self._stored.seq < STORE_EVERY and not self._has_new():
            self._position = behind
            return []
        with self._engine.begin() as connection:
            mine = (endpoints.c.id == self._endpoint.id, endpoints.c.version == self._endpoint.version)
            chain = self._alma.storage.project(self._alma.project_id).head_at(behind.seq)
            values = {"seq": behind.seq, "idx": behind.index, "chain": chain, "matched": matched}
            if behind != self._stored and not connection.execute(update(endpoints).where(*mine).values(**values)).rowcount:
                return []
            new = self._take_new(connection)
            if rows:
                connection.execute(deliveries.insert(), rows)
        self._position, self._stored, self._matched = behind, behind, matched
        return sorted([*found, *new], key=lambda each: each.at)

    def _has_new(self) -> bool:
        with self._engine.execution_options(**READS).begin() as connection:
            new = (deliveries.c.endpoint == self._endpoint.id, deliveries.c.status == NEW)
            return connection.execute(select(deliveries.c.seq).where(*new).limit(1)).first() is not None

    def _take_new(self, connection: Connection) -> list[Reference]:
        new = (deliveries.c.endpoint == self._endpoint.id, deliveries.c.status == NEW)
        found = [_reference(row) for row in connection.execute(select(deliveries).where(*new))]
        if found:
            connection.execute(update(deliveries).where(*new).values(status=WebhookDeliveryStatus.PENDING.value))
        return found

    def render(self, references: Sequence[Reference]) -> list[MemoryEvent | None]:
        return [self._render(each) for each in references]

    def _render(self, reference: Reference) -> MemoryEvent | None:
        if reference.body is not None:
            return self._render_kept(reference.body, reference)
        event = self._events_of(reference.at.seq).get(reference.at)
        return event and replace(event, previous=reference.previous, replayed=reference.is_replay)

    def _events_of(self, seq: int) -> Mapping[Position, MemoryEvent]:
        """Returns the events of a record as they may be sent now. Those of the record that was read last are kept, for it may have thousands, while
        nothing but additions was written since."""
        head, cached = self._journal.head(), self._cached
        if cached is not None and cached.seq == seq and (cached.head == head or self._are_additions(cached.head)):
            self._cached = replace(cached, head=head)
            return cached.events
        reader = Reader(self._access, self._alma.agents)
        journal = Journal(self._alma, reader, self._selection, is_full=self._config.payload == "full", chains=False)
        events = {Position(each.seq, each.index): each for each in journal.read((seq - 1, LAST), upto=seq)}
        self._cached = _Cached(seq, head, events)
        return events

    def _are_additions(self, head: int) -> bool:
        """Returns whether few records were written since, all of which only add something."""
        with closing(self._alma.storage.project(self._alma.project_id).entries(after=head)) as entries:  # type: ignore[type-var] # a generator
            newer = list(islice(entries, MOST_ADDITIONS + 1))
        return len(newer) <= MOST_ADDITIONS and all(each.operation in ADDITIONS and not each.is_purged for each in newer)

    def _render_kept(self, body: str, reference: Reference) -> MemoryEvent | None:
        """Returns an event of a learned rule, whose numbers are kept; nothing if the user that it was of is forgotten."""
        event = MemoryEvent.from_dict(json.loads(body))
        if event.user_id is not None and event.user_id not in self._alma.users():
            return None
        return replace(event, replayed=reference.is_replay)

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


@dataclass(frozen=True, slots=True)
class _Cached:
    """The events of a record, as they were at a head of the journal."""

    seq: int
    head: int
    events: Mapping[Position, MemoryEvent]


ADDITIONS = frozenset({"learn", "learn_many", "record_usage", "record_feedback", "episode_begin", "episode_step", "episode_end"})
MOST_ADDITIONS = 32

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
        with self._lock:
            if not self._config.wants(event):
                return False
            if is_full := len(self._new) >= self._most:
                _LOG.warning("an event is lost: %d wait for a receiver already; WebhookManager(alma) loses none", self._most)
            else:
                self._new.append(event)
            return not is_full

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


def _reference(row: Row[Any]) -> Reference:
    return Reference(
        Position(row.seq, row.idx),
        row.event_id,
        row.event_type,
        row.lane,
        row.previous,
        tries=row.tries,
        due=row.due,
        is_replay=bool(row.is_replay),
        body=row.body,
    )


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
