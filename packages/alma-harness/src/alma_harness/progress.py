"""Progress: work items with priorities and dependencies, each taken up by one process at a time."""

import secrets
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from alma.errors import ConflictError, MemoryNotFoundError, ValidationError
from alma_harness.asynchronous import OfProjectAsync, mirrored
from alma_harness.keys import checked_key
from alma_harness.projects import OfProject
from alma_harness.retrying import HeldError, until_stored
from alma_harness.work_items import STATUSES, Items, ProgressSummary, WorkItem, is_available, order_of, reaches
from alma_integration import (
    Record,
    Records,
    checked_choice,
    checked_items,
    checked_name,
    checked_text,
    open_records,
    optional_name,
    optional_text,
)

__all__ = ["AsyncProgressTracker", "ProgressSummary", "ProgressTracker", "WorkItem"]

KIND = "progress.item"
GRAPH = "graph"
"""Key of the record that every change of dependencies replaces, so that two at once cannot close a cycle together."""

STRATEGIES = {"priority": "priority", "quick_win": "quick_win", "unblock": "unblock", "blocked_unblock": "unblock"}
LONGEST_TITLE = 500
LONGEST_TEXT = 10_000
LONGEST_LEASE = 7 * 86_400

_Change = Callable[[WorkItem, datetime], dict[str, Any]]


