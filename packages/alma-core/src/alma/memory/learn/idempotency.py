"""Repetition: what is learned under one key counts once, however often it is sent."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from alma.errors import ConflictError
from alma.memory import arguments as args
from alma.memory.learn.request import LearnRequest
from alma.memory.redacting import KEY_OF_REPETITION
from alma.memory.room import Room
from alma.protocols import Place, Write
from alma.types.memories import AnyMemory, Outcome

LEARNED = "learned"
"""The kind of the small records that say what was learned under which key. Keys may be secrets, so only their digests name a record."""

KEY = KEY_OF_REPETITION
"""The argument, and the key of the outcome's metadata that keeps it."""


def checked_key(room: Room, request: LearnRequest) -> str | None:
    """Returns the key of a request, if it has one. It is kept in the metadata of the outcome."""
    key = args.optional_label(request.idempotency_key, KEY)
    return None if key is None else room.store.redaction.check_name(key, KEY)


def once(
    room: Room, asked: Sequence[tuple[Outcome, str | None]], learn: Callable[[Sequence[int]], Sequence[Outcome]]
) -> list[Outcome]:
    """Learns the outcomes whose key is not stored yet, given by their places, and returns the outcome that counts for each place.

    `ConflictError` if a key stands for something else. Another caller may learn under the same key at this moment: then that one counts.
    """
    while True:
        counting, places = _known(room, asked)
        new = [place for place in dict.fromkeys(places) if place not in counting]
        try:
            counting.update(zip(new, learn(new) if new else (), strict=True))
        except ConflictError:
            if not _came_up(room, (asked[place][1] for place in new)):
                raise
            continue  # of the new ones there are fewer now, so this ends
        return [counting[place] for place in places]


def note(write: Write, key: str, outcome: Outcome) -> None:
    """Notes what is learned under a key. `ConflictError` if something was meanwhile."""
    write.put_record(LEARNED, _digest(key), {"outcome_id": outcome.id, **_said(outcome)}, version=0)


def notes_of(room: Room, outcome_id: str, key: str | None) -> Iterator[str]:
    """The name of the small record that keeps an outcome's key, which goes when the outcome is purged."""
    if key is not None and _records(room, [key])[key][1].get("outcome_id") == outcome_id:
        yield f"{LEARNED}/{_digest(key)}"


def with_task(body: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Returns the body of a note whose outcome has another task now, since a secret in it was replaced."""
    return {**body, "task": _digest(task)}


def _known(room: Room, asked: Sequence[tuple[Outcome, str | None]]) -> tuple[dict[int, Outcome], list[int]]:
    """The outcomes that were learned before, by place; and for each place the one that counts: its own, or an earlier one of the same key."""
    places: list[int] = []
    of_key: dict[str, int] = {}
    for place, (outcome, key) in enumerate(asked):
        counts = place if key is None else of_key.setdefault(key, place)
        places.append(counts)
        if key is not None and counts != place:
            _check_same(key, _said(asked[counts][0]), outcome)
    before = _learned_before(room, {key: asked[place][0] for key, place in of_key.items()})
    return {of_key[key]: outcome for key, outcome in before.items()}, places


def _learned_before(room: Room, asked: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Returns what was learned under each of the keys before, as far as anything was. `ConflictError` if it is not what is asked for now."""
    noted = {key: body for key, (version, body) in _records(room, asked).items() if version}
    for key, body in noted.items():
        _check_same(key, body, asked[key])
    places = room.project.find(str(body.get("outcome_id")) for body in noted.values())
    kept = room.project.memories([place.memory for place in places.values()])
    return {key: _kept(key, kept, places.get(str(body.get("outcome_id")))) for key, body in noted.items()}


def _kept(key: str, memories: Mapping[int, AnyMemory], place: Place | None) -> Outcome:
    found = None if place is None else memories.get(place.memory)
    if not isinstance(found, Outcome):
        raise ConflictError(f"{KEY} {key!r} was used for an outcome that is gone; use another key")
    return found


def _came_up(room: Room, keys: Iterable[str | None]) -> bool:
    return any(version for version, _ in _records(room, (key for key in keys if key is not None)).values())


def _records(room: Room, keys: Iterable[str]) -> dict[str, tuple[int, dict[str, Any]]]:
    """Version and body of what was noted under each key."""
    digests = {key: _digest(key) for key in keys}
    found = room.project.record(LEARNED, digests.values())
    return {key: found[digest] for key, digest in digests.items()}


def _check_same(key: str, said: Mapping[str, Any], outcome: Outcome) -> None:
    differing = [name for name, value in _said(outcome).items() if said.get(name) != value]
    if differing:
        raise ConflictError(f"{KEY} {key!r} was used for an outcome that differs in its {', '.join(differing)}; use another key")


def _said(outcome: Outcome) -> dict[str, str]:
    """Returns what has to be equal under one key. Of the task only a digest, so that its words are in no record but its own."""
    said = {"agent": outcome.agent, "task": _digest(outcome.task_description), "outcome": outcome.outcome.value}
    return said if outcome.user_id is None else {**said, "user": outcome.user_id}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
