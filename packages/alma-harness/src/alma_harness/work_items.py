"""Work items as values, and the order in which they are taken up."""

from collections.abc import Callable, Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict

STATUSES = ("pending", "in_progress", "blocked", "done", "cancelled")
CLOSED = ("done", "cancelled")


class WorkItem(BaseModel):
    """One piece of work. `priority` and `effort` are from 0 to 100; `claimed_by` has it until `claimed_until`, `None` for no end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    description: str = ""
    priority: int = 50
    effort: int = 50
    status: str = "pending"
    agent: str | None = None
    user_id: str | None = None
    depends_on: tuple[str, ...] = ()
    blocked_because: str | None = None
    claimed_by: str | None = None
    claimed_until: datetime | None = None
    created_at: datetime
    updated_at: datetime


class ProgressSummary(BaseModel):
    """Number of work items, by status. `available` ones could be taken up now; `share_done` is of those that were not cancelled."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    total: int
    by_status: dict[str, int]
    available: int
    share_done: float


Items = Mapping[str, WorkItem]
Order = Callable[[WorkItem], tuple[object, ...]]


def is_available(item: WorkItem, items: Items, now: datetime) -> bool:
    """Returns whether work on the item can begin: what it depends on is done, and no claim on it is in force."""
    if any(one not in items or items[one].status != "done" for one in item.depends_on):
        return False
    expired = item.status == "in_progress" and item.claimed_until is not None and item.claimed_until <= now
    return item.status == "pending" or expired


def order_of(strategy: str, items: Items) -> Order:
    """Returns the key by which items are sorted under a strategy: first is best. The older of two equal ones comes first."""
    waiting = _waiting(items) if strategy == "unblock" else {}

    def key(item: WorkItem) -> tuple[object, ...]:
        first = {"priority": 0, "quick_win": item.effort, "unblock": -len(waiting.get(item.id, ()))}[strategy]
        return (first, -item.priority, item.created_at, item.id)

    return key


def reaches(start: str, target: str, items: Items) -> bool:
    """Returns whether an item depends on another, directly or through others; on itself always."""
    seen: set[str] = set()
    open_ids = [start]
    while open_ids:
        one = open_ids.pop()
        if one == target:
            return True
        if one not in seen and one in items:
            seen.add(one)
            open_ids.extend(items[one].depends_on)
    return False


def _waiting(items: Items) -> dict[str, set[str]]:
    """Returns the open items that wait for each, directly or through others."""
    found: dict[str, set[str]] = {}
    for item in items.values():
        if item.status in CLOSED:
            continue
        open_ids, seen = list(item.depends_on), set[str]()
        while open_ids:
            one = open_ids.pop()
            if one in seen:
                continue
            seen.add(one)
            found.setdefault(one, set()).add(item.id)
            open_ids.extend(items[one].depends_on if one in items else ())
    return found