class ProgressTracker(OfProject):
    """Work items of a project. `ProgressTracker("my-project")` opens `.alma`; `ProgressTracker(alma=alma)` uses an open one.

    Items without an agent are for any agent. Items of a user are returned with that `user_id` alone.
    """

    def create_work_item(
        self,
        title: str,
        description: str = "",
        *,
        priority: int = 50,
        effort: int = 50,
        agent: str | None = None,
        user_id: str | None = None,
        depends_on: Iterable[str] = (),
    ) -> WorkItem:
        """Stores an item and returns it. `priority` (100 is the most urgent) and `effort` are from 0 to 100."""
        now = self._records.now()
        owner, user = optional_name(agent, "agent"), optional_name(user_id, "user_id")
        needed = list(dict.fromkeys(checked_key(one, "an id of depends_on") for one in checked_items(depends_on, "depends_on")))
        item = WorkItem(
            id=f"{round(now.timestamp() * 1_000):012x}{secrets.token_hex(6)}",
            title=checked_text(title, "title", limit=LONGEST_TITLE),
            description=optional_text(description, "description", limit=LONGEST_TEXT) or "",
            priority=_checked_share(priority, "priority"),
            effort=_checked_share(effort, "effort"),
            agent=owner,
            user_id=user,
            depends_on=tuple(needed),
            created_at=now,
            updated_at=now,
        )
        for one in needed:
            self._check_same_user(item, self.get_item(one))
        return _item(self._records.put(item.id, _body(item)))

    def get_item(self, item_id: str) -> WorkItem:
        """Returns an item. `MemoryNotFoundError` if there is none of this id."""
        return _item(self._record(item_id))

    def items(self, *, status: str | None = None, agent: str | None = None, user_id: str | None = None) -> list[WorkItem]:
        """Returns the items, or those of a status, most urgent first; with `agent`, its own and those of no agent."""
        wanted = None if status is None else checked_choice(status, "status", STATUSES)
        found = self._visible(optional_name(agent, "agent"), optional_name(user_id, "user_id"))
        return sorted((one for one in found if wanted in (None, one.status)), key=order_of("priority", {}))

    def update_status(self, item_id: str, status: str, *, agent: str | None = None) -> WorkItem:
        """Sets the status: "pending", "in_progress", "blocked", "done" or "cancelled". `ConflictError` if another agent has claimed the item.

        Work that is "in_progress" without a claim has no end; every other status ends a claim.
        """
        wanted = checked_choice(status, "status", STATUSES)
        name = optional_name(agent, "agent")

        def change(item: WorkItem, now: datetime) -> dict[str, Any]:
            _check_claim(item, name, now)
            if wanted == "in_progress":
                return {"status": wanted, "blocked_because": None}
            because = item.blocked_because if wanted == "blocked" else None
            return {"status": wanted, "blocked_because": because, "claimed_by": None, "claimed_until": None}

        return self._changed(item_id, change)

    def block_item(self, item_id: str, reason: str, *, agent: str | None = None) -> WorkItem:
        """Marks an item as blocked for a reason. `update_status(id, "pending")` frees it."""
        because, name = checked_text(reason, "reason", limit=LONGEST_TEXT), optional_name(agent, "agent")

        def change(item: WorkItem, now: datetime) -> dict[str, Any]:
            _check_claim(item, name, now)
            return {"status": "blocked", "blocked_because": because, "claimed_by": None, "claimed_until": None}

        return self._changed(item_id, change)

    def add_dependency(self, item_id: str, depends_on: str) -> WorkItem:
        """Makes an item wait for another. `ValidationError` if that one already waits for it."""
        wanted = checked_key(depends_on, "depends_on")

        def attempt() -> WorkItem:
            graph = self._records.get(GRAPH)
            item, other = self.get_item(item_id), self.get_item(wanted)
            self._check_same_user(item, other)
            if reaches(other.id, item.id, self._all()):
                raise ValidationError(f"{item.title!r:.80} cannot wait for {other.title!r:.80}, which waits for it")
            record = self._record(item.id)
            needed = tuple(dict.fromkeys([*_item(record).depends_on, other.id]))
            changed = _item(record).model_copy(update={"depends_on": needed, "updated_at": self._records.now()})
            count = 0 if graph is None else graph.version
            stored = self._records.put_many([(item.id, _body(changed), record.version), (GRAPH, {"changes": count + 1}, count)])
            return _item(stored[0])

        return until_stored(attempt)

    def get_next_item(
        self, strategy: str = "priority", *, agent: str | None = None, user_id: str | None = None
    ) -> WorkItem | None:
        """Returns the item to take up next, `None` if none is available. It is not claimed; `claim_next` does that.

        "priority" takes the most urgent, "quick_win" the one of least effort, "unblock" the one for which most others wait.
        """
        return next(iter(self._available(strategy, optional_name(agent, "agent"), optional_name(user_id, "user_id"))), None)

    def claim_next(
        self, agent: str, strategy: str = "priority", *, user_id: str | None = None, lease_seconds: float = 900
    ) -> WorkItem | None:
        """Claims the next item for an agent and returns it, in progress; `None` if none is available.

        Of several processes one gets an item. After `lease_seconds` the claim expires, and another may take the item.
        """
        name, user, lease = checked_name(agent, "agent"), optional_name(user_id, "user_id"), _checked_lease(lease_seconds)

        def attempt() -> WorkItem | None:
            found = next(iter(self._available(strategy, name, user)), None)
            return None if found is None else self._claimed(found.id, name, lease)

        return until_stored(attempt)

    def claim(self, item_id: str, agent: str, *, lease_seconds: float = 900) -> WorkItem:
        """Claims one item, or renews the agent's own claim. `ConflictError` if it is not available."""
        return self._claimed(item_id, checked_name(agent, "agent"), _checked_lease(lease_seconds))

    def release(self, item_id: str, agent: str) -> WorkItem:
        """Gives a claimed item back. `ConflictError` if another agent has claimed it."""
        return self.update_status(item_id, "pending", agent=checked_name(agent, "agent"))

    def get_progress_summary(self, *, agent: str | None = None, user_id: str | None = None) -> ProgressSummary:
        """Returns how many items have each status."""
        name, user = optional_name(agent, "agent"), optional_name(user_id, "user_id")
        found = self._visible(name, user)
        counts = {status: sum(one.status == status for one in found) for status in STATUSES}
        wanted = len(found) - counts["cancelled"]
        return ProgressSummary(
            total=len(found),
            by_status=counts,
            available=len(self._available("priority", name, user)),
            share_done=counts["done"] / wanted if wanted else 0.0,
        )

    @property
    def _records(self) -> Records:
        return open_records(self.alma, KIND)

    def _record(self, item_id: object) -> Record:
        key = checked_key(item_id, "item_id")
        found = None if key == GRAPH or "/" in key else self._records.get(key)
        if found is None:
            raise MemoryNotFoundError(f"project {self.alma.project_id!r} has no work item {key[:80]!r}")
        return found

    def _all(self) -> Items:
        return {record.key: _item(record) for record in self._records.listed() if record.key != GRAPH}

    def _visible(self, agent: str | None, user_id: str | None) -> list[WorkItem]:
        return [one for one in self._all().values() if _is_visible(one, agent, user_id)]

    def _available(self, strategy: object, agent: str | None, user_id: str | None) -> list[WorkItem]:
        chosen = STRATEGIES[checked_choice(strategy, "strategy", STRATEGIES)]
        items, now = self._all(), self._records.now()
        found = [one for one in items.values() if _is_visible(one, agent, user_id) and is_available(one, items, now)]
        return sorted(found, key=order_of(chosen, items))

    def _claimed(self, item_id: object, agent: str, lease: timedelta) -> WorkItem:
        record = self._record(item_id)
        item, now = _item(record), self._records.now()
        if not (_is_claimed_by(item, agent, now) or is_available(item, self._all(), now)):
            raise ConflictError(f"{item.title!r:.80} is {item.status}, or waits for other items; it cannot be claimed")
        if item.agent not in (None, agent):
            raise ConflictError(f"{item.title!r:.80} is for {item.agent!r}")
        changed = {"status": "in_progress", "claimed_by": agent, "claimed_until": now + lease, "updated_at": now}
        return _item(self._records.put(item.id, _body(item.model_copy(update=changed)), version=record.version, actor=agent))

    def _changed(self, item_id: object, change: _Change) -> WorkItem:
        def attempt() -> WorkItem:
            record = self._record(item_id)
            item, now = _item(record), self._records.now()
            changed = item.model_copy(update={**change(item, now), "updated_at": now})
            return _item(self._records.put(item.id, _body(changed), version=record.version))

        return until_stored(attempt)

    @staticmethod
    def _check_same_user(item: WorkItem, other: WorkItem) -> None:
        if item.user_id != other.user_id:
            raise MemoryNotFoundError(f"there is no work item {other.id!r} for this user")


