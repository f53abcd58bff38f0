"""Kinds that users define: registered once in a project, known to every process that opens it."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.scoring import Profile
from alma.text import quoted
from alma.types.custom import DEFINITIONS, CustomMemoryType, stored_type
from alma.types.memories import MEMORY_CLASSES, CustomMemory

OPERATION = "register_memory_type"


def register(room: Room, definition: object) -> CustomMemoryType:
    """Returns the definition in force after storing it if it is new or has grown. `ConflictError` if it does not fit the registered
    one."""
    if not isinstance(definition, CustomMemoryType):
        raise ValidationError(f"a CustomMemoryType is needed, not {quoted(definition)}")
    version, body = room.project.record(DEFINITIONS, [definition.name])[definition.name]
    if version and _merged(body, definition) == stored_type(body):
        return stored_type(body)
    with room.project.write(actor="", operation=OPERATION, at=room.now()) as write:
        # Read again inside the write: no other process can register now, so each of several at once fits what the last one stored.
        version, body = write.stored.record(DEFINITIONS, [definition.name])[definition.name]
        merged = _merged(body, definition) if version else definition
        if not version or merged != stored_type(body):
            write.put_record(DEFINITIONS, definition.name, merged.model_dump(mode="json"), version=version)
    return merged


def _merged(body: Mapping[str, Any], definition: CustomMemoryType) -> CustomMemoryType:
    """Returns the registered definition merged with a new one. `ConflictError` if the two do not fit."""
    return stored_type(body).merged(definition)


def registered(room: Room) -> dict[str, CustomMemoryType]:
    """Returns the kinds of the project by name."""
    return {key: stored_type(body) for key, _, body in room.project.records(DEFINITIONS)}


def definition_of(room: Room, name: str) -> CustomMemoryType:
    """Returns the definition of a kind. `ValidationError`, which lists the known kinds, if it is not registered."""
    version, body = room.project.record(DEFINITIONS, [name])[name]
    if version:
        return stored_type(body)
    known = [*MEMORY_CLASSES, *registered(room)]
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise ValidationError(
        f"there is no kind {quoted(name)} in project {room.name!r}{hint} There are {', '.join(known)}; "
        "others are registered with register_memory_type"
    )


def checked_kind(room: Room, kind: object) -> str:
    """Returns the name of a kind, built in or registered."""
    name = args.checked_label(kind, "kind")
    return name if name in MEMORY_CLASSES else definition_of(room, name).name


def profile_for(room: Room, kinds: Iterable[str], usual: Profile) -> Profile:
    """Returns the usual weights, with the own weights of those kinds that define them."""
    own = [name for name in kinds if name not in MEMORY_CLASSES]
    if not own:
        return usual
    found = room.project.record(DEFINITIONS, own)
    weights = {name: stored_type(body).scoring_weights for name, (_, body) in found.items() if body}
    return usual.with_kinds({name: given for name, given in weights.items() if given}) if any(weights.values()) else usual


def placed(room: Room, memory: CustomMemory) -> CustomMemory:
    """Returns a memory of a caller with its fields checked by the project's definition of its kind."""
    definition = definition_of(room, memory.kind)
    given = {name: value for name, value in memory.fields.items() if value is not None or name in definition.fields}
    return memory.model_copy(update={"definition": definition, "fields": definition.checked(given)})
