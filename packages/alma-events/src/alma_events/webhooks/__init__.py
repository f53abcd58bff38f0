"""Webhooks: events of a memory, delivered to receivers by HTTP. See docs/guides/webhooks.md."""

from alma_events.webhooks.config import WebhookConfig
from alma_events.webhooks.endpoints import Endpoint, Endpoints
from alma_events.webhooks.guard import Guard
from alma_events.webhooks.manager import WebhookManager
from alma_events.webhooks.rows import Delivery, WebhookDeliveryStatus
from alma_events.webhooks.sending import Answer

__all__ = [
    "Answer",
    "Delivery",
    "Endpoint",
    "Endpoints",
    "Guard",
    "WebhookConfig",
    "WebhookDeliveryStatus",
    "WebhookManager",
]