def _is_visible(item: WorkItem, agent: str | None, user_id: str | None) -> bool:
    return item.user_id == user_id and (agent is None or item.agent in (None, agent))


def _is_claimed_by(item: WorkItem, agent: str, now: datetime) -> bool:
    return (
        item.status == "in_progress" and item.claimed_by == agent and item.claimed_until is not None and item.claimed_until > now
    )


def _check_claim(item: WorkItem, agent: str | None, now: datetime) -> None:
    is_held = item.claimed_by is not None and item.claimed_until is not None and item.claimed_until > now
    if is_held and item.claimed_by != agent:
        raise HeldError(f"{item.title!r:.80} is claimed by {item.claimed_by!r}; give agent= to change your own")


def _checked_share(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100:
        raise ValidationError(f"{name} must be a whole number from 0 to 100")
    return value


def _checked_lease(seconds: object) -> timedelta:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_LEASE:
        raise ValidationError(f"lease_seconds must be a number of seconds above 0, at most {LONGEST_LEASE:,}")
    return timedelta(seconds=seconds)


def _item(record: Record) -> WorkItem:
    return WorkItem.model_validate({**record.body, "id": record.key})


def _body(item: WorkItem) -> dict[str, Any]:
    return item.model_dump(mode="json", exclude={"id"}, exclude_none=True)


class AsyncProgressTracker(OfProjectAsync[ProgressTracker]):
    """As `ProgressTracker`, for asyncio; `alma` may be an `AsyncALMA`, too."""

    _kind = ProgressTracker
    create_work_item = mirrored(ProgressTracker.create_work_item)
    get_item = mirrored(ProgressTracker.get_item)
    items = mirrored(ProgressTracker.items)
    update_status = mirrored(ProgressTracker.update_status)
    block_item = mirrored(ProgressTracker.block_item)
    add_dependency = mirrored(ProgressTracker.add_dependency)
    get_next_item = mirrored(ProgressTracker.get_next_item)
    claim_next = mirrored(ProgressTracker.claim_next)
    claim = mirrored(ProgressTracker.claim)
    release = mirrored(ProgressTracker.release)
    get_progress_summary = mirrored(ProgressTracker.get_progress_summary)
