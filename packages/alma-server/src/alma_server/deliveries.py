"""Webhooks beside a server: deliveries for every project of the store that has receivers."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from alma import ALMA
from alma_events.service_db import READS, service_engine
from alma_events.webhooks import WebhookManager
from alma_events.webhooks.endpoints import endpoints

LOOK_SECONDS = 5.0
"""How soon deliveries begin for a project that gets its first receiver."""

_LOG = logging.getLogger("alma")


class Deliveries:
    """Delivers in the background until it is stopped. Processes of one store share the work by leases.

    `configured` are the receivers that the configuration has for its project; `is_token` tells whether the token of an id is valid.
    """

    def __init__(self, alma: ALMA, configured: Sequence[Mapping[str, Any]], is_token: Callable[[str], bool]) -> None:
        self._is_token = is_token
        self._alma = alma
        self._configured = configured
        self._managers: dict[str, WebhookManager] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alma-deliveries", daemon=True)

    def start(self) -> None:
        """Begins to deliver."""
        self._thread.start()

    def stop(self) -> None:
        """Ends deliveries; the rest is delivered by whoever starts next."""
        self._ended.set()
        self._thread.join()
        for manager in self._managers.values():
            manager.stop()

    def _run(self) -> None:
        is_configured = self._tried(self._configure)
        while not self._ended.is_set():
            is_configured = is_configured or self._tried(self._configure)
            self._tried(self._begin)
            self._ended.wait(LOOK_SECONDS)

    def _tried(self, call: Callable[[], object]) -> bool:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the next look tries again
            if not self._ended.is_set():
                _LOG.warning("webhooks wait: %s", error)
            return False
        return True

    def _configure(self) -> None:
        """Makes the receivers of the configuration what it says, and removes those that it has no more."""
        WebhookManager(self._alma).configure(self._configured)

    def _begin(self) -> None:
        """Begins to deliver for projects that have receivers now."""
        wanted = select(endpoints.c.project).where(endpoints.c.store == self._alma.storage.id).distinct()
        with service_engine(self._alma).connect().execution_options(**READS) as connection:
            projects = connection.execute(wanted).scalars().all()
        for project in projects:
            if project not in self._managers and not self._ended.is_set():
                manager = self._managers[project] = WebhookManager(self._alma.for_project(project), is_token=self._is_token)
                manager.start()
