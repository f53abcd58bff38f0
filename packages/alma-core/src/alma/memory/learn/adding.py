"""Adding memories of each kind: the arguments of a caller are checked, and memories that a caller made are held to the same rules."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError as PydanticError

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory import kinds
from alma.memory.learn.learn import LEARN_ARGUMENTS, LearnRequest, learn
from alma.memory.learn.messages import turns_of
from alma.memory.learn.storing import Entry, fail, make_each, store
from alma.memory.room import Room
from alma.text import quoted
from alma.types.identity import new_id
from alma.types.kinds import KINDS, MemoryType
from alma.types.memories import (
    MEMORY_CLASSES,
    AntiPattern,
    AnyMemory,
    Conversation,
    CustomMemory,
    DomainKnowledge,
    Draft,
    Heuristic,
    Memory,
    Outcome,
    Passage,
    Turn,
    UserPreference,
    passages_of,
)
from alma.types.provenance import flagged

STATED_CONFIDENCE = 1.0
GUESSED_CONFIDENCE = 0.8
STATED_SOURCES = frozenset({"user_stated", "explicit_instruction"})
LABELS = frozenset({"category", "domain", "source", "task_type", "session_id"})

MOST_CHARACTERS = 2_000_000

Added = TypeVar("Added", bound=Memory)


def add_user_preference(
    room: Room,
    user_id: str,
    category: str,
    preference: str,
    source: str = "explicit_instruction",
    *,
    agent: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> UserPreference:
    """Records a preference of a user. It is read only with that `user_id`, by any agent of the project."""
    source = args.checked_label(source, "source")
    memory = UserPreference(
        **_base(room, UserPreference, agent, args.checked_name(user_id, "user_id"), metadata, source),
        category=args.checked_label(category, "category"),
        preference=args.checked_text(preference, "preference"),
        source=source,
    )
    return _add(room, memory, operation="add_user_preference")


def add_domain_knowledge(
    room: Room,
    agent: str,
    domain: str,
    fact: str,
    source: str = "user_stated",
    *,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    passages: Sequence[Passage] | None = None,
) -> DomainKnowledge:
    """Records a fact. `passages` gives the pieces to search it by, say the turns of a conversation; by default it is split
    automatically.

    With a `user_id` it is read only with that `user_id`. `ScopeViolationError` if the agent may not learn in that domain.
    """
    source = args.checked_label(source, "source")
    memory = DomainKnowledge(
        **_base(room, DomainKnowledge, agent, user_id, metadata, source),
        domain=args.checked_label(domain, "domain"),
        fact=args.checked_text(fact, "fact"),
        source=source,
    )
    return _add(room, memory, () if passages is None else passages, operation="add_domain_knowledge")


def add_anti_pattern(
    room: Room,
    agent: str,
    pattern: str,
    why_bad: str,
    better_alternative: str | None = None,
    *,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> AntiPattern:
    """Records a way that fails, why, and what to do instead."""
    memory = AntiPattern(
        **_base(room, AntiPattern, agent, user_id, metadata),
        pattern=args.checked_text(pattern, "pattern"),
        why_bad=args.checked_text(why_bad, "why_bad"),
        better_alternative=args.optional_text(better_alternative, "better_alternative"),
    )
    return _add(room, memory, operation="add_anti_pattern")


def add_heuristic(
    room: Room,
    agent: str,
    condition: str,
    strategy: str,
    *,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Heuristic:
    """Records a strategy that a person or a program states. It has no record of successes yet."""
    memory = Heuristic(
        **_base(room, Heuristic, agent, user_id, metadata),
        condition=args.checked_text(condition, "condition"),
        strategy=args.checked_text(strategy, "strategy"),
    )
    return _add(room, memory, operation="add_heuristic")


def add_conversation(
    room: Room,
    messages: Iterable[Any],
    agent: str,
    session_id: str,
    *,
    at: datetime | None = None,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Conversation:
    """Stores a conversation, searched by its sentences. A message is one of a model API or a framework (a mapping or an object), or (speaker, text).
    Items of the APIs in which nothing is said, as calls of tools, are left out; those of unknown types, too, with one warning.

    What people say is found by meaning and by words; what has the role of an assistant or a tool, by words, which weigh half. Messages of a
    system are left out.
    Given again for the same agent, user and `session_id`, new turns are added to the stored conversation, whether the messages are all of it, its
    newest ones or new ones alone; each is stored once. The conversation that has the newest turns is returned.
    `at` is when the conversation took place, now by default. In a slice `metadata["hits"]` lists what of it is nearest to the question.
    """
    given = _base(room, Conversation, agent, user_id, metadata)
    if (held_at := args.checked_time(at, "at")) is not None:
        given["held_at"] = held_at
    session = args.checked_id(session_id, "session_id")
    return _add(room, Conversation(**given, session_id=session, turns=tuple(_turns(messages))), operation="add_conversation")


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
    if name == MemoryType.OUTCOME:
        given = {"agent": agent, "user_id": user_id, "metadata": metadata, **fields}
        return learn(room, LearnRequest(**_checked_names(name, given, needed=("task", "outcome"), known=LEARN_ARGUMENTS)))
    if name in _METHODS:
        parameters = list(inspect.signature(_METHODS[name]).parameters.values())[1:]
        needed = [each.name for each in parameters if each.default is each.empty and each.name != "agent"]
        given = {"agent": agent, "user_id": user_id, "metadata": metadata, **fields}
        return _METHODS[name](room, **_checked_names(name, given, needed=needed, known=[each.name for each in parameters]))
    if name in MEMORY_CLASSES:
        return _add_stated(room, MEMORY_CLASSES[name], _base(room, MEMORY_CLASSES[name], agent, user_id, metadata), fields)
    definition = kinds.definition_of(room, name)
    base = _base(room, CustomMemory, agent, user_id, metadata)
    memory = CustomMemory(kind=definition.name, **base, definition=definition, fields=definition.checked(fields))
    return _add(room, memory, operation="add")


def add_many(room: Room, memories: Iterable[Memory | Draft]) -> list[str]:
    """Records memories of any kinds in one transaction, all or none, and returns their ids."""
    items = dict(enumerate(args.checked_items(memories, "memories")))
    entries = make_each(items, lambda item: checked_entry(room, item))
    return [memory.id for memory in store(room, entries, operation="add_many").values()]


def add_each(room: Room, memories: Sequence[Memory], *, operation: str, dry_run: bool = False) -> dict[int, str]:
    """Stores those of the memories that can be stored, in one transaction, and returns why the others cannot, by their places.

    The write has no actor. With `dry_run` nothing is stored, and only the texts that decide a category are embedded.
    """
    refused: dict[int, str] = {}

    def refuse(place: int, error: Exception) -> None:
        refused[place] = str(error)

    entries = make_each(dict(enumerate(memories)), lambda memory: checked_entry(room, memory), refuse)
    store(room, entries, operation=operation, actor="", on_error=refuse, dry_run=dry_run)
    return refused


_METHODS: Mapping[str, Callable[..., AnyMemory]] = {
    MemoryType.USER_PREFERENCE: add_user_preference,
    MemoryType.DOMAIN_KNOWLEDGE: add_domain_knowledge,
    MemoryType.ANTI_PATTERN: add_anti_pattern,
    MemoryType.HEURISTIC: add_heuristic,
}


def _checked_names(kind: str, given: Mapping[str, Any], *, needed: Iterable[str], known: Iterable[str]) -> Mapping[str, Any]:
    """Returns the arguments for a built-in kind. `ValidationError` for one that is missing or unknown."""
    for name in given:
        if name not in known:
            raise ValidationError(f"{kind} has no field {quoted(name)}; it has {', '.join(known)}")
    for name in needed:
        if given.get(name) is None:
            raise ValidationError(f"{kind}.{name} is missing")
    return given


def _add_stated(room: Room, cls: type[Memory], base: Mapping[str, Any], fields: Mapping[str, Any]) -> AnyMemory:
    """Stores a memory of a built-in kind by the fields of its class. `ValidationError` names the field that is wrong."""
    kind = cls.model_fields["kind"].default
    for name in base.keys() & fields:
        raise ValidationError(f"{kind}.{name} is set by the memory itself")
    try:
        memory = cls(**base, **fields)
    except PydanticError as error:
        first = error.errors()[0]
        raise ValidationError(f"{kind}.{first['loc'][0] if first['loc'] else ''}: {first['msg']}") from error
    return _add(room, memory, operation="add")  # type: ignore[return-value] # the classes are the members of the union


def _base(
    room: Room, cls: type[Memory], agent: object, user_id: object, metadata: object, source: str = "user_stated"
) -> dict[str, Any]:
    """Returns the fields that the memories of all kinds have. A preference has no agent where none is given."""
    now = room.store.clock()
    spec = KINDS.get(cls.model_fields["kind"].default)
    return {
        "id": new_id(now),
        "agent": "" if agent is None and cls is UserPreference else args.checked_name(agent, "agent"),
        "user_id": args.optional_name(user_id, "user_id"),
        "project_id": room.name,
        "metadata": args.checked_metadata(metadata),
        "confidence": confidence_of(source),
        "created_at": now,
        "updated_at": now,
        **({spec.time_field: now} if spec else {}),
    }


def confidence_of(source: str) -> float:
    """Returns the confidence in a memory that a source states."""
    return STATED_CONFIDENCE if source in STATED_SOURCES else GUESSED_CONFIDENCE


def _add(room: Room, memory: Added, passages: Sequence[Passage] = (), *, operation: str) -> Added:
    """Stores one memory, and returns it as it is stored."""
    entry = checked_entry(room, memory, passages)
    return store(room, {0: entry}, operation=operation, on_error=fail)[0]  # type: ignore[return-value] # of the same kind


def checked_entry(room: Room, item: object, passages: object = ()) -> Entry:
    """Returns a memory that a caller made, held to the same rules as one that ALMA makes, and put into this project."""
    memory, given = (item.memory, item.passages) if isinstance(item, Draft) else (item, passages)
    if isinstance(memory, CustomMemory):
        memory = kinds.placed(room, memory)
    elif not isinstance(memory, Memory) or MEMORY_CLASSES.get(memory.kind) is not type(memory):
        raise ValidationError(f"a memory of a known kind or a draft is needed, not {quoted(item)}")
    if memory.project_id not in ("", room.name):
        raise ValidationError(f"memory {quoted(memory.id)} belongs to project {quoted(memory.project_id)}, not to {room.name!r}")
    redaction = room.store.redaction
    for name in ("agent", "user_id", "id", "session_id"):
        redaction.check_name(getattr(memory, name, None) or "", name)
    placed = redaction.value(memory.model_copy(update={"project_id": room.name, **checked_fields(memory)}))
    category = placed.domain if isinstance(placed, DomainKnowledge) else getattr(placed, "task_type", None)
    if category is not None and isinstance(placed, DomainKnowledge | Outcome):
        room.scopes.check_may_learn(placed.agent, category)
    chosen = redaction.value(checked_passages(given))
    return Entry(placed, chosen or (() if isinstance(placed, Conversation) else passages_of(placed)))


def checked_fields(memory: Memory) -> dict[str, Any]:
    """Returns the fields that are put in order: names without space around them, metadata as plain values."""
    args.checked_label(memory.id, "id")
    if not 0 <= memory.confidence <= 1:
        raise ValidationError(f"confidence is {memory.confidence}; it must be from 0 to 1")
    if isinstance(memory, Heuristic) and memory.success_count > memory.occurrence_count:
        raise ValidationError(f"success_count is {memory.success_count}, of {memory.occurrence_count} trials (occurrence_count)")
    texts = [memory.text, memory.keywords]
    if isinstance(memory, Conversation):
        for number, turn in enumerate(memory.turns):
            _check_turn(turn, f"turn {number}")
        texts += sorted(memory.names)  # a prompt shows them beside what they said
    fields: dict[str, Any] = {"metadata": flagged(args.checked_metadata(memory.metadata), *texts)}
    if memory.user_id is not None:
        fields["user_id"] = args.checked_name(memory.user_id, "user_id")
    if memory.agent or not isinstance(memory, UserPreference):
        fields["agent"] = args.checked_name(memory.agent, "agent")
    for name, field in type(memory).model_fields.items():
        value = getattr(memory, name)
        if isinstance(value, str) and (value or field.is_required()):
            (args.checked_label if name in LABELS else args.checked_text)(value, name)
    return fields


def checked_passages(passages: object) -> tuple[Passage, ...]:
    """Returns the passages, each with a text that can be stored, no two at one position."""
    found = tuple(args.checked_items(passages, "passages"))
    for passage in found:
        if not isinstance(passage, Passage):
            raise ValidationError(f"passages must hold passages, not {quoted(passage)}")
        args.checked_text(passage.text, "the text of a passage")
        args.optional_text(passage.keywords, "the keywords of a passage")
        args.optional_label(passage.speaker, "the speaker of a passage")
    if len({passage.position for passage in found}) != len(found):
        raise ValidationError("two passages of one memory have the same position")
    return found


def _check_turn(turn: Turn, place: str) -> None:
    args.checked_label(turn.speaker, f"the speaker of {place}")
    args.checked_text(turn.text, f"the text of {place}")


def _turns(messages: object) -> Iterator[Turn]:
    """Yields what was said in the messages of a caller. `ValidationError` if nothing was, or too much."""
    left, is_empty = MOST_CHARACTERS, True
    given = ((f"messages[{number}]", each) for number, each in enumerate(args.checked_items(messages, "messages")))
    for place, turn in turns_of(given):
        _check_turn(turn, place)
        left, is_empty = left - len(turn.text), False
        if left < 0:
            raise ValidationError(
                f"the messages have more than {MOST_CHARACTERS:,} characters; store them as several conversations"
            )
        yield turn
    if is_empty:
        raise ValidationError("messages holds no text that was said; instructions of a system are left out")
