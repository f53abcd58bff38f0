"""Editing what was stated: a memory gets other texts and keeps its id, its usage and its history."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from alma.errors import ConflictError, MemoryNotFoundError, ValidationError
from alma.memory import arguments as args
from alma.memory.learn.adding import LABELS, checked_entry, confidence_of
from alma.memory.learn.storing import embed, put_corrected
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import from_micros
from alma.types.kinds import KINDS, MemoryType
from alma.types.memories import AnyMemory, CustomMemory, Memory
from alma.types.provenance import FLAGGED

STATED: Mapping[str, tuple[str, ...]] = {
    MemoryType.USER_PREFERENCE: ("category", "preference", "source"),
    MemoryType.DOMAIN_KNOWLEDGE: ("domain", "fact", "source"),
    MemoryType.ANTI_PATTERN: ("pattern", "why_bad", "better_alternative"),
    MemoryType.HEURISTIC: ("condition", "strategy"),
}
"""Fields of the built-in kinds that can be edited."""

_TRIED, _COUNTS = ("condition", "pattern", "strategy"), ("occurrence_count", "success_count")
"""Fields whose words a record is about, and the fields of that record."""

_CHECKS: Mapping[str, Callable[[object, str], str | None]] = {
    **dict.fromkeys(LABELS, args.checked_label),
    "better_alternative": args.optional_text,
}


def edit(room: Room, /, memory: AnyMemory, **fields: Any) -> AnyMemory:
    """Changes fields of a stated memory, and returns it as it is stored now. `memory` is as it was read.

    Of a preference `category`, `preference` and `source`, of a fact `domain`, `fact` and `source`, of an anti-pattern `pattern`, `why_bad` and
    `better_alternative`, of a heuristic `condition` and `strategy`, of a registered kind any of its fields. The memory keeps its id, its
    usage and its history, and counts as stated now. A record of how often a strategy worked was that of the former words, and starts at zero.
    `undo` takes the edit back. A text that became suspicious puts it into quarantine.

    `ConflictError` if these fields changed since it was read, `MemoryNotFoundError` if it was forgotten, `ValidationError` for another field,
    and for a memory that was not stated: an outcome, a conversation, a learned rule. `ScopeViolationError` for a domain that the agent may not
    learn in.
    """
    names = _check_editable(memory, fields)
    given = {"fields": {**memory.fields, **fields}} if isinstance(memory, CustomMemory) else _checked(fields)
    unflagged = {name: value for name, value in memory.metadata.items() if name != FLAGGED}
    entry = checked_entry(room, memory.model_copy(update={**given, "metadata": unflagged}))
    vectors, at = embed(room, [entry]), room.now()
    with room.project.write(actor=memory.agent, operation="edit", at=at) as write:
        place = write.stored.find([memory.id]).get(memory.id)
        if place is None or place.is_archived:
            raise MemoryNotFoundError(f"project {room.name!r} has no memory {memory.id!r} to edit")
        current = write.stored.named([memory.id])[memory.id]
        if any(getattr(current, name, None) != getattr(memory, name) for name in (*names, "metadata")):
            raise ConflictError(f"memory {memory.id!r} was changed since it was read; read it again")
        edited = current.model_copy(
            update=_changes(entry.memory, [*given, "metadata"], from_micros(at)) | _record_anew(current, given)
        )
        put_corrected(write, replace(entry, memory=edited), vectors, at=at)
    return edited


def _check_editable(memory: object, fields: Mapping[str, Any]) -> Sequence[str]:
    """Returns the fields of a memory that were stated. `ValidationError` unless they can be edited, with these."""
    if not isinstance(memory, Memory):
        raise ValidationError(f"a memory is needed, as get returns it, not {quoted(memory)}")
    if not fields:
        raise ValidationError("edit needs a field to change")
    if isinstance(memory, CustomMemory):
        return ("fields",)
    if memory.kind not in STATED or memory.metadata.get("learned"):
        raise ValidationError(f"memory {memory.id!r} was not stated, so it cannot be edited; forget what it follows from instead")
    for name in fields:
        if name not in STATED[memory.kind]:
            raise ValidationError(f"{memory.kind}.{name} cannot be edited; {', '.join(STATED[memory.kind])} can")
    return STATED[memory.kind]


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _CHECKS.get(name, args.checked_text)(value, name) for name, value in fields.items()}


def _record_anew(current: Memory, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the counts of a memory that was tried under other words: none."""
    is_other = any(name in given and given[name] != getattr(current, name, None) for name in _TRIED)
    return {name: type(current).model_fields[name].default for name in _COUNTS} if is_other else {}


def _changes(stated: Memory, names: Sequence[str], now: datetime) -> dict[str, Any]:
    """Returns the columns of a memory that was edited just now."""
    changes = {name: getattr(stated, name) for name in names} | {"updated_at": now}
    if isinstance(stated, CustomMemory):
        return changes | {"definition": stated.definition}
    if "source" in names:
        changes["confidence"] = confidence_of(changes["source"])
    return changes | {KINDS[MemoryType(stated.kind)].time_field: now}
