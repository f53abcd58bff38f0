"""Events of a memory, and webhooks: each change, read from the journal."""

from typing import TYPE_CHECKING, Any

from alma.extensions import late_names

if TYPE_CHECKING:
    from alma_events.emitter import EventEmitter, get_emitter, reset_emitter
    from alma_events.forming import rule_events
    from alma_events.reading import Events, read_event, read_events
    from alma_events.types import MemoryEvent, MemoryEventType, create_memory_event
    from alma_events.watching import Watch

    WebhookConfig: Any
    WebhookManager: Any

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

__getattr__ = late_names(
    "alma_events",
    {
        **dict.fromkeys(("EventEmitter", "get_emitter", "reset_emitter"), "alma_events.emitter"),
        **dict.fromkeys(("Events", "read_event", "read_events"), "alma_events.reading"),
        **dict.fromkeys(("MemoryEvent", "MemoryEventType", "create_memory_event"), "alma_events.types"),
        **dict.fromkeys(("WebhookConfig", "WebhookDeliveryStatus", "WebhookManager"), "alma_events.webhooks"),
        "Watch": "alma_events.watching",
        "rule_events": "alma_events.forming",
    },
)
