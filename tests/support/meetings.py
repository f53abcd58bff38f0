"""A kind as a user would define it, and such a memory."""

import typing
from datetime import datetime
from typing import Any

from alma import CustomMemoryType

FIELDS: dict[str, Any] = {
    "title": str,
    "attendees": typing.List[str],  # noqa: UP006 - users write it so
    "summary": str,
    "action_items": list[str],
    "date": datetime,
    "room": typing.Optional[str],  # noqa: UP045 - users write it so
}
MEETING = CustomMemoryType(
    name="meeting_note",
    fields=FIELDS,
    embedding_fields=["summary", "action_items"],
    scoring_weights={"recency": 0.5, "relevance": 0.5},
)


def notes(**changes: Any) -> dict[str, Any]:
    """The fields of a meeting."""
    given = {
        "title": "Billing kickoff",
        "attendees": ["Ann", "Bo"],
        "summary": "We chose PostgreSQL for the invoices",
        "action_items": ["Write the migration", "Ask finance"],
        "date": datetime(2026, 2, 3, 9, 30),  # noqa: DTZ001 - users give such times
    }
    return {**given, **changes}
