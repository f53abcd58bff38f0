"""`MemoryEvent`, a change of a memory as a value, and `MemoryEventType`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from alma.types.identity import as_utc, utc_now


class MemoryEventType(StrEnum):
    """Types of events, named as published. Those of the last group are names alone: nothing here emits them."""

    CREATED = "memory.created"
    UPDATED = "memory.updated"
    DELETED = "memory.deleted"
    CONSOLIDATED = "memory.consolidated"
    ACCESSED = "memory.accessed"
    RESTORED = "memory.restored"
    QUARANTINED = "memory.quarantined"
    RELEASED = "memory.released"
    PURGED = "memory.purged"
    HEURISTIC_FORMED = "heuristic.formed"
    ANTIPATTERN_DETECTED = "antipattern.detected"
    RULE_PROMOTED = "rule.promoted"
    RULE_DEMOTED = "rule.demoted"
    RULE_REWORDED = "rule.reworded"
    CONFIDENCE_UPDATED = "confidence.updated"
    PREFERENCE_ADDED = "preference.added"
    KNOWLEDGE_ADDED = "knowledge.added"
    OUTCOME_SETTLED = "outcome.settled"
    FEEDBACK_RECORDED = "feedback.recorded"
    USAGE_RECORDED = "usage.recorded"
    EPISODE_STARTED = "episode.started"
    EPISODE_ENDED = "episode.ended"
    USER_FORGOTTEN = "user.forgotten"
    WORKFLOW_CHECKPOINT = "workflow.checkpoint"
    IMPORT_COMPLETED = "import.completed"
    JOURNAL_UNDONE = "journal.undone"
    GAP = "gap"
    WEBHOOK_TEST = "webhook.test"
    WEBHOOK_DISABLED = "webhook.disabled"
    CONFIDENCE_DECAYED = "confidence.decayed"
    METRICS_COMPLETED = "metrics.completed"
    RAG_RETRIEVED = "rag.retrieved"
    RAG_ENHANCED = "rag.enhanced"


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """One change of a project's memory.

    `seq` is the journal record that made the change, `index` distinguishes the events of one record, and reading resumes after the
    `position` of both. `id` is the same in every process, at every replay and after a restore. `previous` is the position of the event
    before it under the filter of the reading, `None` for the first. `chain` is the beginning of the record's hash. `payload` has ids and
    numbers; only a full one has stored words. `timestamp` is when the record was stored. An event without a journal record, such as
    `memory.accessed`, has `seq` 0.
    """

    event_type: MemoryEventType
    agent: str | None = None
    project_id: str = ""
    memory_type: str | None = None
    memory_id: str | None = None
    timestamp: datetime = field(default_factory=utc_now)
    payload: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    seq: int = 0
    index: int = 0
    user_id: str | None = None
    actor: str = ""
    operation: str = ""
    previous: str | None = None
    chain: str = ""
    replayed: bool = False

    @property
    def data(self) -> Mapping[str, Any]:
        """Another name of `payload`, as Standard Webhooks call it."""
        return self.payload

    @property
    def position(self) -> str:
        """Position in the journal, "seq.index", after which reading resumes."""
        return f"{self.seq}.{self.index}"

    def to_dict(self) -> dict[str, Any]:
        """Returns the event as plain JSON values, with `type` and `data` beside `event_type` and `payload`."""
        named = {name: getattr(self, name) for name in _PLAIN}
        payload = dict(self.payload)
        return {
            "id": self.id,
            "type": str(self.event_type),
            "timestamp": as_utc(self.timestamp).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "event_type": str(self.event_type),
            **named,
            "payload": payload,
            "data": payload,
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Returns the event that `to_dict` was called on. Keys that are not known are ignored. `ValueError` for a type or time that is none."""
        given = {name: data[name] for name in _PLAIN if name in data}
        return cls(
            event_type=MemoryEventType(data.get("event_type") or data["type"]),
            timestamp=as_utc(datetime.fromisoformat(data["timestamp"])) if "timestamp" in data else utc_now(),
            payload=dict(data.get("payload") or data.get("data") or {}),
            metadata=dict(data.get("metadata") or {}),
            id=data.get("id", ""),
            **given,
        )


_PLAIN = (
    *("project_id", "agent", "user_id", "memory_type", "memory_id", "seq", "index", "previous", "chain"),
    *("actor", "operation", "replayed"),
)


def create_memory_event(
    event_type: MemoryEventType,
    agent: str,
    project_id: str,
    memory_type: str,
    memory_id: str,
    payload: Mapping[str, Any],
    metadata: Mapping[str, Any] | None = None,
) -> MemoryEvent:
    """Returns an event of now that is of no journal record, for `EventEmitter.emit`."""
    return MemoryEvent(event_type, agent, project_id, memory_type, memory_id, utc_now(), payload, metadata or {})
