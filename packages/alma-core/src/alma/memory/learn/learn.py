"""Learning: an outcome is redacted, embedded and stored with its idempotency key, in one write. Rules are read from outcomes later."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Self

from alma.errors import ConflictError, ValidationError
from alma.memory import arguments as args
from alma.memory.learn.storing import (
    KEY,
    Entry,
    OnError,
    categorise,
    embed,
    fail,
    fail_by_number,
    find_learned,
    first_numbers,
    make_each,
    store,
)
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import new_id
from alma.types.kinds import Verdict
from alma.types.memories import Outcome, passages_of
from alma.types.provenance import flagged


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnRequest:
    """The arguments of `learn` as a caller gave them. They are checked where the outcome is made."""

    agent: object
    task: object
    outcome: object
    strategy_used: object = None
    user_id: object = None
    task_type: object = None
    task_id: object = None
    difficulty: object = None
    verdict_source: object = None
    duration_ms: object = None
    error_message: object = None
    feedback: object = None
    metadata: Mapping[str, Any] | None = None
    timestamp: object = None
    idempotency_key: object = None

    @classmethod
    def of(cls, item: object) -> Self:
        """Returns the request of one item of `learn_many`. `ValidationError` if it is no mapping, lacks a task or an outcome, or has other names."""
        if not isinstance(item, Mapping):
            raise ValidationError(f"a mapping of the arguments of learn() is needed, not {quoted(item)}")
        for name in ("task", "outcome"):
            if name not in item:
                raise ValidationError(f"there is no argument {name!r}")
        for name in item:
            if name not in LEARN_ARGUMENTS:
                raise ValidationError(f"{quoted(name)} is no argument of learn()")
        return cls(**{"agent": None, **item})


LEARN_ARGUMENTS = tuple(field.name for field in fields(LearnRequest))


def learn(room: Room, request: LearnRequest) -> Outcome:
    """Stores one outcome in one transaction. An outcome that was learned under its key before is returned instead."""
    entry = _redacted_outcome(room, room.store.clock(), request)
    return _store_new(room, {0: entry}, operation="learn", on_error=fail)[0]


def learn_many(room: Room, items: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """Records many outcomes in one transaction, all or none. Each item has the arguments of `learn`, its `idempotency_key` too.

    Evidence and `strategies` are those of as many calls of `learn`. Rules are judged once, by all of the outcomes: one may name another
    of its tasks as its condition, and one that held only for a while in between is not formed.
    """
    now = room.store.clock()
    requests = make_each(dict(enumerate(args.checked_items(items, "items"))), LearnRequest.of)
    entries = make_each(requests, lambda request: _redacted_outcome(room, now, request))
    return _store_new(room, entries, operation="learn_many", on_error=fail_by_number)


def _store_new(room: Room, entries: Mapping[int, Entry], *, operation: str, on_error: OnError) -> list[Outcome]:
    """Stores the outcomes whose key is new, and returns the outcome that counts for each entry.

    Another caller may store one of the keys before this write does. Then that outcome counts, and the write is tried again without it.
    """
    firsts = first_numbers(entries)
    while True:
        known = find_learned(room, {number: entries[number] for number in firsts.values()})
        new = {number: entries[number] for number in firsts.values() if number not in known}
        try:
            counting = {**known, **store(room, new, operation=operation, on_error=on_error)}
        except ConflictError:
            if not find_learned(room, new):
                raise
            continue  # fewer are new now, so this ends
        return [counting[firsts[number]] for number in entries]  # type: ignore[misc] # each entry is of an outcome


def outcome_from(room: Room, now: datetime, request: LearnRequest) -> Outcome:
    """Returns the outcome of a request, with the nearest of its agent's categories if it has none. Stores nothing.

    `ScopeViolationError` if the agent may not learn it.
    """
    entry = _redacted_outcome(room, now, request)
    memory = categorise(room, entry, embed(room, [entry], only_categories=True)).memory
    assert isinstance(memory, Outcome)
    return memory


def _redacted_outcome(room: Room, now: datetime, request: LearnRequest) -> Entry:
    """Returns the outcome of a request without secrets. `ScopeViolationError` if its agent may not learn in the given category."""
    redaction = room.store.redaction
    agent = args.checked_name(request.agent, "agent")
    key = args.optional_id(request.idempotency_key, KEY)
    texts = (request.task, request.strategy_used, request.error_message, request.feedback)
    metadata = flagged(args.checked_metadata(request.metadata), *texts)
    outcome = Outcome(
        id=new_id(now),
        agent=redaction.check_name(agent, "agent"),
        user_id=args.optional_name(request.user_id, "user_id"),
        project_id=room.name,
        metadata=metadata if key is None else {**metadata, KEY: redaction.check_name(key, KEY)},
        created_at=now,
        updated_at=now,
        task_type=args.optional_label(request.task_type, "task_type"),
        task_id=args.optional_id(request.task_id, "task_id"),
        difficulty=args.optional_label(request.difficulty, "difficulty"),
        verdict_source=args.checked_source(request.verdict_source),
        task_description=args.checked_text(request.task, "task"),
        outcome=Verdict.checked(request.outcome),
        strategy_used=args.optional_text(request.strategy_used, "strategy_used") or "",
        duration_ms=args.optional_duration(request.duration_ms),
        error_message=args.optional_text(request.error_message, "error_message"),
        user_feedback=args.optional_text(request.feedback, "feedback"),
        timestamp=args.checked_time(request.timestamp, "timestamp") or now,
    )
    redaction.check_name(outcome.user_id or "", "user_id")
    outcome = redaction.value(outcome)
    if outcome.task_type is not None:
        room.scopes.check_may_learn(agent, outcome.task_type)
    return Entry(outcome, passages_of(outcome), key)
