"""Checkpoints of workflows: numbered, in the order in which they were stored, each user's apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from alma import ALMA
from alma.errors import ValidationError
from alma.types import Checkpoint
from alma_harness.keys import checked_key, digest
from alma_harness.retrying import until_stored
from alma_integration import (
    Record,
    Records,
    checked_count,
    checked_json,
    checked_label,
    open_records,
    optional_name,
)

KIND = "workflow.checkpoint"
MAIN = "main"
HEAD = "head"
"""First part of the key of the record that has the number of the newest checkpoint."""

LARGEST_STATE = 1 << 20
LARGEST_METADATA = 10_000
LONGEST_AGE_DAYS = 36_500
MOST_KEPT = 100_000
PAGE = 16
"""Checkpoints that a search reads at once, newest first."""


@dataclass(frozen=True, slots=True)
class Line:
    """The checkpoints of one workflow as one user has them."""

    records: Records
    workflow_id: str
    user_id: str | None

    @classmethod
    def of(cls, alma: ALMA, workflow_id: object, user_id: object) -> "Line":
        """Checks the names and returns the line."""
        return cls(open_records(alma, KIND), checked_key(workflow_id, "workflow_id"), optional_name(user_id, "user_id"))

    @property
    def key(self) -> str:
        """First part of the keys of its checkpoints."""
        return digest(self.workflow_id, self.user_id)

    def head(self) -> Record | None:
        """Returns the record that has the newest number."""
        return self.records.get(f"{HEAD}/{self.key}")

    def newest_first(self) -> Iterator[Checkpoint]:
        """Yields the checkpoints that are kept, newest first."""
        head = self.head()
        last = 0 if head is None else int(head.body["last"])
        size = 1  # mostly the newest is wanted, and a state may be large
        while last > 0:
            numbers = range(last, max(last - size, 0), -1)
            found = self.records.find([_key(self.key, number) for number in numbers])
            yield from (_checkpoint(record) for record in found.values())
            last, size = last - size, PAGE

    def put(self, body: dict[str, Any]) -> Checkpoint:
        """Stores a body as the next checkpoint. `ConflictError` if another one is stored at the same moment."""
        head = self.head()
        number = 1 + (0 if head is None else int(head.body["last"]))
        counted = {"last": number, **({"user_id": self.user_id} if self.user_id else {})}
        stored, _ = self.records.put_many(
            [
                (_key(self.key, number), {**body, "number": number}, 0),
                (f"{HEAD}/{self.key}", counted, 0 if head is None else head.version),
            ]
        )
        return _checkpoint(stored)


def checkpoint(
    alma: ALMA,
    workflow_id: object,
    state: object,
    metadata: object,
    *,
    branch: object,
    node: object,
    name: object,
    user_id: object,
) -> Checkpoint:
    """Stores a state, unless the newest checkpoint of its branch has it."""
    line = Line.of(alma, workflow_id, user_id)
    body: dict[str, Any] = {
        "workflow_id": line.workflow_id,
        "state": _checked_state(state),
        "metadata": {} if metadata is None else checked_json(metadata, "metadata", largest=LARGEST_METADATA),
        "branch": checked_label(branch, "branch"),
        "node": optional_name(node, "node"),
        "name": optional_name(name, "name"),
        **({"user_id": line.user_id} if line.user_id else {}),
    }
    stored = line.records.as_stored(body)

    def attempt() -> Checkpoint:
        same = next((one for one in line.newest_first() if one.branch == stored["branch"]), None)
        if same is not None and _content(same) == {"user_id": None, **stored}:
            return same
        return line.put({**body, "created_at": line.records.now().isoformat()})

    return until_stored(attempt)


def resume(alma: ALMA, workflow_id: object, *, branch: object, node: object, name: object, user_id: object) -> Checkpoint | None:
    """Returns the newest checkpoint that has every given name."""
    line = Line.of(alma, workflow_id, user_id)
    wanted = {
        place: value
        for place, given in (("branch", branch), ("node", node), ("name", name))
        if (value := optional_name(given, place)) is not None
    }
    return next((one for one in line.newest_first() if all(getattr(one, key) == value for key, value in wanted.items())), None)


def newest_of_branches(alma: ALMA, workflow_id: object, user_id: object) -> dict[str, Checkpoint]:
    """Returns the newest checkpoint of each branch, oldest first."""
    found: dict[str, Checkpoint] = {}
    for one in Line.of(alma, workflow_id, user_id).newest_first():
        found.setdefault(one.branch, one)
    return dict(reversed(found.items()))


def cleanup_checkpoints(alma: ALMA, older_than_days: object, *, workflow_id: object, keep: object, user_id: object) -> int:
    """Erases checkpoints that are older than this, but for the newest of each branch."""
    records = open_records(alma, KIND)
    before = records.now() - _checked_age(older_than_days)
    most = checked_count(keep, "keep", largest=MOST_KEPT)
    user = optional_name(user_id, "user_id")
    if workflow_id is None and user is not None:
        raise ValidationError("give user_id with a workflow_id; without one, the checkpoints of all users are cleaned")
    under = None if workflow_id is None else Line.of(alma, workflow_id, user).key
    counts: dict[tuple[str, str], int] = {}
    old: list[str] = []
    for record in reversed(records.listed(under=under)):
        line, _, _ = record.key.partition("/")
        if line == HEAD:
            continue
        one = _checkpoint(record)
        counts[line, one.branch] = counts.get((line, one.branch), 0) + 1
        if counts[line, one.branch] > most and one.created_at < before:
            old.append(record.key)
    return records.erase(old)


def _checked_state(state: object) -> dict[str, Any]:
    return checked_json(state, "state", largest=LARGEST_STATE)


def _checked_age(days: object) -> timedelta:
    if isinstance(days, bool) or not isinstance(days, int | float) or not 0 <= days <= LONGEST_AGE_DAYS:
        raise ValidationError(f"older_than_days must be a number of days from 0 to {LONGEST_AGE_DAYS}")
    return timedelta(days=days)


def _key(line: str, number: int) -> str:
    return f"{line}/{number:012d}"


def _checkpoint(record: Record) -> Checkpoint:
    return Checkpoint.model_validate(record.body)


def _content(one: Checkpoint) -> dict[str, Any]:
    return one.model_dump(exclude={"number", "created_at"})
