"""Events of a memory, and webhooks: each change, read from the journal."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alma_events.emitter import EventEmitter, get_emitter, reset_emitter
    from alma_events.forming import rule_events
    from alma_events.reading import Events, read_event, read_events
    from alma_events.types import MemoryEvent, MemoryEventType, create_memory_event
    from alma_events.watching import Watch

    WebhookConfig: Any
    WebhookManager: Any

_HOMES = {
    "Events": "reading",
    "EventEmitter": "emitter",
    "MemoryEvent": "types",
    "MemoryEventType": "types",
    "Watch": "watching",
    "WebhookConfig": "webhooks",
    "WebhookDeliveryStatus": "webhooks",
    "WebhookManager": "webhooks",
    "get_emitter": "emitter",
    "create_memory_event": "types",
    "read_event": "reading",
    "read_events": "reading",
    "rule_events": "forming",
    "reset_emitter": "emitter",
}

__all__ = [
    "EventEmitter",
    "Events",
    "MemoryEvent",
    "MemoryEventType",
    "Watch",
    "WebhookConfig",
    "WebhookDeliveryStatus",
    "WebhookManager",
    "create_memory_event",
    "get_emitter",
    "read_event",
    "read_events",
    "reset_emitter",
    "rule_events",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'alma_events' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"alma_events.{_HOMES[name]}"), name)
    return value
