"""Idempotency keys: an outcome that is learned under one key counts once, however often it is sent."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from alma.errors import ConflictError
from alma.memory.redacting import KEY_OF_REPETITION
from alma.memory.room import Room
from alma.protocols import Write
from alma.types.memories import Memory, Outcome

if TYPE_CHECKING:
    from alma.memory.learn.storing import Entry

LEARNED = "learned"
"""The kind of the small records that say what was learned under which key. Keys may be secrets, so only their digests name a record."""

KEY = KEY_OF_REPETITION
"""The argument, and the key of the outcome's metadata that keeps it."""


def first_numbers(entries: Mapping[int, "Entry"]) -> dict[int, int]:
    """Returns the number of the entry that counts for each entry: its own, or that of the first one with its key. `ConflictError` if they differ."""
    firsts: dict[str, int] = {}
    counting = {}
    for number, entry in entries.items():
        counting[number] = first = number if entry.key is None else firsts.setdefault(entry.key, number)
        if first != number:
            _check_same(_said(entries[first].memory), entry)
    return counting


def find_learned(room: Room, entries: Mapping[int, "Entry"]) -> dict[int, Outcome]:
    """Returns the outcomes that were learned under the keys of entries before. `ConflictError` if one is gone, or differs from its entry."""
    keyed = {_digest(entry.key): number for number, entry in entries.items() if entry.key is not None}
    noted = {keyed[key]: body for key, (version, body) in room.project.record(LEARNED, keyed).items() if version} if keyed else {}
    kept = room.project.named(str(body.get("outcome_id")) for body in noted.values()) if noted else {}
    found = {}
    for number, body in noted.items():
        _check_same(body, entries[number])
        outcome = kept.get(str(body.get("outcome_id")))
        if not isinstance(outcome, Outcome):
            raise ConflictError(f"{KEY} {entries[number].key!r} was used for an outcome that is gone; use another key")
        found[number] = outcome
    return found


def put_key(write: Write, key: str, outcome: Memory) -> None:
    """Stores that an outcome was learned under a key. `ConflictError` if something was meanwhile."""
    write.put_record(LEARNED, _digest(key), {"outcome_id": outcome.id, **_said(outcome)}, version=0)


def notes_of(room: Room, outcome_id: str, key: str | None) -> Iterator[str]:
    """Yields the name of the small record that keeps an outcome's key, which goes when the outcome is purged."""
    if key is not None and room.project.record(LEARNED, [_digest(key)])[_digest(key)][1].get("outcome_id") == outcome_id:
        yield f"{LEARNED}/{_digest(key)}"


def with_task(body: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Returns the body of a note whose outcome has another task now, since a secret in it was replaced."""
    return {**body, "task": _digest(task)}


def _check_same(said: Mapping[str, Any], entry: "Entry") -> None:
    differing = [name for name, value in _said(entry.memory).items() if said.get(name) != value]
    if differing:
        raise ConflictError(
            f"{KEY} {entry.key!r} was used for an outcome that differs in its {', '.join(differing)}; use another key"
        )


def _said(outcome: Memory) -> dict[str, str]:
    """Returns what has to be equal under one key. Of the task only a digest, so that its words are in no record but its own."""
    assert isinstance(outcome, Outcome)
    said = {"agent": outcome.agent, "task": _digest(outcome.task_description), "outcome": outcome.outcome.value}
    return said if outcome.user_id is None else {**said, "user": outcome.user_id}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
