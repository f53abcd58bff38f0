"""Events of learned rules for endpoints: compared in the background by one process, and kept with what was known of the rules."""

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from alma import ALMA
from alma.errors import AlmaError, StorageError
from alma_events.filtering import Reader
from alma_events.forming import FORMING, RuleState, rule_events
from alma_events.mapping import Owner
from alma_events.service_db import READS, Lease
from alma_events.types import MemoryEvent
from alma_events.webhooks.endpoints import Endpoint, Endpoints, deliveries, rules
from alma_events.webhooks.rows import NEW
from alma_events.webhooks.sources import lane_of

_LOG = logging.getLogger("alma")

EVERY, SHARE = 0.2, 10
"""Seconds between two comparisons, or this many times as long as the last one took."""

LOOK_SECONDS = 5.0


def wants_rules(endpoint: Endpoint) -> bool:
    """Returns whether an endpoint gets any events of learned rules."""
    return any(endpoint.config.matches_event(each) for each in FORMING)


class RuleComparison:
    """Compares the learned rules of a project with what was known of them, and keeps the events for each endpoint that wants them."""

    def __init__(self, alma: ALMA, endpoints: Endpoints, *, clock: Callable[[], float] = time.time) -> None:
        self._alma, self._endpoints, self._clock = alma, endpoints, clock
        self._lease = Lease(endpoints.engine, f"webhook rules {alma.project_id}"[:300])
        self._key = {"store": alma.storage.id, "project": alma.project_id}

    def begin(self) -> None:
        """Notes the rules as they are, if nothing is known of them yet: of these there are no events."""
        if self._known() is None:
            _, state = rule_events(self._alma, None)
            with self._endpoints.engine.begin() as connection:
                if not connection.execute(select(rules.c.version).filter_by(**self._key)).first():
                    connection.execute(rules.insert(), {**self._key, "state": json.dumps(state), "version": 1})

    def run(self) -> bool:
        """Compares once. Returns whether there are new events for an endpoint."""
        wanting = [each for each in self._endpoints.listed() if wants_rules(each)]
        if not wanting or not (self._lease.seconds_left > LOOK_SECONDS or self._lease.acquire()):
            return False
        if (known := self._known()) is None:
            self.begin()
            return False
        version, state = known
        events, following = rule_events(self._alma, state)
        if following == state:
            return False
        rows = [row for each in wanting for row in self._rows(each, events)]
        with self._endpoints.engine.begin() as connection:
            moved = update(rules).filter_by(**self._key, version=version)
            if not connection.execute(moved.values(state=json.dumps(following), version=version + 1)).rowcount:
                return False
            self._keep(connection, rows)
        return bool(rows)

    def release(self) -> None:
        """Lets another process compare."""
        if self._lease.seconds_left:
            self._lease.release()

    def _known(self) -> tuple[int, RuleState] | None:
        with self._endpoints.engine.execution_options(**READS).begin() as connection:
            row = connection.execute(select(rules).filter_by(**self._key)).first()
        return None if row is None else (row.version, json.loads(row.state))

    def _rows(self, endpoint: Endpoint, events: list[MemoryEvent]) -> list[dict[str, Any]]:
        config, reader = endpoint.config, Reader(endpoint.access, self._alma.agents)
        return [
            {
                "endpoint": endpoint.id,
                "seq": each.seq,
                "idx": each.index,
                "event_id": each.id,
                "event_type": str(each.event_type),
                "lane": lane_of(each, config.ordering),
                "due": self._clock(),
                "status": NEW,
                "body": json.dumps(each.to_dict()),
            }
            for each in events
            if config.wants(each) and reader.reads(Owner(each.agent, each.user_id, each.memory_type))
        ]

    def _keep(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            there = select(deliveries.c.seq).filter_by(endpoint=row["endpoint"], seq=row["seq"], idx=row["idx"])
            if not connection.execute(there).first():
                connection.execute(deliveries.insert(), row)


def compare_in_background(
    comparison: RuleComparison, news: threading.Event, ended: threading.Event, wake: Callable[[], None]
) -> None:
    """Compares after each news, with pauses, until ended."""
    while not ended.is_set():
        is_news = news.wait(LOOK_SECONDS)
        if ended.is_set():
            break
        news.clear()
        began = time.monotonic()
        try:
            if is_news and comparison.run():
                wake()
        except StorageError:
            if ended.is_set():
                break
        except AlmaError as error:
            _LOG.warning("events of learned rules could not be found: %s", error)
        except Exception:  # noqa: BLE001 - other events are still to be delivered
            _LOG.exception("events of learned rules could not be found")
        ended.wait(max(EVERY, SHARE * (time.monotonic() - began)))
