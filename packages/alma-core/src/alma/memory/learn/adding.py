"""Adding a memory by the name of its kind, built in or registered."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.kinds import definition_of
from alma.memory.learn import record
from alma.memory.learn.request import LEARN_ARGUMENTS, LearnRequest
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import new_id
from alma.types.kinds import MemoryType
from alma.types.memories import MEMORY_CLASSES, AnyMemory, CustomMemory


def add(
    room: Room,
    /,
    kind: str,
    agent: str | None = None,
    *,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    **fields: Any,
) -> AnyMemory:
    """Records a memory of any kind: of a registered one with the fields of its definition, of a built-in one with the arguments of
    its own method (`learn` for an outcome). `ValidationError` names the field that is wrong, missing or unknown.
    """
    name = args.checked_label(kind, "kind")
    if name in _METHODS:
        return _METHODS[MemoryType(name)](room, {"agent": agent, "user_id": user_id, "metadata": metadata, **fields})
    if name in MEMORY_CLASSES:
        return record.stated(room, MEMORY_CLASSES[name], agent=agent, user_id=user_id, metadata=metadata, fields=fields)
    definition = definition_of(room, name)
    now = room.store.clock()
    memory = CustomMemory(
        kind=definition.name,
        id=new_id(now),
        agent=args.checked_name(agent, "agent"),
        user_id=args.optional_name(user_id, "user_id"),
        project_id=room.name,
        metadata=args.checked_metadata(metadata),
        created_at=now,
        updated_at=now,
        definition=definition,
        fields=definition.checked(fields),
    )
    return record.add(room, memory, operation="add")


def _outcome(room: Room, given: Mapping[str, Any]) -> AnyMemory:
    return record.learn(room, LearnRequest(**_arguments("outcome", given, needed=("task", "outcome"), optional=LEARN_ARGUMENTS)))


def _preference(room: Room, given: Mapping[str, Any]) -> AnyMemory:
    needed = ("user_id", "category", "preference")
    return record.add_user_preference(
        room, **_arguments("user_preference", given, needed=needed, source="explicit_instruction", agent=None)
    )


def _knowledge(room: Room, given: Mapping[str, Any]) -> AnyMemory:
    arguments = _arguments("domain_knowledge", given, needed=("domain", "fact"), source="user_stated", passages=None)
    return record.add_domain_knowledge(room, **arguments)


def _anti_pattern(room: Room, given: Mapping[str, Any]) -> AnyMemory:
    return record.add_anti_pattern(
        room, **_arguments("anti_pattern", given, needed=("pattern", "why_bad"), better_alternative=None)
    )


def _heuristic(room: Room, given: Mapping[str, Any]) -> AnyMemory:
    return record.add_heuristic(room, **_arguments("heuristic", given, needed=("condition", "strategy")))


_METHODS: Mapping[MemoryType, Callable[[Room, Mapping[str, Any]], AnyMemory]] = {
    MemoryType.OUTCOME: _outcome,
    MemoryType.USER_PREFERENCE: _preference,
    MemoryType.DOMAIN_KNOWLEDGE: _knowledge,
    MemoryType.ANTI_PATTERN: _anti_pattern,
    MemoryType.HEURISTIC: _heuristic,
}


def _arguments(
    kind: str, given: Mapping[str, Any], *, needed: Iterable[str], optional: Iterable[str] = (), **defaults: Any
) -> dict[str, Any]:
    """The arguments for a built-in kind, with defaults. `ValidationError` for one that is missing or unknown."""
    known = [*needed, *defaults, "agent", "user_id", "metadata", *optional]
    for name in given:
        if name not in known:
            raise ValidationError(f"{kind} has no field {quoted(name)}; it has {', '.join(dict.fromkeys(known))}")
    for name in needed:
        if given.get(name) is None:
            raise ValidationError(f"{kind}.{name} is missing")
    return {**defaults, **given}
