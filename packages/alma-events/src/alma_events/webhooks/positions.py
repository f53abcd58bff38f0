"""Positions of the receivers of a configuration, kept in the journal: the side database may be lost, and nothing is missed then."""

from collections.abc import Collection
from contextlib import suppress

from alma import ALMA
from alma.errors import ConflictError
from alma.memory.alma import open_records
from alma.types.stored import WEBHOOK_POSITION
from alma_events.webhooks.rows import Position

CONFIGURED = "configuration"
"""Owner of the endpoints that a configuration has."""

KEEP_EVENTS, KEEP_SECONDS = 1_000, 3_600.0
"""A position is kept anew after this many events, or after this time if there was an event."""

CHAIN = 16
"""Characters of a record's hash that are kept: by them a position is known to be of this journal."""


class KeptPositions:
    """The kept positions of one project. Threads and processes may share them."""

    def __init__(self, alma: ALMA) -> None:
        self._project = alma.storage.project(alma.project_id)
        self._records = open_records(alma, WEBHOOK_POSITION)

    def find(self, endpoint_id: str) -> Position | None:
        """Returns the position that is kept for an endpoint; `None` if there is none, or one of another journal."""
        kept = self._records.get(endpoint_id)
        if kept is None or not kept.body or self._chain(kept.body["seq"]) != kept.body["chain"]:
            return None
        return Position(kept.body["seq"], kept.body["index"])

    def keep(self, endpoint_id: str, position: Position) -> None:
        """Keeps a position for an endpoint. If another process keeps one at this moment, that one counts."""
        body = {"seq": position.seq, "index": position.index, "chain": self._chain(position.seq)}
        known = self._records.get(endpoint_id)
        with suppress(ConflictError):
            self._records.put(endpoint_id, body, version=0 if known is None else known.version)

    def drop_others(self, endpoint_ids: Collection[str]) -> None:
        """Drops the positions of all endpoints but these: one that is added again later begins at the end of the journal."""
        for kept in self._records.listed():
            if kept.body and kept.key not in endpoint_ids:
                with suppress(ConflictError):
                    self._records.put(kept.key, {}, version=kept.version)

    def _chain(self, seq: int) -> str:
        return self._project.head_at(seq)[:CHAIN]
