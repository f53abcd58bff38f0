"""Which processes hold episodes, on any machine: each says again and again that it still runs."""

import contextlib
import logging
import re
import threading
import uuid
from collections.abc import Mapping

from alma.errors import AlmaError, CorruptStoreError
from alma.forking import renewed_in_children
from alma.text import quoted
from alma_postgres.database import PostgresDatabase

_LOG = logging.getLogger("alma")

BEAT_SECONDS = 15.0
GONE_AFTER_SECONDS = 60.0
"""A process that has not been heard of for so long is taken to have ended. The server's clock counts, no machine's own."""

KEPT_SECONDS = 86_400.0

_NAME = re.compile("[0-9a-f]{32}")
_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


class Holders:
    """Implements `alma.protocols.Holders` by a row that a thread of the process keeps new. A transaction pooler may stand between."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._table = f'"{database.schema}".holder'
        self._id, self._guard, self._ended = "", threading.RLock(), threading.Event()
        renewed_in_children(self)

    @property
    def id(self) -> str:
        """Name under which this store holds episodes, from the first read until `leave`."""
        with self._guard:
            if not self._id:
                made = uuid.uuid4().hex
                self._say(made)
                self._id, self._ended = made, threading.Event()
                threading.Thread(target=self._beat, args=(made, self._ended), name="alma-holder", daemon=True).start()
            return self._id

    def is_there(self, holder: object) -> bool:
        """Returns True when that holder was heard of lately. `CorruptStoreError` for an invalid name."""
        if not isinstance(holder, str) or not _NAME.fullmatch(holder):
            raise CorruptStoreError(f"{quoted(holder)} is no name of a holder; see `alma verify`")
        if holder == self._id:
            return True
        found = f"SELECT 1 FROM {self._table} WHERE id = %(id)s AND seen_at > {_NOW} - %(within)s"
        return bool(self._execute(found, {"id": holder, "within": round(GONE_AFTER_SECONDS * 1e6)}))

    def sweep(self) -> None:
        """Deletes the rows of those that ended long ago."""
        self._execute(
            f"DELETE FROM {self._table} WHERE seen_at < {_NOW} - %(kept)s RETURNING 1", {"kept": round(KEPT_SECONDS * 1e6)}
        )

    def leave(self) -> None:
        """Releases everything that this store holds."""
        with self._guard:
            left, self._id = self._id, ""
            self._ended.set()
        if left:
            with contextlib.suppress(AlmaError):  # it is taken to have ended soon in any case
                self._execute(f"DELETE FROM {self._table} WHERE id = %(id)s RETURNING 1", {"id": left})

    def renew_in_child(self) -> None:
        """Takes a new identity in a forked child: what the parent holds stays the parent's."""
        self._id, self._guard, self._ended = "", threading.RLock(), threading.Event()

    def _beat(self, made: str, ended: threading.Event) -> None:
        while not ended.wait(BEAT_SECONDS):
            try:
                self._say(made)
            except AlmaError as error:
                _LOG.warning("this process could not renew its hold on its episodes: %s", error)

    def _say(self, made: str) -> None:
        said = f"INSERT INTO {self._table} AS held (id, seen_at) VALUES (%(id)s, {_NOW})"
        self._execute(f"{said} ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING 1", {"id": made})

    def _execute(self, text: str, given: Mapping[str, object]) -> list[tuple[object, ...]]:
        with self._database.reading() as session:
            return session.execute(text, given).fetchall()
