"""Kinds that users define: registered once in a project, known to every process that opens it."""

from difflib import get_close_matches

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.text import quoted
from alma.types.custom import DEFINITIONS, CustomMemoryType, stored_type
from alma.types.memories import MEMORY_CLASSES, CustomMemory

OPERATION = "register_memory_type"


def register_memory_type(room: Room, kind: CustomMemoryType) -> CustomMemoryType:
    """Registers a kind with this project, permanently and for every process. Returns the definition in force.

    Registering the same again changes nothing. A kind may gain optional fields, and change its weights; any other difference from the
    registered definition is a `ConflictError`.
    """
    if not isinstance(kind, CustomMemoryType):
        raise ValidationError(f"a CustomMemoryType is needed, not {quoted(kind)}")
    version, body = room.project.record(DEFINITIONS, [kind.name])[kind.name]
    if version and stored_type(body).merged(kind) == stored_type(body):
        return stored_type(body)
    with room.project.write(actor="", operation=OPERATION, at=room.now()) as write:
        # Read again inside the write: no other process can register now, so each of several at once fits what the last one stored.
        version, body = write.stored.record(DEFINITIONS, [kind.name])[kind.name]
        merged = stored_type(body).merged(kind) if version else kind
        if not version or merged != stored_type(body):
            write.put_record(DEFINITIONS, kind.name, merged.model_dump(mode="json"), version=version)
    return merged


def memory_types(room: Room) -> dict[str, CustomMemoryType]:
    """Returns the kinds that were registered in this project, by name."""
    return {key: stored_type(body) for key, _, body in room.project.records(DEFINITIONS)}


def definition_of(room: Room, name: str) -> CustomMemoryType:
    """Returns the definition of a kind. `ValidationError`, which lists the known kinds, if it is not registered."""
    version, body = room.project.record(DEFINITIONS, [name])[name]
    if version:
        return stored_type(body)
    known = [*MEMORY_CLASSES, *memory_types(room)]
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


def placed(room: Room, memory: CustomMemory) -> CustomMemory:
    """Returns a memory of a caller with its fields checked by the project's definition of its kind."""
    definition = definition_of(room, memory.kind)
    given = {name: value for name, value in memory.fields.items() if value is not None or name in definition.fields}
    return memory.model_copy(update={"definition": definition, "fields": definition.checked(given)})
